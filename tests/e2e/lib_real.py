#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Is a recording of a program that nobody here wrote sensible? Reads a report's JSON.

Prints one `problem: …` line for everything that cannot be right or went missing without a
word, then one line of figures; with --ends also every innermost known frame of the stacks that
end in [truncated]. What the program really did is not known here: only what must hold always.
"""
import argparse
import collections
import json
import math
import sys

# Where a stack may end: process start, thread start, and the loader's own work before
# both.
ROOTS = {"_start", "__start", "clone3", "clone", "__clone", "__clone3", "_dl_start_user",
         "__GI___clone3", "__GI___clone", "thread_start", "_dl_relocate_static_pie"}
# Counters that must be 0 in every run without pause, without signals in the recorder and
# with room enough.
MUST_BE_ZERO = ["space", "lock", "address", "mark", "module", "thread"]


def problems_of_totals(what, row):
    """A total that no sequence of calls can lead to."""
    for key in ("live_bytes", "live_blocks", "at_peak_bytes", "at_peak_blocks",
                "at_exit_bytes", "at_exit_blocks"):
        if row.get(key, 0) < 0:
            yield f"{what}: {key} is {row[key]}"
    if row.get("samples", 0):
        return
    if "freed_bytes" in row:
        if row["allocs"] - row["frees"] != row["live_blocks"]:
            yield f"{what}: {row['allocs']} - {row['frees']} is not {row['live_blocks']} blocks"
        if row["allocated_bytes"] - row["freed_bytes"] != row["live_bytes"]:
            yield f"{what}: bytes allocated - freed is not live"
    if row["temporary_allocs"] > row["frees"]:
        yield f"{what}: more temporary than freed"


def problems_of_process(pr, opt):
    who = f"{pr['name']}[{pr['pid']}]"
    if pr["not_recorded"]:
        if pr["name"] not in opt.unrecorded.split(","):
            yield f"{who}: not recorded: {pr['not_recorded']}"
        return
    lost = pr["lost"]
    if lost["sealed_by_seccomp"] and opt.sealed:
        return  # cannot grow, nor begin anew in a child: all of it is counted
    for key in MUST_BE_ZERO:
        if lost[key]:
            yield f"{who}: lost {key} {lost[key]}"
    if lost["child"] > opt.child:
        yield f"{who}: {lost['child']} forked children without a recording"
    if lost["reentry"] > opt.reentry:
        yield f"{who}: lost reentry {lost['reentry']}"
    if lost["frees_unknown"] > opt.unknown:
        yield f"{who}: {lost['frees_unknown']} frees of unknown blocks"
    if pr["live_bytes"] < 0 or pr["peak_bytes"] < pr["live_bytes"]:
        yield f"{who}: live {pr['live_bytes']} of peak {pr['peak_bytes']}"
    if (pr["end"] == "running" and not opt.running) or (pr["end"] == "exited" and pr["status"] not in
                                  [None, *range(256)]):
        yield f"{who}: end is {pr['end']} {pr['status']}"


def stack_end(doc, site):
    """(how the stack ends, text of its outermost known frame)."""
    frames = doc["frames"]
    root = frames[site["stack"][-1]] if site["stack"] else {"kind": "none"}
    if root["kind"] == "code":
        # The entry point of a stripped program has no name; what it calls has.
        callee = frames[site["stack"][-2]]["function"] if len(site["stack"]) > 1 else None
        good = (root["function"] in ROOTS or str(callee).startswith("__libc_start_main")
                or module_path(doc, root).endswith("/libseep.so"))  # it calls main
        return ("root" if good else "other"), frame_text(doc, root)
    known = [frames[i] for i in site["stack"] if frames[i]["kind"] == "code"]
    return root["kind"], frame_text(doc, known[-1]) if known else "nothing"


def module_path(doc, frame):
    module = frame.get("module")
    return str(doc["modules"][module]["path"]) if module is not None else "no module"


def frame_text(doc, frame):
    return f"{frame.get('function')}+{frame.get('offset', 0):#x} in {module_path(doc, frame)}"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("json")
    args.add_argument("--unknown", type=int, default=0, help="frees of unknown blocks allowed")
    args.add_argument("--reentry", type=int, default=0)
    args.add_argument("--child", type=int, default=0, help="forked children not recorded")
    args.add_argument("--sealed", action="store_true", help="may confine itself by seccomp")
    args.add_argument("--running", action="store_true", help="some may outlive the first")
    args.add_argument("--truncated", type=float, default=0.0, help="per cent of allocations")
    args.add_argument("--unrecorded", default="ldconfig", help="names that need not be recorded")
    args.add_argument("--ends", action="store_true")
    opt = args.parse_args()
    with open(opt.json, encoding="utf-8", errors="surrogateescape") as f:
        doc = json.load(f)
    found = list(problems_of_totals("all", doc["totals"]))
    for pr in doc["processes"]:
        found += problems_of_process(pr, opt)
    for i, site in enumerate(doc["sites"]):
        found += problems_of_totals(f"site {i}", site)
    if doc["damage"] and not opt.running:
        found.append(f"damage: {doc['damage']}")
    kinds, ends, allocs = collections.Counter(), collections.Counter(), 0
    samples = collections.Counter()
    for site in doc["sites"]:
        kind, text = stack_end(doc, site)
        kinds[kind] += site["allocs"]
        samples[kind] += site["samples"]
        samples["all"] += site["samples"]
        allocs += site["allocs"]
        if kind != "root":
            ends[kind, text] += site["allocs"]
    if not doc["blocks_not_listed"] and allocs != doc["totals"]["allocs"]:
        found.append(f"sites have {allocs} of {doc['totals']['allocs']} allocations")
    cut = 100.0 * kinds["truncated"] / allocs if allocs else 0.0
    too_many = cut > opt.truncated
    if any(pr["mode"] == "sampled" for pr in doc["processes"]):
        # The same share, but of a few samples: four standard deviations of their number
        # more.
        expected = opt.truncated / 100 * samples["all"]
        too_many = samples["truncated"] > expected + 4 * math.sqrt(expected)
    if too_many:
        found.append(f"{cut:.3f} % of allocations have a truncated stack")
    if kinds["other"] or kinds["none"]:
        found.append(f"{kinds['other'] + kinds['none']} allocations whose stack ends elsewhere: "
                     + "; ".join(t for (k, t), _ in ends.most_common(5) if k != "truncated"))
    for line in found[:20]:
        print("problem:", line)
    unknown = sum(pr["lost"]["frees_unknown"] for pr in doc["processes"])
    inherited = sum(pr["lost"]["frees_inherited"] for pr in doc["processes"])
    print(f"processes {len(doc['processes'])} sites {len(doc['sites'])} allocs {allocs} "
          f"bytes {doc['totals']['allocated_bytes']} truncated {cut:.3f} % "
          f"unknown {unknown} inherited {inherited} "
          f"exec {sum(pr['lost']['exec'] for pr in doc['processes'])}")
    if opt.ends:
        for (kind, text), n in ends.most_common(40):
            print(f"  {n:9} {kind:10} {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
