#!/bin/bash
# SPDX-License-Identifier: MIT
# Mangled names in pprof files: C++ and both of Rust's become short names, what the file
# calls a function's name besides is left alone, and the system's name is there again in
# what is written.
. "$(dirname "$0")/lib.sh"
need_seep
need_command /usr/bin/python3 jq
cd "$TMP" || exit

cat >make.py <<'END'
import gzip


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


# (name, system name): the stack of sample i is function i below main
FUNCTIONS = [
    ("main", "main"),
    ("_ZN2ns3putIiEEvRKT_", "_ZN2ns3putIiEEvRKT_"),        # both the same
    ("_ZN2ns3putIlEEvRKT_", ""),                             # no other
    ("", "_ZN2ns5Cache4fillEv"),                             # no name
    ("fill it", "_ZN2ns5Cache5emptyEv"),                     # one that somebody made
    ("_ZN5alloc7raw_vec6finish17h0123456789abcdefE", ""),    # Rust, legacy
    ("_RNvCs1234_7mycrate3foo", ""),                         # Rust, v0
    ("_Znot_mangled", "_Znot_mangled"),
    ("_start_here", ""),
]
out = field(1, number(1, text("inuse_objects")) + number(2, text("count")))
out += field(1, number(1, text("inuse_space")) + number(2, text("bytes")))
for i, (name, system) in enumerate(FUNCTIONS, 1):
    out += field(5, number(1, i) + number(2, text(name)) + number(3, text(system)))
    out += field(4, number(1, i) + number(3, 4096 + 16 * i) + field(4, number(1, i)))
for i in range(2, len(FUNCTIONS) + 1):
    out += field(2, field(1, varint(i) + varint(1)) + field(2, varint(1) + varint(1000 + i)))
for s in strings:
    out += field(6, s.encode())
open("p.pb.gz", "wb").write(gzip.compress(out))
END
/usr/bin/python3 make.py

want='_Znot_mangled 1008
_start_here 1009
alloc::raw_vec::finish 1006
fill it 1005
main 0
mycrate::foo 1007
ns::Cache::fill 1004
ns::put<int> 1002
ns::put<long> 1003'
names() { jq -r '.rows[] | "\(.name) \(.flat)"' "$1" | sort; }
run "$SEEP" report --top --json p.pb.gz
expect_eq "status" "$status $err" "0 "
expect_eq "short names" "$(names out)" "$want"
# Written again: the short name is the name, the mangled one the system's.
run "$SEEP" convert p.pb.gz again.pb.gz
expect_eq "written: status" "$status" 0
gzip -dc again.pb.gz >again.pb
for name in _ZN2ns3putIiEEvRKT_ _ZN2ns3putIlEEvRKT_ _ZN2ns5Cache5emptyEv _RNvCs1234_7mycrate3foo 'ns::put<int>' 'fill it'; do
	expect_eq "written: $name" "$(grep -aoF "$name" again.pb | wc -l)" 1
done
run "$SEEP" report --top --json again.pb.gz
expect_eq "read again" "$(names out)" "$want"
# The tree and filters know the short names; a difference finds nothing changed.
run "$SEEP" report --top --focus '^ns::put<int>$' p.pb.gz
expect_match "filter" "$out" 'ns::put<int>$'
run "$SEEP" diff --json p.pb.gz again.pb.gz
expect_json "difference" out '[.verdict, ([.places[] | select(.change != 0)] | length)]' '["STEADY",0]'

# By pprof's name the rows are pprof's: without parameters and template arguments.
run "$SEEP" pprof -top -nodefraction=0 p.pb.gz
expect_match "as pprof: C++" "$out" ' ns::put$'
if have go; then
	export HOME=$TMP PPROF_BINARY_PATH=/nonexistent
	go tool pprof -top -nodefraction=0 p.pb.gz >peer 2>/dev/null
	# It takes an empty system name for a sign that the name needs nothing: the three
	# of these, and no others.
	printf '%s\n' "$out" >ours
	rows() { awk '/^ *[0-9]+B? / { print $1, $4, $6, $7 }' "$1" | sort; }
	expect_eq "as pprof: rows that both have" "$(comm -12 <(rows ours) <(rows peer) | wc -l)" 5
	expect_eq "names without a system name" "$(comm -23 <(rows ours) <(rows peer) | tr -s ' ' | sed 's/ $//')" \
		"1006B 1006B alloc::raw_vec::finish
1007B 1007B mycrate::foo
2005B 2005B ns::put"
	expect_eq "the same by pprof" "$(comm -13 <(rows ours) <(rows peer) | sed 's/ $//')" \
		"1002B 1002B ns::put
1003B 1003B _ZN2ns3putIlEEvRKT_
1006B 1006B _ZN5alloc7raw_vec6finish17h0123456789abcdefE
1007B 1007B _RNvCs1234_7mycrate3foo"
else
	left_out "no go here: not compared with its pprof"
fi
