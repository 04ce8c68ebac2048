# SPDX-License-Identifier: MIT
"""Types the commands of a page of the documentation and compares what they print.

    lib_pages.py [--write] PAGE...

Run by tutorial.sh, in a scratch folder. A block of a page that begins with ```console is typed:
lines with `$ ` (and `> ` for the rest of a command) are commands, the lines below are what they
print, on stdout and stderr. All blocks of a page are one shell session. Other blocks are not typed.

Comments of the page, on a line of their own before a block:
    <!-- setup: COMMAND -->      typed too, what it prints does not matter
    <!-- needs: NAME... -->      without these commands the block is left out (first in a page: the page)
    <!-- varies -->              numbers of this block differ from run to run
A line `…` stands for any number of lines, ` …` for the rest of one and what follows. Words
are compared, not columns. Durations, dates, addresses and process ids always vary; a line
that begins with `RSS ` does, too.

--write puts what was printed into the pages, except into blocks with `…`.
"""
import os
import re
import shutil
import subprocess
import sys

ANY = "…"
MARK = "\x01"
SECONDS = 240


class Block:
    def __init__(self):
        self.commands = []  # [text, first line of the output, its lines]
        self.varies = False
        self.needs = []
        self.setup = []


def blocks_of(lines):
    """The blocks of a page that are typed, and the commands that the whole page needs."""
    blocks, page_needs, block, inside, typed = [], [], Block(), False, False
    for at, line in enumerate(lines):
        comment = re.match(r"<!-- (setup|needs|varies):? ?(.*?) ?-->$", line)
        if not inside and comment:
            what, rest = comment.groups()
            if what == "setup":
                block.setup.append(rest)
            elif what == "varies":
                block.varies = True
            elif not blocks and not block.setup and not page_needs and at < 10:
                page_needs = rest.split()
            else:
                block.needs += rest.split()
        elif line.startswith("```"):
            if inside and typed:
                blocks.append(block)
                block = Block()
            inside = not inside
            typed = inside and line == "```console"
        elif inside and typed:
            if line.startswith("$ "):
                block.commands.append([line[2:], at + 1, []])
            elif line.startswith("> ") and block.commands and not block.commands[-1][2]:
                block.commands[-1][0] += "\n" + line[2:]
                block.commands[-1][1] = at + 1
            else:
                block.commands[-1][2].append(line)
    return blocks, page_needs


def script_of(blocks):
    """The session: each command between two marks, with the status that the next one sees."""
    out, number = ["exec 2>&1", "true"], 0
    for block in blocks:
        out += [f"{{ {s}\n}} >/dev/null 2>&1" for s in block.setup]
        for command in block.commands:
            out.append(f"__s=$?; printf '{MARK}{number}\\n'; (exit $__s)\n{command[0]}")
            number += 1
    out.append(f"printf '{MARK}end\\n'\nkill $(jobs -p) 2>/dev/null; exit 0")
    return "\n".join(out)


def masked(text, varies):
    """Text without what differs from run to run, as one line of words."""
    folder = os.getcwd()
    text = text.replace(folder, "/tmp/demo").replace(os.environ["SEEP_BUILD"], "/usr/local/lib/seep")
    text = re.sub(r"(?m)^RSS .*\n?", "", text)
    text = re.sub(r"RSS [0-9.]+ → [0-9.]+ [KMG]iB", "RSS", text)
    text = re.sub(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:]{5,8})?|\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b", "DATE", text)
    text = re.sub(r"\b[A-Z][a-z]{2} [0-9]{1,2}, [0-9]{4} at [0-9:]+[ap]m \(\w+\)", "DATE", text)
    text = re.sub(r"\b0x[0-9a-f]+|@[0-9a-f]{6,}|\b[0-9a-f]{9,16}(-[0-9a-f]{9,16})?\b", "ADDRESS", text)
    text = re.sub(r"==[0-9]+==", "==PID==", text)
    text = re.sub(r"\bpid\s+[0-9]+|\([0-9]{2,}\)|^[0-9]+:|(?<=\.)[0-9]{2,}(?=\.)", "PID", text)
    text = re.sub(r"[0-9][0-9.,]* (ns|[uµ]s|ms|s|min|h|d)\b", "TIME", text)
    if varies:
        text = re.sub(r" ?± [0-9.,]+", "", text)
        text = re.sub(r"(< ?)?[0-9][0-9.,]*", "N", text)
        text = re.sub(r"\bN ([KMGT]i)?B(?=\W|$)", "SIZE", text)
        text = re.sub(r"[−+](?=N|SIZE)", "", text)
    return " ".join(text.split())


def agrees(wanted, got, varies):
    parts = [masked(p, varies) for p in re.split(rf"(?m)(?:^|\s){ANY}$", "\n".join(wanted))]
    pattern = r".*".join(re.escape(p) for p in parts)
    return re.fullmatch(pattern, masked(got, varies), re.S) is not None


def type_page(page, write):
    lines = open(page, encoding="utf-8").read().split("\n")
    blocks, needs = blocks_of(lines)
    name = os.path.basename(page)
    missing = [n for n in needs if shutil.which(n) is None]
    if missing:
        print(f"left out: {name}: no {missing[0]} here")
        return 0, 0
    for block in list(blocks):
        if any(shutil.which(n) is None for n in block.needs):
            print(f"left out: part of {name}: one of {' '.join(block.needs)} is not here")
            blocks.remove(block)
    try:
        out = subprocess.run(["bash", "-c", script_of(blocks)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, timeout=SECONDS, check=False).stdout
    except subprocess.TimeoutExpired as late:
        out = late.stdout or b""
        print(f"FAILED {name}: no end within {SECONDS} s")
    parts = re.split(rf"{MARK}(\d+|end)\n", out.decode(errors="replace"))
    printed = dict(zip(parts[1::2], parts[2::2]))
    passed = failed = number = 0
    changes = []
    for block in blocks:
        for command, at, wanted in block.commands:
            got = printed.get(str(number))
            number += 1
            if got is not None and (write or agrees(wanted, got, block.varies)):
                passed += 1
            else:
                failed += 1
                print(f"FAILED {name}:{at}: {command}", "  the page shows:", *wanted,
                      "  it prints:", got, sep="\n")
            if write and got is not None and not any(re.search(rf"(^|\s){ANY}$", w) for w in wanted) and \
                    not agrees(wanted, got, block.varies):
                shown = got.replace(os.getcwd(), "/tmp/demo").replace("\r", "").rstrip("\n")
                changes.append((at, len(wanted), shown.split("\n") if shown else []))
    for at, count, shown in reversed(changes):
        lines[at:at + count] = shown
    if changes:
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        print(f"{name}: {len(changes)} outputs written")
    if not blocks:
        print(f"FAILED {name}: nothing to type")
        failed += 1
    return passed, failed


def main():
    write = sys.argv[1] == "--write"
    top = os.getcwd()
    passed = failed = 0
    for page in sys.argv[1 + write:]:
        folder = os.path.join(top, os.path.basename(page).replace(".md", ""))
        os.mkdir(folder)
        os.chdir(folder)
        good, bad = type_page(page, write)
        passed, failed = passed + good, failed + bad
        os.chdir(top)
    print(f"{passed} commands as shown, {failed} not")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
