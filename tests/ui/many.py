#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Folded stacks for a test of size: many.py STACKS DEPTH [SEED].

Stacks share their outer frames as those of programs do: half of them the first frame, a quarter
the first few, and so on. Figures and names depend on the arguments alone.
"""
import math
import sys

STACKS, DEPTH = int(sys.argv[1]), int(sys.argv[2])
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 0
MASK = (1 << 64) - 1


def mix(x):
    x = (x * 0x9E3779B97F4A7C15) & MASK
    x ^= x >> 29
    x = (x * 0xBF58476D1CE4E5B9) & MASK
    return x ^ (x >> 32)


def main():
    bits = math.ceil(math.log2(STACKS))
    shifts = [round(bits * (1 - d / (DEPTH - 1))) for d in range(DEPTH)]
    out = []
    for i in range(STACKS):
        frames = [f"ns::f{mix(d * 1000003 + (i >> s)) % 20000}" for d, s in enumerate(shifts)]
        out.append(";".join(frames) + f" {16 << (mix(i + 77 + SEED) % 10)}")
    print("\n".join(out))


main()
