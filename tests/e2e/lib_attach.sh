# shellcheck shell=bash disable=SC2034 # for the tests
# SPDX-License-Identifier: MIT
# What the tests of seep attach share: a process to attach to, and what it looks like from
# outside.

# need_attach: we must be allowed to trace our own processes.
need_attach() {
	need_seep
	[ "$(uname -m)" = x86_64 ] || skip "seep attach knows x86-64 only"
	"$SEEP" attach --dry-run $$ >/dev/null 2>&1 || skip "not allowed to trace processes here"
}

# begin PROGRAM ARGS...: starts it and waits until it says "ready". Its pid is in $pid,
# lines for it go to descriptor 8, what it says is in $TMP/said.
begin() {
	rm -f "$TMP/in" "$TMP/said"
	mkfifo "$TMP/in"
	: >"$TMP/said"
	"$@" <"$TMP/in" >"$TMP/said" 2>"$TMP/said.err" &
	pid=$!
	exec 8>"$TMP/in"
	wait_for 20 grep -q ready "$TMP/said" || fail "$1 did not start" "$(cat "$TMP/said.err")"
}

# one_round: lets it do a round, and waits for that.
one_round() {
	local before
	before=$(grep -c 'done' "$TMP/said")
	echo >&8
	wait_for 20 more_done "$before" || fail "the process does not go on"
}
more_done() { [ "$(grep -c 'done' "$TMP/said")" -gt "$1" ]; }

# finish: ends its input, waits for it; its status is in $ended.
finish() {
	exec 8>&-
	wait "$pid"
	ended=$?
}

# ours PID: how many mappings and descriptors of ours it has.
ours() {
	echo $(($(grep -c memfd:seep "/proc/$1/maps") + $(find "/proc/$1/fd" -lname '*memfd:seep*' | wc -l)))
}

# entry PID FUNCTION: the first bytes of a function of its libc.
entry() {
	local lib base off
	lib=$(awk '/libc.so.6|libc-2/ { print $6; exit }' "/proc/$1/maps")
	base=$(awk '/libc.so.6|libc-2/ { split($1, a, "-"); print a[1]; exit }' "/proc/$1/maps")
	off=$(nm -D --defined-only "$lib" | awk -v f="$2" '$3 ~ "^" f "(@|$)" { print $1; exit }')
	dd if="/proc/$1/mem" bs=1 count=8 skip=$((0x$base + 0x$off)) iflag=skip_bytes 2>/dev/null | od -An -tx1
}

is_running() { [ -e "/proc/$1/exe" ] && kill -0 "$1" 2>/dev/null; }

# prefixed PROGRAM: builds it as $TMP/prefixed with a jemalloc whose functions are called
# _rjem_malloc and so on, and that it calls by these names. Fails where that cannot be
# done.
prefixed() {
	local archive name args=() defines=()
	archive=$(dirname "$(find_library libjemalloc.so.2)")/libjemalloc.a
	[ -e "$archive" ] && have objcopy || return 1
	for name in malloc calloc realloc free posix_memalign aligned_alloc memalign valloc malloc_usable_size mallocx \
		rallocx dallocx sdallocx; do
		args+=(--redefine-sym "$name=_rjem_$name")
		defines+=("-D$name=_rjem_$name")
	done
	objcopy "${args[@]}" "$archive" "$TMP/prefixed.a"
	# Its C++ functions would come along under their usual names.
	ar t "$TMP/prefixed.a" | grep -q jemalloc_cpp && ar d "$TMP/prefixed.a" "$(ar t "$TMP/prefixed.a" | grep jemalloc_cpp)"
	cat >"$TMP/prefixed.h" <<-'EOF'
		#include <stddef.h>
		void *_rjem_malloc(size_t); void *_rjem_calloc(size_t, size_t); void *_rjem_realloc(void *, size_t);
		void _rjem_free(void *); int _rjem_posix_memalign(void **, size_t, size_t);
		void *_rjem_aligned_alloc(size_t, size_t); void *_rjem_memalign(size_t, size_t); void *_rjem_valloc(size_t);
	EOF
	gcc -O2 -g -include "$TMP/prefixed.h" "${defines[@]}" -I"$ROOT/include" -o "$TMP/prefixed" \
		"$ROOT/tests/programs/$1.c" "$TMP/prefixed.a" -ldl -lm -pthread 2>"$TMP/build"
}
