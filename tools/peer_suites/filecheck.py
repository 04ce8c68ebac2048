#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A stand-in for LLVM's FileCheck, as far as LeakSanitizer's tests use it: filecheck.py FILE [--check-prefix=X]
reads text from stdin and compares it with the CHECK lines of FILE. {{x}} is a regular expression, [[X:x]] one whose
match is kept, [[X]] what was kept. -NOT, -DAG and -NEXT are understood. On failure one line says which."""
import re
import sys

PLACE = re.compile(r"\[\[(\w+)(?::(.*?))?\]\](?!\])|\{\{(.*?)\}\}")


def pattern_of(text, kept):
    """A CHECK line as a regular expression; groups are named after variables."""
    out, at = "", 0
    for m in PLACE.finditer(text):
        out += re.sub(r"(\\ )+", r"\\s+", re.escape(text[at:m.start()]))
        if m[3] is not None:
            out += f"(?:{m[3]})"
        elif m[2] is not None:
            out += f"(?P<{m[1]}>{m[2]})"
        else:
            out += re.escape(kept.get(m[1], "\0"))
        at = m.end()
    return out + re.sub(r"(\\ )+", r"\\s+", re.escape(text[at:]))


def first_difference(source, prefix, text):
    """What the text lacks, or has too much; None when it is as it should be."""
    kept, at, banned = {}, 0, []
    for m in re.finditer(rf"^.*?//\s*{re.escape(prefix)}(-NOT|-DAG|-NEXT)?: *(.*?)\s*$", source, re.M):
        if m[1] == "-NOT":
            banned.append(m[2])
            continue
        hit = re.compile(pattern_of(m[2], kept)).search(text, at)
        if hit is None:
            return "lacks " + m[2]
        for b in banned:
            if re.compile(pattern_of(b, kept)).search(text, at, hit.start()):
                return "has " + b
        banned, at = [], at if m[1] == "-DAG" else hit.end()
        kept.update({k: v for k, v in hit.groupdict().items() if v is not None})
    for b in banned:
        if re.compile(pattern_of(b, kept)).search(text, at):
            return "has " + b
    return None


def main():
    prefix = "CHECK"
    args = sys.argv[1:]
    for i, word in enumerate(args):
        if re.match(r"--?check-prefix=", word):
            prefix = word.partition("=")[2]
        elif re.match(r"--?check-prefix$", word):
            prefix = args[i + 1]
    with open(next(a for a in args if a.endswith((".c", ".cpp")))) as source:
        what = first_difference(source.read(), prefix, sys.stdin.read())
    if what is not None:
        print("FileCheck: " + what)
    return 1 if what is not None else 0


if __name__ == "__main__":
    sys.exit(main())
