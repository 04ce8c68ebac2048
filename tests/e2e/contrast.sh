#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# What tells the lost blocks of a line from the freed ones is said when it is clear: callers, threads, sizes.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
prog=$(program error_path) || exit
cd "$TMP" || exit
cp "$prog" ./http

for what in caller threads sizes mixed; do
	show "$SEEP" run -o a.rec ./http $what
	show env COLUMNS=80 "$SEEP" report a.rec
	expect_eq "$what: 80 columns" "$(grep -E '.{81}' <<<"$out")" ''
	# Blocks of threads are counted to 4 KiB each.
	expect_shown "$what" "contrast/$what.txt" 's/peak [0-9.]+ KiB \(within/peak SIZE (within/'
	"$SEEP" report --json a.rec >"$TMP/json"
	case $what in
	caller)
		expect_json "caller in JSON" "$TMP/json" '.frames as $f | .sites[0].lost_when
			| [.by, .only, .lost.blocks, .lost.of, $f[.lost.frame].function, .freed.blocks, .freed.of, $f[.freed.frame].function]' \
			'["caller",true,40,40,"handle_error",1203,1203,"handle_ok"]'
		;;
	threads)
		expect_json "threads in JSON" "$TMP/json" '[.sites[] | select(.lost_when != null)][0].lost_when
			| [.by, .lost.blocks, .lost.thread, .freed.blocks, .freed.thread]' '["thread",50,"careless",50,"careful"]'
		;;
	sizes)
		expect_json "sizes in JSON" "$TMP/json" '.sites[0].lost_when | [.by, .lost.over_bytes, .lost.max_bytes, .freed.max_bytes]' \
			'["size",4096,8192,128]'
		;;
	mixed) expect_json "no rule" "$TMP/json" '.sites[0].lost_when' null ;;
	esac
done
