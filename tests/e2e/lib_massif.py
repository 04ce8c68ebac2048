#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what seep reads in a massif.out file with what ms_print prints of it.

    lib_massif.py SEEP FILE

Every row of the table, every frame of every tree with its bytes, and its share of the
total. Prints one line of sums, or what differs, and leaves with 1 then.
"""
import collections
import json
import re
import subprocess
import sys

seep, path = sys.argv[1:]
ROW = re.compile(r"^ *(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$")
NODE = re.compile(r"^([ |]*)(->)?(\d+\.\d\d)% \(([\d,]+)B\) (.*)$")
PLACES = re.compile(r"in \d+ places?, (all )?below massif's threshold")


def number(text):
    return int(text.replace(",", ""))


def frame(label):
    if PLACES.match(label):
        return "[below massif's threshold]"
    m = re.match(r"(0x[0-9A-F]+): (.*?)(?: \((?:in )?[^()]*\))?$", label)
    return m[1] if m[2] == "???" else m[2]


def ms_print():
    """Rows of the table; snapshot -> path of names -> bytes; the same -> shares as printed."""
    rows, trees, shares, line_of = [], {}, {}, []
    text = subprocess.run(["ms_print", "--threshold=0", path], stdout=subprocess.PIPE, check=True).stdout.decode()
    for line in text.splitlines():
        row, node = ROW.match(line), NODE.match(line)
        if row:
            rows.append([number(x) for x in row.groups()])
            trees[rows[-1][0]], shares[rows[-1][0]] = collections.Counter(), collections.defaultdict(list)
        elif node:
            depth = 0 if node[2] is None else len(node[1]) // 2 + 1
            del line_of[depth:]
            line_of.append("" if depth == 0 else frame(node[5]))
            key = tuple(line_of[1:])
            trees[rows[-1][0]][key] += number(node[4])
            shares[rows[-1][0]][key].append(node[3])
    return rows, trees, shares


def seep_rows():
    text = subprocess.run([seep, "timeline", "--json", path], stdout=subprocess.PIPE, check=True).stdout
    found = json.loads(text)["rows"][0]["snapshots"]
    return [[s["number"], s["time"], s["heap_bytes"] + s["extra_heap_bytes"] + s["stacks_bytes"], s["heap_bytes"],
             s["extra_heap_bytes"], s["stacks_bytes"]] for s in found]


def seep_tree(snapshot):
    """The same tree from stacks as seep writes them, the three kinds of memory apart."""
    text = subprocess.run([seep, "convert", "-t", "folded", "--no-skip", f"{path}@{snapshot}", "-"],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    tree, kinds = collections.Counter(), {}
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        names = stack.split(";")[::-1]
        if names[0] in ("[extra heap]", "[stacks]", "[heap without stacks]"):
            kinds[names[0]] = int(value)
            if names[0] == "[heap without stacks]":
                tree[()] += int(value)
            continue
        for depth in range(len(names) + 1):
            tree[tuple(names[:depth])] += int(value)
    return tree, kinds


rows, trees, shares = ms_print()
wrong = []
if rows != seep_rows():
    wrong.append("the table differs")
frames = 0
for number_, _, total, heap, extra, stacks in rows:
    if not trees[number_]:
        continue
    tree, kinds = seep_tree(number_)
    if +tree != +trees[number_]:
        wrong.append(f"snapshot {number_}: {+tree - trees[number_]} {trees[number_] - tree}")
    if (kinds.get("[extra heap]", 0), kinds.get("[stacks]", 0)) != (extra, stacks) or tree[()] != heap:
        wrong.append(f"snapshot {number_}: {kinds} instead of {heap} {extra} {stacks}")
    for key, said in shares[number_].items():
        frames += 1
        if len(said) == 1 and said[0] != "%05.2f" % (100 * tree[key] / total if total else 0):
            wrong.append(f"snapshot {number_}: {key}: {said[0]} %")
print("\n".join(wrong) or f"{len(rows)} snapshots, {sum(1 for t in trees.values() if t)} trees, {frames} frames")
sys.exit(1 if wrong else 0)
