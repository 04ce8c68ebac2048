# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Cases of tests/programs/leak_* over another allocator than glibc's: the figures are the
# same.

# seep_over PROGRAM NAME PATH: leaves NAME.{plain,status,out,json}.
seep_over() {
	"$1" "$2" >"$TMP/$2.plain" 2>/dev/null </dev/null
	local alone=$?
	env -i PATH="$PATH" LC_ALL=C SEEP_CACHE="$SEEP_CACHE" LD_PRELOAD="$3" "$SEEP" run --json --log-file "$TMP/$2.json" \
		-o "$TMP/$2.rec" -- "$1" "$2" >"$TMP/$2.out" 2>"$TMP/$2.err" </dev/null
	echo "$? $alone" >"$TMP/$2.status"
	rm -f "$TMP/$2.rec"
}
export -f seep_over

# unwritten LIBRARY NAME: whether the case has blocks that are made from memory that was
# freed before, and are never written. In these the allocator's own links between free
# blocks are still there, and look like pointers: what is lost is the same, but some of it
# indirectly.
unwritten() {
	case $1:$2 in
	libtcmalloc*:before_sorted_free_memory | libmimalloc*:before_sorted_free_memory) return 0 ;;
	libmimalloc*:stacks_of_ended_threads) return 0 ;;
	esac
	return 1
}

# lost_in_all TEXT: definitely and indirectly lost together, and the others.
lost_in_all() {
	sed -E 's,(definite|indirect)=([0-9]+)/([0-9]+),\2 \3,g' <<<"$1" |
		awk '{ printf "lost=%d/%d %s %s\n", $1 + $3, $2 + $4, $5, $6 }'
}

# leak_over LIBRARY PROGRAM...: all cases of these.
leak_over() {
	local lib=$1 path prog name truth got
	path=$(find_library "$lib")
	[ -n "$path" ] || skip "no $lib here"
	shift
	for name in "$@"; do
		prog=$(program "$name") || exit
		"$prog" list >"$TMP/names"
		expect_match "$name: has cases" "$(wc -l <"$TMP/names")" '^[1-9][0-9]+$'
		# shellcheck disable=SC2016 # for the shell that xargs starts
		sed 's/.*/seep_over "$0" & "$1"/' "$TMP/names" |
			xargs -P 2 -d '\n' -n 1 bash -c 'eval "$2"' "$prog" "$path"
		while read -r name; do
			truth=$(told "$(grep '^expect ' "$TMP/$name.plain")")
			got=$(seep_says "$TMP/$name.json")
			if unwritten "$lib" "$name"; then
				truth=$(lost_in_all "$truth")
				got=$(lost_in_all "$got")
			fi
			expect_eq "$name over $lib" "$got" "$truth"
			expect_match "$name over $lib: exit status" "$(cat "$TMP/$name.status")" '^([0-9]+) \1$'
		done <"$TMP/names"
	done
}
