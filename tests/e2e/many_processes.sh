#!/bin/bash
# SPDX-License-Identifier: MIT
# Many short processes: each is recorded, in a file that takes little room. What they cost
# is measured by `bench/run --many`.
# shellcheck disable=SC2016 # the loop and jq have variables of their own
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
forks=$(program many_forks) || exit
cd "$TMP" || exit
n=$(times 60 2000)
n_forks=$((n / 3))
loop='i=0; while [ $i -lt '$n' ]; do /bin/true; i=$((i + 1)); done; exit 7'

# ---- a shell that starts programs: one recording for itself, two for each of them
for options in --no-leak-check --exact; do
	run "$SEEP" run $options --json --log-file loop.json -o loop.rec -- /bin/bash -c "$loop"
	expect_eq "$options: status" "$status" 7
	expect_json "$options: processes" loop.json '[.processes[] | .end // .state] | length' $((2 * n + 1))
	expect_json "$options: all of /bin/true" loop.json \
		'[.processes[] | select(.exe | endswith("/true"))] | length' "$n"
	expect_json "$options: nothing lost" loop.json '[.processes[].lost | del(.frees_inherited)[] | numbers] | add' 0
	expect_json "$options: nothing damaged" loop.json .damage '[]'
done

# ---- without the tool: the pages of a small recording come as they are used
mkdir live
SEEP=mode=exact,dir=$TMP/live LD_PRELOAD=$LIBSEEP /bin/bash -c "$loop"
expect_eq "dir: files" "$(find live -name '*.live' | wc -l)" $((2 * n + 1))
on_disk=$(find live -name '*.live' -printf '%k\n' | awk '{ n += $1 } END { print n }')
[ "$on_disk" -le $((350 * (2 * n + 1))) ] || fail "dir: room on disk" "$on_disk KiB in $((2 * n + 1)) recordings"

# ---- forks of a process with four threads, which allocate and free while their blocks
# are listed for the child
for library in "" libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	name=${library:-glibc}
	[ -z "$library" ] || library=$(find_library "$library")
	[ -n "$library" ] || [ "$name" = glibc ] || { left_out "no $name here"; continue; }
	LD_PRELOAD=$library run "$SEEP" run --json --log-file forks.json -o forks.rec -- "$forks" "$n_forks" 500
	expect_eq "forks, $name: output" "$status $out" "0 forks $n_forks bad 0"
	expect_json "forks, $name: processes" forks.json '.processes | length' $((n_forks + 1))
	expect_json "forks, $name: each child's own" forks.json \
		'.frames as $f | [.sites[] | select([.stack[] | $f[.].function] | index("child")) | .allocs] | add' $((10 * n_forks))
done
