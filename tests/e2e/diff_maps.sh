#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep diff` of memory maps that pmap or the kernel printed: which region grew, by how
# much.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_watch.sh"
need_seep
need_command jq

# Made by hand: the heap grows by 300 KiB, a mapping moves its start down and grows by 16,
# a new one of 64 comes, one of 20 goes.
cat >"$TMP/1.txt" <<'END'
4711:   ./api-server --port 80
Address           Kbytes     RSS   Dirty Mode  Mapping
0000563061584000       8       8       0 r-x-- api-server
0000563061586000       4       4       4 rw--- api-server
0000563061590000    1000     700     700 rw---   [ anon ]
00007f0000010000     100      40      40 rw---   [ anon ]
00007f0000100000      20      20      20 rw---   [ anon ]
00007f0000200000     256     116       0 r-x-- libc.so.6
00007fff746c9000     132      12      12 rw---   [ stack ]
---------------- ------- ------- ------- 
total kB            1520     900     776
END
cat >"$TMP/2.txt" <<'END'
4711:   ./api-server --port 80
Address           Kbytes     RSS   Dirty Mode  Mapping
0000563061584000       8       8       0 r-x-- api-server
0000563061586000       4       4       4 rw--- api-server
0000563061590000    1300    1000    1000 rw---   [ anon ]
00007f000000c000     116      56      56 rw---   [ anon ]
00007f0000080000      64      64      64 rw---   [ anon ]
00007f0000200000     256     116       0 r-x-- libc.so.6
00007fff746c9000     132      12      12 rw---   [ stack ]
---------------- ------- ------- ------- 
total kB            1880    1260    1136
END
touch -d '2026-01-02 10:00:00' "$TMP/1.txt"
touch -d '2026-01-02 10:15:00' "$TMP/2.txt"
cd "$TMP" || exit
expect_status 0 "$SEEP" diff 1.txt 2.txt
cat >"$TMP/wanted" <<'END'
GROWING  RSS 900 KiB → 1.23 MiB (+360 KiB, +40 %) in 15 min, by the files' times: +24.0 KiB/min
  growth       before → after         region
  +300 KiB    700 KiB → 1000 KiB     heap
  +64.0 KiB   0 B → 64.0 KiB         mapping@7f0000080000  NEW
  +16.0 KiB   40.0 KiB → 56.0 KiB    mapping@7f000000c000
  −20.0 KiB   20.0 KiB → 0 B         mapping@7f0000100000  GONE
1.txt (pmap -x) and 2.txt (pmap -x)
next: seep watch 4711, or seep dump 4711 heap
END
expect_file "text" "$TMP/out" "$TMP/wanted"
expect_status 0 "$SEEP" diff --json 1.txt 2.txt
expect_json "JSON: growth" out '[.regions[].growth_bytes / 1024 | select(. != 0)]' '[300,64,16,-20]'
expect_json "JSON: seconds" out .seconds 900
expect_json "JSON: verdict" out '[.verdict, .severity]' '["GROWING","warning"]'
expect_status 0 "$SEEP" diff --base 1.txt 2.txt
expect_match "--base" "$out" '^GROWING  RSS 900 KiB'
expect_status 0 "$SEEP" diff 2.txt 1.txt
expect_match "the other way, without times" "$out" '^STEADY  RSS 1.23 MiB → 900 KiB \(−360 KiB, −29 %\)$'
expect_status 0 "$SEEP" diff -n 1 1.txt 2.txt
expect_match "rows" "$out" '^  3 more regions, net \+60\.0 KiB \(--all\)$'

# Cut off, of another process, something else.
head -n 5 1.txt >cut.txt
expect_status 0 "$SEEP" diff cut.txt 2.txt
expect_match "not complete" "$out" '; cut.txt is not complete$'
sed 's/^4711:/4712:/' 2.txt >other.txt
expect_status 0 "$SEEP" diff 1.txt other.txt
expect_match "another process" "$out" 'of different processes: 4711 and 4712'
expect_status 3 "$SEEP" diff 1.txt wanted
expect_match "no map" "$err" '^seep: wanted: not a memory map, as 1.txt is'
sed '4s/.*/nonsense/' 2.txt >bad.txt
expect_status 3 "$SEEP" diff 1.txt bad.txt
expect_match "bad line" "$err" '^seep: bad.txt: line 4: not a line of pmap -x$'
printf '4711:   x\n0000563061584000      8K r---- sleep\n total 8K\n' >plain.txt
expect_status 3 "$SEEP" diff plain.txt 2.txt
expect_match "pmap without -x" "$err" '^seep: plain.txt: has no resident sizes; save pmap -x PID$'

# The real ones, of a process that does not move: they all say the same.
if have pmap; then
	prog=$(program watch_parts) || exit
	target "$prog" 3
	stop_target
	pmap -x "$pid" >x.txt
	pmap -X "$pid" >X.txt
	pmap -XX "$pid" >XX.txt
	cat "/proc/$pid/smaps" >s.txt
	rss=$(awk '/^Rss:/ { print $2 }' "/proc/$pid/smaps_rollup")
	expect_status 0 "$SEEP" diff --json x.txt X.txt XX.txt s.txt
	expect_json "four forms" out '[.files[].form] | join(",")' 'pmap -x,pmap -X,pmap -X,smaps'
	expect_json "one RSS" out '[.files[].rss_bytes / 1024] | unique' "[$rss]"
	end_target
fi
