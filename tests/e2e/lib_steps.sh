# shellcheck shell=bash disable=SC2034 # for the tests
# SPDX-License-Identifier: MIT
# A program that does what it is told, step by step (programs/over_time.c).

# preloaded SETTINGS COMMAND...: recorded by LD_PRELOAD and SEEP alone, in place of this
# shell.
preloaded() {
	local settings=$1
	shift
	exec env LD_PRELOAD="$LIBSEEP" SEEP="$settings" "$@"
}

# begin_steps COMMAND...: starts it. $pid is the process, lines for it go to descriptor 8,
# what it says is in $TMP/said, and what it writes to stderr in $TMP/said.err.
begin_steps() {
	rm -f "$TMP/in" "$TMP/said"
	mkfifo "$TMP/in"
	: >"$TMP/said"
	("$@") <"$TMP/in" >"$TMP/said" 2>"$TMP/said.err" &
	pid=$!
	exec 8>"$TMP/in"
	steps=0
	say nothing
}

# say COMMAND...: tells it, and waits until it is done.
say() {
	steps=$((steps + 1))
	echo "$*" >&8
	wait_for 30 said_all || fail "the program does not answer to: $*" "$(cat "$TMP/said.err")"
}
said_all() { [ "$(grep -c '^ok' "$TMP/said")" -ge "$steps" ]; }

# end_steps: ends its input, and waits for it. Its status is in $ended.
end_steps() {
	exec 8>&-
	wait "$pid"
	ended=$?
}
