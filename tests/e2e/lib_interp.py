#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Compares the sites of a JSON report with what tests/programs/interp.c says there is.

	lib_interp.py TRUTH REPORT.json SHARE

TRUTH is the program's output. SHARE is how far figures may be off, 0 in exact recordings. Prints
every difference, and how many expectations were met. A line `expect` names frames of the script,
innermost first; `native=F` asks for the innermost frame of C instead, `first=` only for the
innermost frame of the script, `cut=N` that so many allocations are counted as truncated. Nothing
else of the script may be in the report."""
import json
import sys

truth, report, share = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), float(sys.argv[3])
frames = report["frames"]
seen = {}
for site in report["sites"]:
    stack = [frames[i] for i in site["stack"]]
    script = [f for f in stack if f["language"] != "native"]
    for f in script:
        assert f["language"] == "other" and f["module"] is None and f["offset"] is None, f
        assert f["file"].startswith("/srv/") or f["function"] == "(name unknown)", f
    key = ",".join(f"{f['function']}:{f['line']}" for f in script) or "-"
    native = [f["function"] for f in stack if f["language"] == "native" and f["kind"] == "code"]
    if script:
        assert "eval" not in native, (key, native)
        assert "main" in native or "start_thread" in native, native
    types = site["types"] or [dict(type=None, allocs=site["allocs"], allocated_bytes=site["allocated_bytes"])]
    for t in types:
        at = (key, t["type"] or "-", next((n for n in native if n not in ("malloc",)), "-"))
        was = seen.get(at, (0, 0))
        seen[at] = (was[0] + t["allocs"], was[1] + t["allocated_bytes"])
met = wrong = 0
left = {at for at in seen if at[0] != "-"}
for line in truth.splitlines():
    if not line.startswith("expect "):
        continue
    want = dict(word.split("=", 1) for word in line.split()[1:])
    def fits(at):
        if "stack" in want and at[0] != want["stack"]:
            return False
        if "first" in want and at[0].split(",")[0] != want["first"]:
            return False
        if "stack" not in want and "first" not in want and at[0] == "-":
            return False
        return want.get("native", at[2]) == at[2] and want.get("type", at[1]) == at[1]
    found = [at for at in seen if fits(at)]
    left -= set(found)
    blocks, size = (sum(seen[at][i] for at in found) for i in (0, 1))
    cut = sum(p["lost"]["truncated"] for p in report["processes"])
    if (abs(blocks - int(want["blocks"])) > share * int(want["blocks"])
            or abs(size - int(want["bytes"])) > share * int(want["bytes"])
            or int(want.get("cut", cut)) != cut):
        print(f"wrong: {line}: {blocks} blocks, {size} bytes, {cut} cut; of {seen}")
        wrong += 1
    else:
        met += 1
for at in left:
    print(f"not expected: {at}: {seen[at]}")
print(f"{met} met, {wrong + len(left)} wrong")
