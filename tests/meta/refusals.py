#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A catalogue of refusals: every message that refuses something says what to do.

Read: calls of err_set in src/tool/target and src/tool/session whose code means that the user
can change something (EPERM, EBUSY, EAGAIN, ENOMEM, ENOSPC, ENOTSUP, EPROTO, ETIMEDOUT, E2BIG),
and every message of target/attach/refusal.c. A message says what to do if it has a command, an
option, or a verb that asks for something. PARTS are pieces of a longer message, which has the
action, each with the file that completes it. With --list, prints the catalogue.
"""
import re
import sys

from lib_meta import finish, read, tree_files

CODES = "EPERM EBUSY EAGAIN ENOMEM ENOSPC ENOTSUP EPROTO ETIMEDOUT E2BIG".split()
ACTION = re.compile(
    r"\b(run|use|try|start|see|wait for|name|free|detach|attach|let it|install|read it|"
    r"press)\b|\bseep [a-z]+|(?<![\w-])--[a-z]|\bsudo\b|\bchmod\b|\bkill -")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
CALL = re.compile(r"err_set\(\s*\w+,\s*([^,\"]+),\s*(" + LITERAL +
                  r"(?:\s*(?:PRI\w+|[A-Z_]+)?\s*" + LITERAL + r")*)")
# Everything here; the others only with one of CODES.
ALL_OF = "src/tool/target/attach/refusal.c"
# File and message that is only a part; the whole is made where the comment says.
PARTS = {
    ("src/tool/session/attach/attached_check.c", "not enough memory: %s"),  # leak check: why
    ("src/tool/session/heap/heapcheck.c", "it could not be copied: %s"),  # then it is stopped
    ("src/tool/target/trace/freeze_x86_64.c", "%d: a filter (seccomp) may forbid it to fork"),
    ("src/tool/target/trace/freeze_x86_64.c",
     "%d: not enough memory to copy its shared mappings"),  # then it is stopped
    ("src/tool/target/attach/attach_plan.c", "no room for its hook"),  # "would not hook: …"
    ("src/tool/target/attach/attach_plan.c", "it throws, and has no sibling that does not"),
    ("src/tool/target/trace/detour.c", "its first instructions are %s"),  # "would not hook: …"
    ("src/tool/target/trace/detour.c", "its first instructions cannot be moved"),
}
# What cannot be helped: the process, or the word, is not what can be recorded.
HELPLESS = {"%d: no such process", "%d (%s) is a kernel thread; it has no memory of its own",
            "%d (%s) has ended and only waits for its parent; there is nothing left to attach to"}
ONLY_ARGUMENTS = re.compile(r"(%[a-z]+|[\s:().]|is|in)*")


def refusals(name, text):
    """(line, message) of each call that refuses."""
    for match in CALL.finditer(text):
        codes = set(re.findall(r"\bE[A-Z0-9]+\b", match.group(1)))
        message = re.sub(r'"\s*(?:PRI\w+|[A-Z_]+)?\s*"', "", match.group(2))[1:-1]
        if name == ALL_OF or codes & set(CODES):
            yield text.count("\n", 0, match.start()) + 1, message


def says_what_to_do(message):
    return bool(ACTION.search(message))


def self_check():
    text = 'return err_set(e, -EPERM, "%d: it is "\n\t"closed", pid);\nerr_set(e, -EIO, "x");\n'
    got = list(refusals("x.c", text))
    wrong = []
    if got != [(1, "%d: it is closed")] or len(list(refusals(ALL_OF, text))) != 2:
        wrong.append(f"refusals.py itself: reads {got}")
    if says_what_to_do(got[0][1]) or not says_what_to_do("closed; run: sudo seep attach %d"):
        wrong.append("refusals.py itself: judges wrongly")
    return wrong


def main():
    faults, seen, parts = self_check(), 0, set()
    for path in tree_files():
        name = str(path)
        if path.suffix not in (".c", ".h") or \
                not name.startswith(("src/tool/target/", "src/tool/session/")):
            continue
        for line, message in refusals(name, read(path)):
            seen += 1
            if "--list" in sys.argv:
                print(f"{name}:{line}: {message}")
            if (name, message) in PARTS:
                parts.add((name, message))
            elif message not in HELPLESS and not ONLY_ARGUMENTS.fullmatch(message) and \
                    not says_what_to_do(message):
                faults.append(f"{name}:{line}: {message!r} does not say what to do")
    faults += [f"refusals.py: {name} no longer has {message!r}"
               for name, message in sorted(PARTS - parts)]
    finish(faults, seen if seen >= 50 else 0, "refusals")


sys.exit(main())
