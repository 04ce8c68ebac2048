#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep dump`: the bytes that are in the process, its strings and its hex as others print
# them, the classes of its objects, and nothing of its contents unless asked.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_watch.sh"
need_seep
need_command jq
prog=$(program dump_objects) || exit
stripped=$TMP/dump_objects
strip -o "$stripped" "$prog"

target "$stripped"
stop_target
heap=$(awk '/\[heap\]/ { print $1 }' "/proc/$pid/maps")
start=$((16#${heap%-*}))
end=$((16#${heap#*-}))

expect_status 0 "$SEEP" dump "$pid" heap -o "$TMP/heap.bin"
dd if="/proc/$pid/mem" of="$TMP/dd.bin" bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) 2>/dev/null
if cmp "$TMP/heap.bin" "$TMP/dd.bin"; then pass; else fail "the same bytes as in /proc/PID/mem"; fi
expect_eq "for the owner only" "$(stat -c %a "$TMP/heap.bin")" 600

# Objects, of a stripped program, by what it says of itself.
expect_match "Session" "$out" '^ +1,009 x +88 bytes +86\.7 KiB  class Session$'
expect_match "template" "$out" '^ +101 x +104 bytes +10\.3 KiB  class ns::Cache<int>$'
expect_match "distance" "$out" '1,009 x class Session, mostly every 96 bytes'
expect_match "plain structs" "$out" '^ +211 x +504 bytes '
expect_match "masked" "$out" '^ +[0-9]+ x  xxxx-999@xxxxxxx\.xxx$'
expect_no_match "nothing of the contents" "$out" 'example|user-'
expect_status 0 "$SEEP" dump "$pid" heap --json
expect_json "JSON" "$TMP/out" '[.blocks[] | select(.class == "class Session") | .used] | add' 1009
expect_json "JSON is masked" "$TMP/out" '[.texts[].text | select(test("user|example"))] | length' 0
expect_status 0 "$SEEP" dump "$pid" heap --show-content
expect_match "shown when asked" "$out" 'user-[0-9]+@example\.com'

# A long string fits a line, unless its content was asked for.
long=$(printf 'a%.0s' {1..200})
printf '%s' "$long" >"$TMP/long"
expect_status 0 "$SEEP" dump "$TMP/long"
expect_match "cut when masked" "$out" '^ +1 x  x{60} \.\.\. \(200 bytes\)$'
expect_status 0 "$SEEP" dump --show-content "$TMP/long"
expect_match "whole when shown" "$out" "^ +1 x  $long\$"

# The same places by address, by range and by name.
expect_status 0 "$SEEP" dump "$pid" "0x$(printf %x $((start + 5000)))" --json
expect_json "by address" "$TMP/out" .start "$(printf '0x%x' "$start")"
expect_status 0 "$SEEP" dump "$pid" "$(printf '%x-%x' $((start + 16)) $((start + 4096)))" -o "$TMP/part.bin"
expect_eq "part of a page" "$(stat -c %s "$TMP/part.bin")" 4080
tail -c +17 "$TMP/dd.bin" | head -c 4080 >"$TMP/part.dd"
if cmp "$TMP/part.bin" "$TMP/part.dd"; then pass; else fail "the part's bytes"; fi
expect_status 0 "$SEEP" dump "$pid" stack
expect_match "stack" "$out" "^stack of $pid \("

# ---- as strings and hexdump have it ----

if have strings; then
	strings -t x "$TMP/heap.bin" >"$TMP/strings"
	"$SEEP" dump "$TMP/heap.bin" --strings --show-content >"$TMP/ours"
	expect_file "as strings -t x" "$TMP/ours" "$TMP/strings"
	strings -t x -n 12 "$TMP/heap.bin" >"$TMP/strings"
	"$SEEP" dump "$TMP/heap.bin" --strings --show-content --least 12 >"$TMP/ours"
	expect_file "as strings -n 12" "$TMP/ours" "$TMP/strings"
fi
if have hexdump; then
	hexdump -C "$TMP/heap.bin" >"$TMP/hex"
	"$SEEP" dump "$TMP/heap.bin" --hex --show-content >"$TMP/ours"
	expect_file "as hexdump -C" "$TMP/ours" "$TMP/hex"
fi
expect_status 0 "$SEEP" dump "$pid" heap --strings
expect_eq "masked strings" "$(grep -c 'xxxx-999@xxxxxxx.xxx$' <<<"$out")" 900
expect_no_match "no contents in strings" "$out" 'example'
expect_status 0 "$SEEP" dump "$pid" heap --hex
expect_no_match "no contents in hex" "$out" 'user|example|75 73 65 72'
expect_status 0 "$SEEP" dump "$TMP/heap.bin"
expect_match "a file" "$out" '^pointers: [0-9,]+ words look like pointers'

# ---- errors ----

expect_status 3 "$SEEP" dump "$pid" nonsense
expect_match "no such region" "$err" "^seep: $pid has no region \"nonsense\"; their names are in: seep watch $pid --count 1 --all$"
expect_status 3 "$SEEP" dump "$pid" 10-20
expect_match "nothing there" "$err" "^seep: $pid: nothing is mapped at 10-20$"
expect_status 2 "$SEEP" dump "$pid"
expect_match "which region" "$err" "^seep dump: $pid is not a file; of a process, name a region, too"
expect_status 2 "$SEEP" dump "$pid" heap --strings --hex
expect_status 3 "$SEEP" dump 999999999 heap
end_target
