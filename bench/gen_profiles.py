#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes large heap profiles of a made-up program, for measuring readers of them.

    bench/gen_profiles.py DIR [STACKS [DEPTH]]

DIR/big is a program of 20,000 functions, built with gcc. DIR/big.je.heap (jemalloc's format),
DIR/big.tc.heap (gperftools'), DIR/big.shuffled.heap (the same in an order that nobody sorted) and
DIR/big.pb.gz (pprof's protobuf, with names and lines, as Go writes it) hold STACKS stacks (200000)
of DEPTH frames (40) each. DIR/later.je.heap and DIR/later.pb.gz are the same program some time
later: every tenth stack has one more block of 4096 bytes. Neighbours share most of their outer
frames, as real stacks do; 60,000 addresses occur. The same arguments give the same files. The last
line printed has the totals of big and later, as they are in the files.
"""
import gzip
import os
import random
import subprocess
import sys

FUNCTIONS = 20000
CALLS = (5, 10, 15)  # where in a function the return addresses are
RATE = 524288
MASK = (1 << 64) - 1
MORE_EVERY, MORE_BYTES = 10, 4096
START = 0x400000
SOURCE_LINES = 6  # of a function in big.c


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


def stacks(count, depth):
    """(places, innermost first, blocks, bytes) of each stack; a place is a number below 60,000.
    The outer a frame, the more bits of the stack's number it ignores."""
    bits = max(count - 1, 1).bit_length()
    shifts = [round(bits * (1 - d / max(depth - 1, 1))) for d in range(depth)]
    parts, frames = [-1] * depth, [0] * depth
    for i in range(count):
        for d, shift in enumerate(shifts):
            if parts[d] != i >> shift:
                parts[d] = i >> shift
                frames[depth - 1 - d] = mix(d * 1000003 + parts[d]) % (FUNCTIONS * len(CALLS))
        h = mix(i + 77)
        blocks = 1 + h % 50
        yield tuple(frames), blocks, blocks * (16 << (h >> 8) % 10)


def later(rows):
    return [(frames, blocks + 1, size + MORE_BYTES) if i % MORE_EVERY == 0
            else (frames, blocks, size) for i, (frames, blocks, size) in enumerate(rows)]


def total(rows):
    return "%d: %d" % (sum(r[1] for r in rows), sum(r[2] for r in rows))


def write_jemalloc(path, rows, texts, maps):
    with open(path, "w", encoding="ascii") as out:
        out.write("heap_v2/%d\n  t*: %s [0: 0]\n  t0: %s [0: 0]\n"
                  % (RATE, total(rows), total(rows)))
        for frames, blocks, size in rows:
            out.write("@ %s\n  t*: %d: %d [0: 0]\n  t0: %d: %d [0: 0]\n"
                      % (" ".join([texts[f] for f in frames]), blocks, size, blocks, size))
        out.write(maps)


def write_gperftools(path, rows, texts, maps):
    with open(path, "w", encoding="ascii") as out:
        out.write("heap profile: %s [%s] @ heap_v2/%d\n" % (total(rows), total(rows), RATE))
        for frames, blocks, size in rows:
            out.write("%6d: %8d [%6d: %8d] @ %s\n"
                      % (blocks, size, blocks, size, " ".join([texts[f] for f in frames])))
        out.write(maps)


# ---- pprof's protobuf: profile.proto's field numbers are those in the calls ----

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def number(field, n):
    return varint(field << 3) + varint(n)


def piece(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


class Strings:
    """The table of strings, "" first."""

    def __init__(self):
        self.numbers = {"": 0}

    def __call__(self, text):
        return self.numbers.setdefault(text, len(self.numbers))


def pprof_places(used, addresses, strings):
    """Locations in the order of their ids, then the functions that they are in."""
    out, functions = [], {}
    for identity, place in enumerate(used, 1):
        function, call = divmod(place, len(CALLS))
        line = number(1, functions.setdefault(function, len(functions) + 1))
        line += number(2, 4 + function * SOURCE_LINES + call)
        # an address inside the call, not the one to return to
        out.append(piece(4, number(1, identity) + number(2, 1)
                         + number(3, addresses[function] + CALLS[call] - 1) + piece(4, line)))
    for function, identity in functions.items():
        name = strings("worker_%05d" % function)
        out.append(piece(5, number(1, identity) + number(2, name) + number(3, name)
                         + number(4, strings("big.c"))
                         + number(5, 2 + function * SOURCE_LINES)))
    return out


def write_pprof(path, rows, binary, addresses, end):
    strings, out = Strings(), []
    for name in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"):
        unit = "count" if name.endswith("objects") else "bytes"
        out.append(piece(1, number(1, strings(name)) + number(2, strings(unit))))
    used = list(dict.fromkeys(place for frames, _, _ in rows for place in frames))
    ids = {place: varint(identity) for identity, place in enumerate(used, 1)}
    for frames, blocks, size in rows:
        values = b"".join(map(varint, (3 * blocks, 3 * size, blocks, size)))
        label = number(1, strings("bytes")) + number(3, size // blocks)
        out.append(piece(2, piece(1, b"".join([ids[f] for f in frames])) + piece(2, values)
                         + piece(3, label)))
    mapping = number(1, 1) + number(2, START) + number(3, end)
    mapping += number(5, strings(os.path.realpath(binary)))
    # it has functions, files and lines
    out.append(piece(3, mapping + number(7, 1) + number(8, 1) + number(9, 1)))
    out += pprof_places(used, addresses, strings)
    period = number(1, strings("space")) + number(2, strings("bytes"))
    out += [number(9, 1700000000 * 10 ** 9), piece(11, period), number(12, RATE)]
    out += [piece(6, text.encode()) for text in strings.numbers]
    with open(path, "wb") as f:
        f.write(gzip.compress(b"".join(out), 6, mtime=0))


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    folder = sys.argv[1]
    count, depth = (int(a) for a in (sys.argv[2:] + ["200000", "40"][len(sys.argv) - 2:]))
    os.makedirs(folder, exist_ok=True)
    binary, addresses = build(folder)
    texts = ["%#x" % (address + call) for address in addresses for call in CALLS]
    end = (addresses[-1] + 0x10000) & ~0xFFF
    maps = "\nMAPPED_LIBRARIES:\n%08x-%08x r-xp 00000000 08:01 1  %s\n" % (
        START, end, os.path.realpath(binary))
    rows = list(stacks(count, depth))
    for name, some in (("big", rows), ("later", later(rows))):
        write_jemalloc(os.path.join(folder, name + ".je.heap"), some, texts, maps)
        write_pprof(os.path.join(folder, name + ".pb.gz"), some, binary, addresses, end)
    totals = "big %s  later %s" % (total(rows), total(later(rows)))
    write_gperftools(os.path.join(folder, "big.tc.heap"), rows, texts, maps)
    random.Random(7919).shuffle(rows)
    write_gperftools(os.path.join(folder, "big.shuffled.heap"), rows, texts, maps)
    print(totals)


if __name__ == "__main__":
    main()
