#!/bin/bash
# SPDX-License-Identifier: MIT
# Attach where processors are scarce: many processes at once, over and over, and with seep
# killed at a random moment. All processes go on and check what they get, and nothing is
# left in any. Full counts under `make soak`. How long the stops are, bench/starved
# prints; that is no matter of right or wrong here.
# timeout: 3600
# alone
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command python3 cc

starved() {
	run python3 "$ROOT/bench/starved" --seep "$SEEP" "$@"
	expect_match "$*: nothing failed or is left" "$out" '^0 failures or things left behind'
	expect_eq "$*: status" "$status" 0
	grep '^  wrong' <<<"$out"
}

starved --busy "$(times 8 60)" --attach "$(times 3 30)" --cycles "$(times 3 200)" --kills "$(times 4 80)"
expect_match "all were attached to" "$out" "attached to $(times 3 30) of them .*: 0 failed"
expect_match "cycles" "$out" "^$(times 3 200) attach/detach cycles"
expect_match "kills" "$out" "^seep killed $(times 4 80) times"
# Not as root, and without the right to give anybody a better nice value.
if [ "$(id -u)" = 0 ] && have setpriv; then
	starved --busy 6 --attach 2 --no-nice
	expect_match "without CAP_SYS_NICE" "$out" "without CAP_SYS_NICE\): 0 failed"
else
	left_out "not root: without CAP_SYS_NICE"
fi
