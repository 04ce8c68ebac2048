#!/bin/bash
# SPDX-License-Identifier: MIT
# What programs that nobody here wrote showed, each made small: code without unwind tables
# (node, java), a malloc linked in (rustc), helpers that cannot be followed started by
# vfork (python), a program under another name than its file's (redis-server).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command gcc jq

# shellcheck disable=SC2016 # jq has variables of its own
no_table() {
	local prog
	prog=$(program no_table) || exit
	expect_status 0 "$SEEP" run -o "$TMP/a.rec" --json --log-file "$TMP/a.json" -- "$prog"
	expect_json "frames without a table are left by their records" "$TMP/a.json" '. as $d | [.sites[] |
		[.stack[] | $d.frames[.]] | select(any(.function == "allocate")) |
		[any(.function == "without_table"), any(.function == "below"),
		 any(.function == "main" or .function == "in_thread"), any(.kind == "truncated")]] | unique' \
		'[[true,true,true,false]]'
	expect_json "all three" "$TMP/a.json" '. as $d | [.sites[] | select([.stack[] | $d.frames[.].function] |
		any(. == "allocate"))] | map(.allocated_bytes) | add' 3039
}
no_table

prog=$(program own_malloc) || exit
expect_status 0 "$SEEP" run -o "$TMP/b.rec" -- "$prog"
expect_no_match "no verdict on what cannot be seen" "$err" '^OK|nothing missed|everything freed'
expect_match "the reason" "$err" 'malloc of its own'
expect_status 0 "$SEEP" run -o "$TMP/b.rec" -- sh -c "$prog; true"
expect_no_match "nor as a child" "$err" 'nothing missed'

prog=$(program vfork_foreign) || exit
cat >"$TMP/f.c" <<'END'
int main(void) { return 3; }
END
for how in -static -m32; do
	gcc $how -o "$TMP/foreign" "$TMP/f.c" 2>/dev/null && "$TMP/foreign"
	[ $? -eq 3 ] || continue
	expect_status 0 "$SEEP" run -o "$TMP/c.rec" --log-file "$TMP/c.log" -- "$prog" "$TMP/foreign"
	expect_match "sum, $how" "$out" 'sum 633$'
	expect_between "pages grown, $how" "$(sed -n 's/^grown \([0-9]*\) .*/\1/p' <<<"$out")" 0 2
	expect_json "counted, $how" <("$SEEP" report --json "$TMP/c.rec") '[.processes[].lost.exec] | add' 212
done

ln -s "$(type -P ls)" "$TMP/other-name"
expect_status 0 "$SEEP" run -o "$TMP/d.rec" --log-file "$TMP/d.log" -- sh -c "$TMP/other-name /dev/null; exit 0"
expect_status 0 "$SEEP" report --process other-name "$TMP/d.rec"
expect_status 0 "$SEEP" report --process ls "$TMP/d.rec"
