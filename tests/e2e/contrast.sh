#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# What tells the lost blocks of a line from the freed ones is said when it is clear:
# callers, threads, sizes.
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

# Two lines of one function call strdup: the figures are those of the line that is shown,
# not of all of strdup's callers.
cat >cfg.c <<'END'
#include <stdlib.h>
#include <string.h>
static void load(int i)
{
	char *volatile name = strdup("a name");
	char *volatile value = strdup(i % 5 == 0 ? "a value that is too long to be good" : "short");
	free(name);
	if (strlen(value) > 20) { value = NULL; return; }
	free(value);
}
int main(void) { for (int i = 0; i < 500; i++) load(i); return 0; }
END
"${CC:-gcc}" -O0 -g -o cfg cfg.c || exit
run "$SEEP" run -o cfg.rec ./cfg
expect_match "strdup: the row" "$err" '^ 1 .* 100 blocks, 400 freed$'
expect_match "strdup: the same figures" "$err" '^    lost only at sizes of 33–64 B \(100 of 100\); freed at sizes of 1–16 B \(400 of 400\)$'
"$SEEP" report --json cfg.rec >"$TMP/json"
expect_json "strdup in JSON" "$TMP/json" '[.sites[] | select(.lost_when != null) | .lost_when | [.by, .lost.blocks, .lost.of, .freed.blocks, .freed.of]]' \
	'[["size",100,100,400,400]]'
