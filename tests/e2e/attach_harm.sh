#!/bin/bash
# SPDX-License-Identifier: MIT
# What an attacher could do to a process without meaning to, and to itself where the
# process means it: each was seen to happen once. The programs tell.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
prog=$(program attach_harm) || exit

# fine WHAT: the process ends as it should.
fine() {
	kill -TERM "$pid" 2>/dev/null
	finish
	expect_eq "$1: left in good order" "$ended $(tail -n 1 "$TMP/said")" "0 fine"
}
# attached TIMES OPTIONS...: attached to and let go, whether or not it is refused.
attached() {
	local i n=$1
	shift
	for ((i = 0; i < n; i++)); do
		timeout 30 "$SEEP" attach --for 60ms --log-file /dev/null "$@" "$pid" >/dev/null 2>"$TMP/err"
		expect_between "not killed" $? 0 3
	done
}

for way in below data seccomp code32 recv; do
	begin "$prog" $way
	attached 3 --sample 4K
	fine "$way"
done
# Where words are changed instead of code.
export SEEP_TEST_ATTACH_WORDS=1
begin "$prog" own
attached 2 --sample 4K
fine "a table of its own functions"
begin "$prog" exec
timeout 30 "$SEEP" attach --for 700ms --log-file /dev/null --sample 4K "$pid" >/dev/null 2>&1
fine "another program meanwhile"
unset SEEP_TEST_ATTACH_WORDS

# Killed with a range unmapped: what the program maps there then is its own.
begin "$prog" mapped
last=$(sed -n '/^enum tracee_point {/,/TRACEE_UNMAPPED_ONE/p' "$ROOT/src/tool/target/trace/tracee.h" | grep -c 'TRACEE_[A-Z_]*\( = 1\)\?,')
SEEP_TEST_DIE=$last timeout 60 "$SEEP" attach --for 10ms "$pid" >/dev/null 2>&1
expect_eq "killed on the way out" $? 137
kill -USR1 "$pid"
wait_for 20 grep -q mapped "$TMP/said" || fail "it maps nothing"
expect_status 0 timeout 60 "$SEEP" detach -q "$pid"
fine "memory in our place"

# A target that is not root's must not lead root to another file.
if is_root "a target that leads root to files of others"; then
	echo "root's own" >"$TMP/victim"
	chmod 755 "$TMP"
	chmod 644 "$TMP/victim"
	begin "$prog" swap "$TMP/victim"
	attached 5 --sample 4K
	expect_eq "a descriptor that was swapped: the file" "$(cat "$TMP/victim")" "root's own"
	fine "swap"
fi

# operator new of another allocator throws through us.
throws=$(program attach_throw) || exit
jemalloc=$(find_library libjemalloc.so.2)
for library in "" $jemalloc; do
	begin env LD_PRELOAD="$library" "$throws"
	pid=$(pgrep -P $$ -x attach_throw | head -n 1 || echo "$pid")
	attached 2 --sample 4K
	attached 1 --exact
	fine "throws, ${library##*/}"
done
[ -n "$jemalloc" ] || left_out "no libjemalloc.so.2 here"

# A handler on a stack of its own, on top of a malloc that will come back to us: what it
# comes back to stays.
prog=$(program attach_onstack) || exit
begin "$prog"
run "$SEEP" attach --stay --exact "$pid"
expect_eq "on another stack: attached" "$status" 0
echo >&8
wait_for 20 grep -q inside "$TMP/said" || fail "on another stack: it does not get there"
run timeout 60 "$SEEP" detach -q "$pid"
expect_eq "on another stack: status" "$status" 0
expect_match "on another stack: not unmapped" "$out" 'detached, but .* stay'
echo >&8
finish
expect_eq "on another stack: it came back" "$ended $(tail -n 1 "$TMP/said")" "0 back"
