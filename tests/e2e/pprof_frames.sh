#!/bin/bash
# SPDX-License-Identifier: MIT
# What a profile of pprof's says about itself: frames to drop, its duration, build-ids
# that are not hexadecimal, labels in a unit of the user's choice, frames without names;
# and a program at fixed addresses that is not there when its profile is converted. With
# Go's pprof at hand its output is compared byte by byte.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
export HOME=$TMP PPROF_TMPDIR=$TMP PPROF_BINARY_PATH=/nonexistent TZ=UTC
cd "$TMP" || exit

cat >make.py <<'EOF'
import gzip
def vi(x):
    o = b""
    while x > 127:
        o, x = o + bytes([x & 127 | 128]), x >> 7
    return o + bytes([x])
I = lambda n, x: vi(n << 3) + vi(x)
L = lambda n, b: vi(n << 3 | 2) + vi(len(b)) + b
strings = {"": 0}
T = lambda s: strings.setdefault(s, len(strings))
out = b""
for name, unit in (("inuse_objects", "count"), ("inuse_space", "bytes")):
    out += L(1, I(1, T(name)) + I(2, T(unit)))
# stacks, innermost first: 1 = malloc below inlined pool_get in grow; 2 = main; 3 has no
# name, 4 neither name nor file
for locs, values in (((1, 2), (7, 7168)), ((1, 3), (3, 9216)), ((4, 2), (2, 4194304)), ((5, 1), (5, 640))):
    out += L(2, L(1, b"".join(map(vi, locs))) + L(2, b"".join(map(vi, values))) +
             L(3, I(1, T("bytes")) + I(3, values[1] // values[0])))
out += L(3, I(1, 1) + I(3, 2**64 - 1) + I(5, T("/nowhere/app")) + I(6, T("go/build/id-of_ours")))
out += L(3, I(1, 2) + I(3, 2**64 - 1))
line = lambda f, n: L(4, I(1, f) + I(2, n))
out += L(4, I(1, 1) + I(2, 1) + I(3, 0x1100) + line(1, 10) + line(2, 20) + line(3, 30))
out += L(4, I(1, 2) + I(2, 1) + I(3, 0x1200) + line(4, 40))
out += L(4, I(1, 3) + I(2, 1) + I(3, 0x1300))
out += L(4, I(1, 4) + I(2, 2) + I(3, 0x9400))
out += L(4, I(1, 5) + I(2, 1) + I(3, 0x1500) + line(5, 50))
for i, name in enumerate(("inside_malloc", "malloc", "grow", "main", "hook"), 1):
    out += L(5, I(1, i) + I(2, T(name)) + I(3, T(name)) + I(4, T(name + ".c")))
out += I(7, T("malloc")) + I(10, 90 * 10**9) + L(11, I(1, T("space")) + I(2, T("bytes"))) + I(12, 1)
out += b"".join(L(6, s.encode()) for s in strings)
open("app.pb.gz", "wb").write(gzip.compress(out, mtime=0))
EOF
/usr/bin/python3 make.py

# same OPTION...: compared with Go's pprof, if that is there.
same() {
	run "$SEEP" pprof "$@" app.pb.gz
	have go || return
	go tool pprof -symbolize=none "$@" app.pb.gz >peer 2>/dev/null
	expect_eq "as Go's pprof: $*" "$out" "$(cat peer)"
}
same -traces
expect_match "traces: a build-id that is not hexadecimal" "$out" '^Build ID: go/build/id-of_ours$'
expect_match "traces: how long" "$out" '^Duration: 90s, Total samples = 4\.02MB $'
expect_no_match "traces: dropped frames" "$out" 'malloc'
expect_match "traces: the caller of what is dropped" "$out" '^ +7kB +grow$'
expect_match "traces: a frame without a name" "$out" '^ +\[app\]$'
expect_match "traces: a frame of no file" "$out" ' 4MB   <unknown>$'
same -traces -addresses
expect_match "traces: addresses" "$out" ' 0000000000009400 <unknown>$'
same -traces -lines
run "$SEEP" pprof -traces -all_frames app.pb.gz
expect_match "all frames: what is dropped else" "$out" '^ +7kB +inside_malloc \(inline\)$'
same -top -nodefraction=0
expect_match "top: how long" "$out" '^Duration: 90s'
expect_match "top: a row for a module" "$out" ' \[app\]$'
expect_match "top: a row for nothing" "$out" ' <unknown>$'
same -top -nodefraction=0 -addresses
same -top -compact_labels
expect_no_match "compact: no lines about the profile" "$out" 'Build ID|Type:|Duration'
expect_match "compact: a table" "$out" '^Showing nodes'
same -tags
same -tags -unit=kB
expect_match "tags: in the unit that was asked for" "$out" ': 2048kB$'
run "$SEEP" convert app.pb.gz again.pb.gz
expect_match "the build-id goes with the profile" "$("$SEEP" pprof -traces again.pb.gz)" '^Build ID: go/build/id-of_ours$'

# ---- the program is elsewhere when its profile is converted, and names its addresses
# later
cat >fixed.c <<'EOF'
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) void *fixed_place(void) { void *p = malloc(5003); __asm__ volatile("" ::"r"(p)); return p; }
int main(void) { kept = fixed_place(); return 0; }
EOF
if gcc -g -O1 -no-pie -fno-pie -o fixed fixed.c 2>/dev/null; then
	run env LD_PRELOAD="$LIBSEEP" HEAPPROFILE="$TMP/fixed.prof" ./fixed
	mv fixed elsewhere
	run "$SEEP" convert fixed.prof.0001.heap fixed.pb.gz
	expect_status 0
	expect_match "at fixed addresses, named later" "$("$SEEP" pprof -top elsewhere fixed.pb.gz 2>&1)" ' fixed_place$'
	expect_match "and by Go's addresses" "$("$SEEP" pprof -raw fixed.pb.gz)" ' 0x4[0-9a-f]{5} M=1'
else
	left_out "no compiler for fixed addresses"
fi
