#!/bin/bash
# SPDX-License-Identifier: MIT
# Allocator calls that go past the hooks. The leak check finds such blocks in glibc's
# heap: no all-clear, nothing that only they hold is lost, nothing that was freed there,
# and a free of one is never wrong. Without the leak check, and in sampled runs, the
# report says that calls may be missing. Where the calls are seen after all, all figures
# are exact.
. "$(dirname "$0")/lib.sh"
need_command jq
prog=$(program past_hooks) || exit
lib=$(program past_lib) || exit
# The same with libseep.so among what it is linked with: its scope begins with our hooks.
front=$TMP/front.so
gcc -O2 -g -fPIC -shared -fno-builtin -o "$front" "$ROOT/tests/programs/past_lib.c" -Wl,--no-as-needed "$LIBSEEP" || exit

# look NAME WAY WHAT [LIBRARY] [-- OPTION…]
look() {
	local name=$1 way=$2 what=$3 library=${4:-}
	shift 4
	run "$SEEP" run -o "$TMP/$name.rec" --log-file "$TMP/$name.log" "$@" "$prog" "$way" "$what" "$library"
	run "$SEEP" report --json "$TMP/$name.rec"
	cp "$TMP/out" "$TMP/$name.json"
}
verdict='[.summary.verdict, .summary.no_verdict_because, .processes[0].lost.past, .processes[0].lost.libc]'

for way in address deepbind; do
	for what in lose tidy give take hold renew; do
		look "$way.$what" "$way" "$what" "$lib"
	done
	expect_json "$way: 37 blocks of 1,000 bytes lost" "$TMP/$way.lose.json" "$verdict" '["NO VERDICT","calls-not-seen",37,0]'
	expect_match "$way: and said" "$(head -n 1 "$TMP/$way.lose.log")" "^NO VERDICT  37 blocks of the heap went past seep's hooks"
	expect_no_match "$way: nothing else says that all was seen" "$(cat "$TMP/$way.lose.log")" 'nothing missed|^OK'
	expect_json "$way: freed again: nothing is left" "$TMP/$way.tidy.json" "$verdict" '["OK",null,0,0]'
	expect_json "$way: freed with free: nothing is left, nothing wrong" "$TMP/$way.give.json" "$verdict" '["OK",null,0,0]'
	expect_json "$way: freed past the hooks" "$TMP/$way.take.json" "$verdict" '["NO VERDICT","calls-not-seen",37,0]'
	expect_json "$way: held by one of them" "$TMP/$way.hold.json" "$verdict" '["NO VERDICT","calls-not-seen",1,0]'
	expect_match "$way: is reachable" "$(cat "$TMP/$way.hold.log")" 'definitely lost 0 .* still reachable 36.1 KiB in 37 blocks'
	expect_json "$way: in memory freed past the hooks" "$TMP/$way.renew.json" "$verdict" '["OK",null,0,0]'
done

# Another libc: its blocks are not looked for.
for what in lose tidy hold; do
	look "space.$what" space "$what" "$lib"
	expect_json "another libc, $what" "$TMP/space.$what.json" "$verdict" '["NO VERDICT","calls-not-seen",0,1]'
done
expect_match "nothing that it holds is lost" "$(cat "$TMP/space.hold.log")" 'definitely lost 0 '

# Without the leak check, and in a sampled run, nobody looks: no all-clear, and nothing is
# wrong or lost.
for way in address deepbind space; do
	for what in lose tidy give take hold; do
		case $way.$what in
		space.give | space.take) continue ;; # libc's heaps are not to be mixed
		esac
		for how in --no-leak-check --sample=64; do
			look unchecked "$way" "$what" "$lib" "$how"
			expect_json "$way, $what, $how" "$TMP/unchecked.json" "$verdict" '["NO VERDICT","calls-not-seen",0,0]'
		done
	done
done
expect_match "the reason" "$(head -n 1 "$TMP/unchecked.log")" \
	"^NO VERDICT  some calls of malloc or free may have gone past seep's hooks \(RTLD_DEEPBIND, dlmopen, or libc's malloc by its address\)"

# Seen after all: glibc's other names, and a library whose scope begins with our hooks.
seen='[.summary.verdict, .summary.allocs - .summary.frees - .summary.kept_by_libc_blocks, .processes[0].lost.past]'
for how in names:address "deepbind:$front" "plain:$lib"; do
	way=${how%%:*} library=${how#*:}
	for what in lose give take; do
		look seen "$way" "$what" "$library"
		cp "$TMP/seen.json" "$TMP/seen.$what.json"
	done
	expect_json "$way: lost blocks are reported" "$TMP/seen.lose.json" "$seen" '["LEAK (minor)",37,0]'
	expect_json "$way: with their bytes" "$TMP/seen.lose.json" '.summary.leaks.definite_bytes' 37000
	for what in give take; do
		expect_json "$way: $what" "$TMP/seen.$what.json" "$seen" '["OK",0,0]'
	done
	[ "$way" != deepbind ] || continue # which need not have found our hooks
	look seen "$way" give "$library" --no-leak-check
	expect_match "$way: nothing was missed" "$(cat "$TMP/seen.log")" 'exact, nothing missed'
done
