#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every source file: opens with its licence and what it is for, has a name of its own, is not
too long, uses no function we banned, and says nothing that belongs elsewhere.
"""
import re
import sys

from lib_meta import finish, read, tree_files, without_comments

FILE_LINES, FUNCTION_LINES = 600, 60
SPDX = "SPDX-License-Identifier: "
LICENCES = {"MIT", "MIT OR GPL-2.0-only"}
PURPOSE_CHARS = 20
CODE = {".c", ".h", ".cpp", ".S"}
SCRIPTS = {".sh", ".py"}
# Copy without a bound, or keep hidden state.
BANNED = re.compile(r"\b(strcpy|stpcpy|strcat|sprintf|vsprintf|strtok|gets|mktemp|tmpnam|"
                    r"alloca)\s*\(")
# Only cli, compat and web talk to the user; everyone else returns an error.
SILENT = {"util", "model", "sym", "format", "analyze", "leak", "target", "session", "render"}
# Messages and help of commands; the streams that all printing passes; out of memory.
MAY_TALK = {"cmd.c", "clean.c", "x.c"}
TALKS = re.compile(r"\b(printf|puts|putchar|perror|exit|abort)\s*\(|\b(stderr|stdout)\b")
# One of each in src/tool: what only these files may do; the others ask them.
ONE_OF_EACH = [
    (re.compile(r"\bELFMAG\b|\bEI_CLASS\b"), {"elfview.c", "elfscan.c", "core.c"},
     "ELF headers are read by util/elf/elfview.h"),
    (re.compile(r'/maps"'), {"procfs.c"}, "mappings are read by procfs_maps_open"),
    (re.compile(r"\bclock_gettime\s*\("), {"clock.h"}, "the time is told by util/clock.h"),
    (re.compile(r"\bsigtimedwait\s*\("), {"loop.c", "ticker.c", "tracee.c"},
     "waiting for signals is session/loop.h's"),
    (re.compile(r"\bdlopen\s*\("), {"dynlib.c", "cmd_doctor.c"},
     "libraries are loaded by util/dynlib.h"),
]
UNFINISHED = re.compile(r"\b(FIXME|XXX|HACK)\b|\bTODO\b(?!\([a-z][a-z0-9-]*\): \S)")
# Folders of the machine it was written on. Spelt so that this file does not find itself.
PLACES = re.compile(r"(?<![\w.$}*/-])/(wor" r"k|roo" r"t|hom" r"e/[a-z]+|tmp/bri" r"ef)/")
SELF = "tests/meta/sources.py"


def opening(path, text):
    """What is wrong with the first lines, or None."""
    lines = text.splitlines()
    if path.suffix in CODE:
        match = re.match(r"/[*/] " + SPDX + r"(.*?)( \*/)?$", lines[0] if lines else "")
        if not match:
            return "line 1 is not the SPDX comment"
        rest = "\n".join(lines[1:4])
        purpose = re.match(r"(/\*|//)\s*(\S.*)", rest)
        if not purpose or len(purpose.group(2)) < PURPOSE_CHARS:
            return "line 2 does not begin to say what the file is for"
    else:
        head = [line for line in lines[:3] if line.startswith("# " + SPDX)]
        if not head:
            return "no SPDX line among the first three"
        match = re.match("# " + SPDX + "(.*)", head[0])
        after = lines[lines.index(head[0]) + 1:][:1]
        if not after or not re.match(r'(# |""")\S.{%d,}' % (PURPOSE_CHARS - 1), after[0]):
            return "no purpose after the SPDX line"
    return None if match.group(1) in LICENCES else f"unknown licence {match.group(1)}"


def long_functions(text, limit=FUNCTION_LINES):
    """Name and lines between the braces of each function that has more than `limit`.

    A definition is laid out by clang-format: its name begins a line, and so does each brace."""
    name, begins = None, None
    for number, line in enumerate(text.splitlines()):
        match = re.match(r"(\w+)\(", line)
        if match:
            name = match.group(1)
        elif line == "{":
            begins = number
        elif line == "}" and begins is not None:
            if number - begins - 1 > limit:
                yield name, number - begins - 1
            begins = None


def self_check():
    """Each rule must catch a breach of it."""
    wrong = []
    for regex, bad, good in [
        (BANNED, "strcpy(a, b)", "my_strcpy(a, b)"),
        (BANNED, "sprintf (a)", "snprintf(a)"),
        (TALKS, "printf(x)", "snprintf(x)"),
        (TALKS, "fputs(s, stderr)", "buf_puts(s)"),
        (ONE_OF_EACH[0][0], "memcmp(h, ELFMAG, 4)", "elfview_is_elf(h)"),
        (ONE_OF_EACH[1][0], 'open("/proc/1/maps")', 'open("/proc/1/smaps")'),
        (UNFINISHED, "TO" "DO later", "TO" "DO(anna): when v2 is out"),
        (PLACES, "see /wor" "k/x", "http://a.b/wor" "k/x"),
    ]:
        if not regex.search(bad) or regex.search(good):
            wrong.append(f"{SELF} itself: {bad!r} or {good!r} judged wrongly")
    two = "int\nshort_one(void)\n{\n\ta();\n}\n\nint\nlong_one(int a,\n\t int b)\n{\n\ta();\n\n\tb();\n}\n"
    if list(long_functions(two, 2)) != [("long_one", 3)]:
        wrong.append(f"{SELF} itself: the lines of functions are counted wrongly")
    return wrong


def main():
    faults = self_check()
    seen, looked_at = {}, 0
    for path in tree_files():
        name = str(path)
        if path.parts[:2] == ("tests", "golden") or "corpus" in path.parts:
            continue
        if path.suffix in (".png", ".rec", ".gz", ".zst", ".heap"):
            continue
        text = read(path)
        if name != SELF:
            for number, line in enumerate(text.splitlines(), 1):
                if UNFINISHED.search(line) or PLACES.search(line):
                    faults.append(f"{path}:{number}: {line.strip()[:80]}")
        if path.suffix not in CODE | SCRIPTS:
            continue
        looked_at += 1
        why = None if path.name == "lib.sh" else opening(path, text)
        if why:
            faults.append(f"{path}: {why}")
        if path.suffix not in CODE:
            continue
        code = without_comments(text)
        for number, line in enumerate(code.splitlines(), 1):
            match = BANNED.search(line)
            if not match and path.parts[:2] == ("src", "tool") and path.parts[2] in SILENT and \
                    path.name not in MAY_TALK:
                match = TALKS.search(line)
            if match:
                faults.append(f"{path}:{number}: {match.group(0).strip()} is not used here")
            for regex, homes, instead in ONE_OF_EACH if path.parts[:2] == ("src", "tool") else ():
                if path.name not in homes and regex.search(line):
                    faults.append(f"{path}:{number}: {instead}")
        if path.parts[0] in ("src", "include"):
            lines = text.count("\n")
            if lines > FILE_LINES:
                faults.append(f"{path}: {lines} lines, more than {FILE_LINES}: split it")
            for name, lines in long_functions(text):
                faults.append(f"{path}: {name} has {lines} lines, more than {FUNCTION_LINES}: "
                              "split it")
            if path.name in seen:
                faults.append(f"{path}: {seen[path.name]} has the same name")
            seen[path.name] = path
    finish(faults, looked_at, "sources")


sys.exit(main())
