#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes of other kinds: static ones, with another malloc preloaded or linked in under
# names of its own, with musl, in namespaces of their own, under a seccomp filter. All say
# what they did.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq

# attached WHAT PID: two rounds of a begun attach_steps.
attached() {
	local what=$1
	run "$SEEP" attach --stay --exact "${2:-$pid}"
	expect_eq "$what: attached" "$status $(grep -v '^recording\|^next:' <<<"$err")" "0 "
	one_round
	one_round
	run "$SEEP" detach --json "${2:-$pid}"
	expect_eq "$what: detached" "$status $err" "0 "
	expect_eq "$what: nothing is left" "$(ours "${2:-$pid}")" 0
	finish
	expect_eq "$what: it ended well" "$ended" 0
	expect_truth "$what" "$TMP/out" "$(cat "$TMP/said")"
}

# kind WHAT TAG FLAGS...: attach_steps built in that way.
kind() {
	local what=$1 prog
	prog=$(program attach_steps "${@:2}" 2>"$TMP/build") || {
		left_out "$what: cannot be built here"
		return
	}
	begin "$prog" 2
	attached "$what"
}

kind "static" static -O2 -g -static
kind "static PIE" static-pie -O2 -g -static-pie
kind "no PIE" no-pie -O2 -g -no-pie -fno-pie
if have musl-gcc; then
	CC=musl-gcc kind "musl" musl -O2 -g
	CC=musl-gcc kind "musl, static" musl-static -O2 -g -static
fi
plain=$(program attach_steps) || exit
for lib in libjemalloc.so.2 libtcmalloc.so.4 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(find_library $lib)
	[ -n "$path" ] || { left_out "no $lib here"; continue; }
	LD_PRELOAD=$path begin "$plain" 2
	attached "$lib"
done

# A jemalloc that is linked in under names of its own, and used by these.
if prefixed attach_steps; then
	begin "$TMP/prefixed" 2
	attached "a jemalloc with a prefix"
else
	left_out "a jemalloc with a prefix"
fi

# In pid and mount namespaces of its own, with a file system that we do not see.
if unshare -mpf --mount-proc true 2>/dev/null; then
	mkdir "$TMP/root"
	rm -f "$TMP/in" "$TMP/said"
	mkfifo "$TMP/in"
	: >"$TMP/said"
	# shellcheck disable=SC2016 # for that shell
	unshare -mpf --mount-proc bash -c 'mount -t tmpfs none "$1" && cp "$2" "$1/hidden" && exec "$1/hidden" 2' \
		- "$TMP/root" "$plain" <"$TMP/in" >"$TMP/said" 2>"$TMP/said.err" &
	pid=$!
	exec 8>"$TMP/in"
	wait_for 20 grep -q ready "$TMP/said" || fail "no namespaces" "$(cat "$TMP/said.err")"
	attached "in namespaces of its own" "$(child_of $pid)"
else
	left_out "no namespaces here"
fi

# Under a filter that kills for every system call but a few.
if is_root "a target under seccomp" && prog=$(program attach_seccomp); then
	begin "$prog"
	attached "under seccomp"
fi
