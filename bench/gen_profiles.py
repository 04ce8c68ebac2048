#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes large heap profiles of a made-up program, for measuring readers of them.

    bench/gen_profiles.py DIR [STACKS [DEPTH]]

DIR/big is a program of 20,000 functions, built with gcc. DIR/big.je.heap (jemalloc's format),
DIR/big.tc.heap (gperftools') and DIR/big.shuffled.heap (the same in an order that nobody sorted)
hold STACKS stacks (200000) of DEPTH frames (40) each. Neighbours share most of their outer
frames, as real stacks do; 60,000 addresses occur. The same arguments give the same files.
"""
import os
import random
import subprocess
import sys

FUNCTIONS = 20000
CALLS = (5, 10, 15)  # where in a function the return addresses are
RATE = 524288
MASK = (1 << 64) - 1


def build(folder):
    """The program, and the addresses of its functions."""
    source, binary = (os.path.join(folder, name) for name in ("big.c", "big"))
    with open(source, "w", encoding="ascii") as out:
        out.write("volatile int g;\n")
        for i in range(FUNCTIONS):
            out.write("__attribute__((noinline)) void worker_%05d(int x)\n{\n"
                      "\tg += x;\n\tg ^= x * %d;\n\tg += 3;\n}\n" % (i, i))
        out.write("int main(int argc, char **argv)\n{\n\t(void)argv;\n"
                  "\tworker_00000(argc);\n\treturn 0;\n}\n")
    subprocess.run(["gcc", "-g", "-O1", "-no-pie", "-o", binary, source], check=True)
    table = subprocess.run(["nm", binary], check=True, capture_output=True, text=True).stdout
    fields = (line.split() for line in table.splitlines())
    return binary, sorted(int(f[0], 16) for f in fields
                          if len(f) == 3 and f[2].startswith("worker_"))


def mix(x):
    x = x * 0x9E3779B97F4A7C15 & MASK
    x ^= x >> 29
    x = x * 0xBF58476D1CE4E5B9 & MASK
    return x ^ x >> 32


def stacks(count, depth, addresses):
    """(text of the addresses, blocks, bytes) of each stack. The outer a frame, the more bits
    of the stack's number it ignores."""
    bits = max(count - 1, 1).bit_length()
    places = [address + call for address in addresses for call in CALLS]
    shifts = [round(bits * (1 - d / max(depth - 1, 1))) for d in range(depth)]
    for i in range(count):
        frames = [places[mix(d * 1000003 + (i >> shift)) % len(places)]
                  for d, shift in enumerate(shifts)]
        h = mix(i + 77)
        blocks = 1 + h % 50
        yield " ".join("%#x" % a for a in reversed(frames)), blocks, blocks * (16 << (h >> 8) % 10)


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    folder = sys.argv[1]
    count, depth = (int(a) for a in (sys.argv[2:] + ["200000", "40"][len(sys.argv) - 2:]))
    os.makedirs(folder, exist_ok=True)
    binary, addresses = build(folder)
    rows = list(stacks(count, depth, addresses))
    total = "%d: %d" % (sum(r[1] for r in rows), sum(r[2] for r in rows))
    end = (addresses[-1] + 0x10000) & ~0xFFF
    maps = "\nMAPPED_LIBRARIES:\n00400000-%08x r-xp 00000000 08:01 1  %s\n" % (
        end, os.path.realpath(binary))
    with open(os.path.join(folder, "big.je.heap"), "w", encoding="ascii") as out:
        out.write("heap_v2/%d\n  t*: %s [0: 0]\n  t0: %s [0: 0]\n" % (RATE, total, total))
        for text, blocks, size in rows:
            out.write("@ %s\n  t*: %d: %d [0: 0]\n  t0: %d: %d [0: 0]\n"
                      % (text, blocks, size, blocks, size))
        out.write(maps)
    for name in ("big.tc.heap", "big.shuffled.heap"):
        with open(os.path.join(folder, name), "w", encoding="ascii") as out:
            out.write("heap profile: %s [%s] @ heap_v2/%d\n" % (total, total, RATE))
            for text, blocks, size in rows:
                out.write("%6d: %8d [%6d: %8d] @ %s\n" % (blocks, size, blocks, size, text))
            out.write(maps)
        random.Random(7919).shuffle(rows)


if __name__ == "__main__":
    main()
