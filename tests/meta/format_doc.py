#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/format.md describes every struct of src/shared/recording*.h, and no struct that is gone."""
import re
import sys

from lib_meta import ROOT, finish, read, skip, without_comments

HEADERS, DOC = "src/shared/recording*.h", "docs/format.md"


def main():
    headers = sorted(path.relative_to(ROOT) for path in ROOT.glob(HEADERS))
    if not headers:
        skip("no recording format in this tree yet")
    text = "".join(without_comments(read(header)) for header in headers)
    structs = set(re.findall(r"^struct (\w+)[^;{]*\{", text, re.M))
    if not (ROOT / DOC).exists():
        finish([f"{DOC} is missing"], len(structs), "structs")
    told = set(re.findall(r"\bstruct (\w+)|`(\w+)`", read(DOC)))
    words = {word for pair in told for word in pair if word}
    named = {a for a, _ in told if a}
    faults = [f"{DOC} does not name struct {s}" for s in sorted(structs - words)]
    faults += [f"{DOC} names struct {s}, {HEADERS} do not" for s in sorted(named - structs)]
    finish(faults, len(structs), "structs")


sys.exit(main())
