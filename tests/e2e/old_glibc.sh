#!/bin/bash
# SPDX-License-Identifier: MIT
# libseep.so with a glibc that lacks _dl_find_object (before 2.35) and
# __libc_single_threaded (before 2.32). Both are weak references: in a copy of the library
# they ask for names that no glibc has. The table of objects takes their place: all is as
# ever, but for what a library allocates while it is loaded or unloaded. There the stack
# ends, and the report counts it.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

sed 's/_dl_find_object/_dl_find_objecX/g; s/__libc_single_threaded/__libc_single_threadeX/g' \
	"$LIBSEEP" >"$TMP/libseep.so"
expect_eq "weak references" "$(nm -D "$TMP/libseep.so" | awk '/X@/ { print $1, $2 }')" \
	"v __libc_single_threadeX@GLIBC_2.32
w _dl_find_objecX@GLIBC_2.35"
export SEEP_LIB=$TMP/libseep.so

prog=$(program modules) || exit
plugins=()
for name in alpha gamma omega; do
	plugins+=("$(program plugin "$name.with-build-id" -O1 -g -fPIC -shared -fno-builtin -DNAME=$name)" "$name") || exit
done
rounds=7
record "$prog" $rounds "${plugins[@]}"
expect_eq "plugins: status" "$status $err" "0 "
expect_truth "plugins" "$TMP/json" "$(grep -v -e _begin -e _end <<<"$out")"
expect_between "plugins: really at the same addresses" \
	"$(sed -n 's/^same place //p' <<<"$out")" $rounds $((3 * rounds))
# Five in each constructor and one in each destructor.
expect_json "plugins: stacks that end early, and nothing else" "$TMP/json" \
	'[.processes[].lost | to_entries[] | select(.value != 0 and .value != false) | [.key, .value]]' \
	'[["truncated",126]]'

gcc -g -o "$TMP/leaky" "$ROOT/examples/leaky.c"
expect_status 0 "$SEEP" run --no-save "$TMP/leaky"
expect_match "a leak is found" "$err" '^LEAK  6.13 MiB in 120 blocks lost at 2 sites, 120 times$'
line=$(grep -nE '^[[:space:]]+do_something_else\(' "$ROOT/examples/leaky.c" | cut -d : -f 1)
expect_match "with its stack" "$err" "^    main +leaky.c:$line\$"
for test in past_hooks threads mtrace_ends; do
	run "$ROOT/tests/e2e/$test.sh"
	expect_match "$test.sh" "$(tail -n 20 <<<"$out")" '^[1-9][0-9]+ passed, 0 failed'
done
