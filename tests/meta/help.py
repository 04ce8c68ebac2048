#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""`seep CMD --help` and the manual page know the same options, both ways.

The page is man/seep-CMD.1, or what that names with .so; its options are those of its `.It Fl`
lines. A command without a page of its own must have its options in man/seep.1, which may have
more. The completions of bash, zsh and fish offer the commands and their options, too: each
shell is asked, or left out where it is not installed.
"""
import os
import re
import shutil
import subprocess
import sys

from lib_meta import BUILD, ROOT, finish, skip

# What each shell offers for `seep TAB` and for `seep COMMAND --TAB`: one line a command.
# The first argument is the file, the others are commands.
COMPLETE = {
    "bash": ["bash", "-c", r"""
        . "$0"; seen() { COMPREPLY=(); _seep seep; echo "$1 ${COMPREPLY[*]%%=}"; }
        COMP_WORDS=(seep ""); COMP_CWORD=1; seen ""
        for c; do COMP_WORDS=(seep "$c" --); COMP_CWORD=2; seen "$c"; done"""],
    "zsh": ["zsh", "-f", "-c", r"""
        . $0; echo "" ${$(_seep_commands)%%:*}
        for c; do echo $c ${${(f)"$(_seep_options $c)"}%%:*}; done"""],
    "fish": ["fish", "--no-config", "-c", r"""
        source $argv[1]; echo "" (complete -C "seep " | string replace -r '\t.*' '')
        for c in $argv[2..]
            echo $c (complete -C "seep $c --" | string replace -r '\t.*' '')
        end"""],
}
EVERYWHERE = {"help", "version"}
OPTION = re.compile(r"--([a-z][a-z0-9_-]*)")


def help_options(text):
    """Long options of the lines that begin with one, up to where their description starts."""
    found = set()
    for line in text.splitlines():
        stripped = line.strip()
        if not line.startswith(" ") or not stripped.startswith("-"):
            continue
        found |= set(OPTION.findall(re.split(r"\s{2,}", stripped)[0]))
    return found - EVERYWHERE


def man_options(text):
    found = set()
    for line in text.splitlines():
        if line.startswith(".It Fl"):
            found |= set(re.findall(r"(?:Fl|,|\|) -([a-z][a-z0-9_-]*)", line))
    return found - EVERYWHERE


def real_page(page):
    """The page itself, where `page` is only another name for it."""
    match = re.match(r"\.so man1/(\S+)$", page.read_text().strip())
    return page.parent / match.group(1) if match else page


def self_check():
    text = "usage: seep x --not-this\n  -o, --out FILE  as --other does\n      --all|--some N\n"
    page = ".It Fl o , Fl -out Ar file\n.It Fl -all | Fl -some Ar n\n.Fl -mentioned\n"
    faults = []
    for got in (help_options(text), man_options(page)):
        if got != {"out", "all", "some"}:
            faults.append(f"help.py itself: found {sorted(got)}")
    return faults


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, timeout=20,
                          stdin=subprocess.DEVNULL, check=False)


def offered(shell, commands):
    """What the completion of `shell` offers, by command; of "" the commands. None: not here."""
    if not shutil.which(shell):
        print(f"left out: no {shell} here")
        return None
    path = dict(os.environ, PATH=f"{BUILD}:{os.environ['PATH']}")
    got = subprocess.run(COMPLETE[shell] + [str(ROOT / f"completions/seep.{shell}"), *commands],
                         capture_output=True, text=True, timeout=60, env=path,
                         stdin=subprocess.DEVNULL, check=False)
    lines = [line.split(" ") for line in got.stdout.splitlines()]
    return {line[0]: set(line[1:]) for line in lines}


def completion_faults(said):
    """`said`: the options of each command."""
    faults = []
    for shell in COMPLETE:
        found = offered(shell, said)
        for name in sorted(set(said) - found.get("", set())) if found is not None else ():
            faults.append(f"completions/seep.{shell} does not have {name}")
        for name, options in said.items() if found is not None else ():
            for option in sorted({"--" + o for o in options} - found.get(name, set())):
                faults.append(f"completions/seep.{shell} does not have {option} (seep {name})")
    return faults


def main():
    seep = BUILD / "seep"
    if not (ROOT / "src/tool/cli/main.c").exists():
        skip("no tool in this tree yet")
    faults = self_check()
    top = run(seep, "help", "--all")
    if top.returncode != 0:
        faults.append(f"seep help --all: status {top.returncode}")
    # Those that it lists, and those that have a file: a command must be in both places,
    # or be a personality.
    listed = re.findall(r"^  ([a-z][a-z._-]*)", top.stdout, re.M)
    own_files = [p.stem[4:].replace("_", "-") for p in (ROOT / "src/tool/cli").glob("cmd_*.c")]
    commands = sorted(set(listed) | set(own_files))
    if not {"resume", "jeprof", "valgrind", "flamegraph.pl"} <= set(commands):
        faults.append("help.py itself: does not see all commands")
    options = {}
    for name in commands:
        got = run(seep, name, "--help")
        if got.returncode != 0:
            faults.append(f"seep {name} --help: status {got.returncode}")
            continue
        if not re.search(rf"^\s+{name}\b", top.stdout, re.M):
            faults.append(f"seep help --all does not list {name}")
        own = ROOT / f"man/seep-{name}.1"
        page = own if own.exists() else ROOT / "man/seep.1"
        if not page.exists():
            faults.append(f"no manual page for seep {name}")
            continue
        said = help_options(got.stdout)
        options[name] = said
        written = man_options(real_page(page).read_text())
        for option in sorted(said - written):
            faults.append(f"{page.name} does not have --{option} of seep {name}")
        for option in sorted(written - said if page is own else ()):
            faults.append(f"{page.name} has --{option}, seep {name} --help does not")
    faults += completion_faults(options)
    finish(faults, len(commands), "commands")


sys.exit(main())
