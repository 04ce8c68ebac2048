#!/bin/bash
# SPDX-License-Identifier: MIT
# The same `total heap usage` as valgrind counts: allocations, frees and bytes, of
# single-threaded programs of ours and of Debian's.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq valgrind
export LC_ALL=C

# same WHAT COMMAND...: both must count alike. With the environment emptied, for libc's
# setlocale and the like allocate for what they find there.
same() {
	local what=$1 truth
	shift
	env -i PATH="$PATH" LC_ALL=C HOME=/ valgrind --run-libc-freeres=no --run-cxx-freeres=no \
		"$@" >/dev/null 2>"$TMP/valgrind" </dev/null
	truth=$(sed -n 's/,//g; s/.*total heap usage: \([0-9]*\) allocs \([0-9]*\) frees \([0-9]*\) bytes.*/\1 \2 \3/p' "$TMP/valgrind")
	expect_match "$what: valgrind counts something" "$truth" '^[0-9]+ [0-9]+ [0-9]+$'
	env -i PATH="$PATH" LC_ALL=C HOME=/ "$SEEP" run --json --log-file "$TMP/json" -o "$TMP/rec" -- \
		"$@" >/dev/null 2>"$TMP/err" </dev/null
	got=$(jq -r '.totals | "\(.allocs) \(.frees) \(.allocated_bytes)"' "$TMP/json")
	expect_eq "$what: allocs frees bytes" "$got" "$truth"
	expect_nothing_lost "$what" "$TMP/json"
}

${CC:-gcc} -g -o "$TMP/leaky" "$ROOT/examples/leaky.c" || exit
same leaky "$TMP/leaky"
expect_eq "leaky" "$got" "120 0 6430720"

prog=$(program heap_usage) || exit
for name in $("$prog" list); do
	same "$name" "$prog" "$name"
done

seq 1 20011 | sort -R --random-source=/bin/ls >"$TMP/numbers"
mkdir "$TMP/many"
(cd "$TMP/many" && seq -f 'file%g' 1 503 | xargs touch)
same ls /bin/ls -l "$TMP/many"
same sort /usr/bin/sort --parallel=1 -n "$TMP/numbers"
same grep /bin/grep -E '(1|2)3+[4-6]$' "$TMP/numbers"
same xz /usr/bin/xz -1 -T1 -k -c "$TMP/numbers"

# Every option that valgrind knows is taken, and the program runs.
mapfile -t known < <(valgrind --help-debug |
	sed -nE 's/^ +(-. \| )?(--[a-z0-9-]+=)[^ ]*.*/\2no/p; s/^ +(-. \| )?(--[a-z0-9-]+)( .*)?$/\2/p' |
	grep -vE '^--(tool|help|version|log-|xml|suppressions|num-callers|redzone|freelist|error-exitcode|errors-for|leak-res|show-leak)' |
	sort -u)
expect_between "options of valgrind" "${#known[@]}" 80 200
run "$SEEP" valgrind "${known[@]}" -d -- sh -c 'exit 41'
expect_eq "all options of valgrind: exit status" "$status" 41
expect_match "an ignored one is named" "$err" '^seep valgrind: --trace-malloc=no: ignored: '
