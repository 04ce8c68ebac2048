#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own and writes what it shows, with its colours, as SVG.

    tools/terminal-picture.py OUT.svg [--columns N] [--shown 'COMMAND AS TYPED'] -- COMMAND [ARG...]
    tools/terminal-picture.py --readme      # docs/images/run.svg, the picture in README.md

Nothing is drawn by hand: a picture that no longer fits is made again. --readme compiles
examples/requests.c and records it with $SEEP_BUILD/seep (build/seep).
"""
import argparse
import html
import os
import pathlib
import pty
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHAR, LINE, PAD, BAR, SIZE = 8.4, 19, 16, 30, 14
COLOURS = {31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff", 35: "#d2a8ff", 36: "#76e3ea"}
TEXT, DIM, BACK, FRAME = "#e6edf3", "#8b949e", "#0d1117", "#30363d"


def on_terminal(command, columns, folder):
    """What the command prints to a terminal of that width."""
    parent, child = pty.openpty()
    env = dict(os.environ, COLUMNS=str(columns), TERM="xterm", LC_ALL="C.UTF-8")
    # stty: the width that the kernel reports, for programs that ask it.
    subprocess.run(["stty", "cols", str(columns), "rows", "50"], stdin=child, check=True)
    done = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, cwd=folder, env=env)
    os.close(child)
    out = b""
    while True:
        try:
            got = os.read(parent, 65536)
        except OSError: # EIO: the last one has closed it
            break
        if not got:
            break
        out += got
    done.wait()
    return out.decode(errors="replace").replace("\r\n", "\n")


def runs(line):
    """A line with escape sequences as (style, text) pairs."""
    style, out = {}, []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        match = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not match:
            part = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", part)
            if part:
                out.append((dict(style), part))
            continue
        for code in (int(c or 0) for c in match.group(1).split(";")):
            if code == 0:
                style = {}
            elif code == 1:
                style["font-weight"] = "bold"
            elif code == 2:
                style["fill"] = DIM
            elif code in COLOURS:
                style["fill"] = COLOURS[code]
    return out


def svg(lines, columns):
    width = int(columns * CHAR + 2 * PAD)
    height = BAR + len(lines) * LINE + 2 * PAD - 4
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}" font-size="{SIZE}" fill="{TEXT}" '
           'font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace">',
           f'<rect width="{width}" height="{height}" rx="8" fill="{BACK}" stroke="{FRAME}"/>']
    for i, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        out.append(f'<circle cx="{PAD + 6 + 20 * i}" cy="18" r="6" fill="{colour}"/>')
    for row, line in enumerate(lines):
        at, y = 0, BAR + PAD + row * LINE + 8
        for style, text in line:
            attrs = "".join(f' {k}="{v}"' for k, v in style.items())
            # A width for each run: the columns stay whatever font is there.
            out.append(f'<text x="{PAD + at * CHAR:.1f}" y="{y}" xml:space="preserve" '
                       f'textLength="{len(text) * CHAR:.1f}"{attrs}>{html.escape(text)}</text>')
            at += len(text)
    return "\n".join(out + ["</svg>", ""])


def picture(out, command, shown, columns, folder):
    lines = on_terminal(command, columns, folder).rstrip("\n").split("\n")
    prompt = [({"fill": COLOURS[32]}, "$ "), ({"font-weight": "bold"}, shown)]
    pathlib.Path(out).write_text(svg([prompt] + [runs(line) for line in lines], columns))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?")
    parser.add_argument("--columns", type=int, default=80)
    parser.add_argument("--shown")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    if not args.readme:
        if not args.out or not args.command:
            parser.error("OUT.svg and a command are needed")
        picture(args.out, args.command, args.shown or " ".join(args.command), args.columns, None)
        return
    seep = pathlib.Path(os.environ.get("SEEP_BUILD", ROOT / "build")).resolve() / "seep"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.environ.get("CC", "gcc"), "-g", "-o", f"{folder}/requests",
                        ROOT / "examples/requests.c"], check=True)
        picture(args.out or ROOT / "docs/images/run.svg",
                [seep, "run", "--no-save", "./requests"], "seep run ./requests", args.columns, folder)


main()
