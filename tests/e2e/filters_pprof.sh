#!/bin/bash
# SPDX-License-Identifier: MIT
# Filters, grains and order are pprof's: the same profile through `go tool pprof -top` and
# through `seep report --top`, row for row. Stacks recurse, share locations and have
# inlined functions; figures are drawn from a fixed seed and large enough not to be equal
# by accident.
. "$(dirname "$0")/lib.sh"
need_seep
need_command go python3 jq

cd "$TMP" || exit
cat >make.py <<'END'
import gzip
import random

random.seed(4711)


def varint(x):
    out = b""
    while x > 127:
        out += bytes([x & 127 | 128])
        x >>= 7
    return out + bytes([x])


def field(n, data):
    return varint(n << 3 | 2) + varint(len(data)) + data


def number(n, x):
    return varint(n << 3) + varint(x)


strings = {"": 0}


def text(s):
    return strings.setdefault(s, len(strings))


out = b""
for name in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"):
    out += field(1, number(1, text(name)) + number(2, text("count" if "obj" in name else "bytes")))
FUNCTIONS, LOCATIONS, STACKS = 60, 150, 700
for i in range(1, 4):
    out += field(3, number(1, i) + number(2, i << 20) + number(3, (i + 1) << 20) +
                 number(5, text(f"/usr/lib/lib{'xyz'[i - 1]}.so")) + number(7, 1) + number(8, 1) + number(9, 1))
for i in range(1, FUNCTIONS + 1):
    name = text(f"ns::work_{i:02d}" if i % 3 else f"(anonymous namespace)::op_{i:02d}(int)")
    out += field(5, number(1, i) + number(2, name) + number(3, name) +
                 number(4, text(f"/src/file_{i % 7}.c")) + number(5, 1))
for i in range(1, LOCATIONS + 1):
    mapping = 1 + i % 3
    lines = b"".join(field(4, number(1, random.randint(1, FUNCTIONS)) + number(2, random.randint(1, 40)))
                     for _ in range(random.choice((1, 1, 1, 2, 3))))
    out += field(4, number(1, i) + number(2, mapping) + number(3, (mapping << 20) + 16 * i) + lines)
for i in range(STACKS):
    depth = random.randint(1, 14)
    stack = [1 + int(random.random() ** 2 * LOCATIONS) for _ in range(depth)]
    count, size = random.randint(1, 97), random.choice((16, 48, 1024, 4096, 65536))
    labels = field(3, number(1, text("bytes")) + number(3, size))
    if i % 4 == 0:
        labels += field(3, number(1, text("kind")) + number(2, text(("fast", "slow", "fast and slow")[i % 3])))
    out += field(2, field(1, b"".join(map(varint, stack))) +
                 field(2, b"".join(map(varint, (3 * count, 3 * count * size + 3 * i, count, count * size + i)))) + labels)
for s in strings:
    out += field(6, s.encode())
open("p.pb.gz", "wb").write(gzip.compress(out))
END
cat >compare.py <<'END'
import json
import re
import subprocess
import sys

seep, *words = sys.argv[1:]
plain = [w for w in words if w != "-noinlines"]
go = subprocess.run(["go", "tool", "pprof", "-top", "-nodefraction=0", "-symbolize=none", "-unit=B", *words, "p.pb.gz"],
                    capture_output=True, text=True)
row = re.compile(r"\s*(-?[\d.]+)B?\s+\S+\s+\S+\s+(-?[\d.]+)B?\s+\S+\s+(.*)")
wanted = [(float(m[1]), float(m[2]), re.sub(r" \((partial-)?inline\)$", "", m[3]).replace("/src/", ""))
          for m in map(row.fullmatch, go.stdout.splitlines()) if m]
ours = ["--" + w[1:] for w in plain] + (["--no-inlines"] if "-noinlines" in words else [])
got = subprocess.run([seep, "report", "--top", "--json", "--no-skip", *ours, "p.pb.gz"], capture_output=True, text=True)
rows = [(float(r["flat"]), float(r["cum"]), r["name"]) for r in json.loads(got.stdout)["rows"]]
if go.returncode != 0 and "matched no" not in go.stderr + go.stdout:
    print("pprof:", go.stderr)
for a, b in zip(sorted(wanted), sorted(rows)):
    if a != b:
        print("pprof has", a, "seep", b)
        break
if len(rows) != len(wanted):
    print("pprof has", len(wanted), "rows, seep", len(rows))
elif rows != wanted and sorted(rows) == sorted(wanted):
    print("another order")
print(len(wanted), "rows")
END
python3 make.py
compared=0
same() {
	local got
	got=$(python3 compare.py "$SEEP" "$@" 2>&1)
	if [[ $got =~ ^([0-9]+)\ rows$ ]]; then
		pass
		compared=$((compared + BASH_REMATCH[1]))
	else
		fail "pprof $*" "$got"
	fi
}
export HOME=$TMP PPROF_TMPDIR=$TMP PPROF_BINARY_PATH=/nonexistent
same
same -cum
same -lines
same -noinlines
same -lines -noinlines -cum
same -sample_index=alloc_objects
same -sample_index=alloc_space -cum
same -focus='work_0'
same -ignore='work_1'
same -focus='work_2' -ignore='op_'
same -focus='file_3'
same -focus='libx'
same -ignore='libz' -lines
same -hide='work_.[02468]'
same -hide='liby'
same -show='op_|work_5'
same -show='libz' -lines
same -show_from='work_0'
same -show_from='file_2'
same -show_from='libx'
same -prune_from='work_1'
same -prune_from='op_0.$'
same -prune_from='work_[13]' -lines
same -tagfocus='bytes=1kb:4kb'
same -tagfocus='4kb:'
same -tagignore=':48b'
same -tagfocus='bytes=16'
same -tagfocus='kind=fast'
same -tagfocus='kind:fast,slow'
same -tagignore='slow'
same -focus='work_' -ignore='work_4' -hide='op_1' -show='file_[0-4]' -show_from='work_[0-3]' -prune_from='_2' -tagfocus='16b:4kb'
# Labels as frames, which pprof names by the value alone: byte for byte by its own name.
same_bytes() {
	go tool pprof -symbolize=none "$@" p.pb.gz >peer 2>/dev/null
	"$SEEP" pprof "$@" p.pb.gz >ours 2>/dev/null
	compared=$((compared + $(wc -l <peer)))
	if [ -s peer ] && cmp -s peer ours; then pass; else fail "pprof $*" "$(diff peer ours | head -n 6)"; fi
}
same_bytes -top -tagroot=kind
same_bytes -top -tagroot=bytes,kind -cum -nodefraction=0
same_bytes -tree -tagleaf=kind -lines -nodecount=20
same_bytes -top -tagroot=nosuch -tagleaf=kind,bytes -focus='work_0' -ignore='fast and slow' -nodefraction=0
same_bytes -top -tagroot=kind -show_from='slow'
same_bytes -traces -tagroot=kind -tagleaf=bytes
same_bytes -peek='^fast$' -tagroot=kind
# By our own: the same figures, under the label's name.
run "$SEEP" report --top --json --no-skip --tagroot kind,nosuch p.pb.gz
for value in fast slow 'fast and slow'; do
	expect_eq "kind=$value" "$(jq -r --arg n "kind=$value" '.rows[] | select(.name == $n) | .cum' out)" \
		"$(go tool pprof -top -tagroot=kind -nodefraction=0 -symbolize=none -unit=B p.pb.gz 2>/dev/null |
			sed -n "s/^ *[0-9.]*B* *[^ ]* *[^ ]* *\\([0-9]*\\)B *[^ ]*  $value\$/\\1/p")"
done
expect_json "no label, and none at all" out \
	'[(.rows[] | select(.name == "(no nosuch)") | .cum) == .total, ([.rows[] | select(.name == "(no kind)")] | length), .unmatched]' \
	'[true,1,[]]'
run "$SEEP" report --top --tagleaf nosuch p.pb.gz
expect_match "met nothing" "$out" '^# --tagleaf nosuch matched nothing$'
expect_between "rows compared" "$compared" 1000 100000
