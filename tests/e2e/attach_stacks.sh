#!/bin/bash
# SPDX-License-Identifier: MIT
# The stacks that the injected recorder sees are those that the preloaded one sees, frame
# by frame, with the same calls and bytes: for C and C++ without frame pointers, and for
# python3.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command jq

# stacks JSON FUNCTION: calls, bytes and frames up to main of all stacks with FUNCTION in
# them. Preloaded, operator new is hooked itself and main has a wrapper; injected, new is
# a frame like others and libc calls main.
stacks() {
	jq -r --arg in "$2" '.frames as $f | .sites[] | select(.allocs > 0) | . as $site
		| [.stack[] | $f[.].function // "?"] as $names
		| select($names | index($in))
		| [$names[] | select(test("^operator (new|delete)|^_Zn[wa]|^main_then_exit|^__libc_start") | not)]
		| (index("main") // (length - 1)) as $last
		| "\($site.allocs) calls \($site.allocated_bytes) bytes \(.[:$last + 1] | join(" < "))"' "$1" | sort
}

# same WHAT FUNCTION COMMAND...: one round of the command, recorded in both ways.
same() {
	local what=$1 in=$2 run attached
	shift 2
	echo >"$TMP/line"
	"$SEEP" run --json --log-file "$TMP/run.json" -o "$TMP/rec" -- "$@" <"$TMP/line" >/dev/null
	begin "$@"
	run "$SEEP" attach --stay --exact "$pid"
	expect_eq "$what: attached" "$status" 0
	one_round
	run "$SEEP" detach --json "$pid"
	expect_eq "$what: detached" "$status $err" "0 "
	finish
	expect_eq "$what: it ended well" "$ended" 0
	run=$(stacks "$TMP/run.json" "$in")
	attached=$(stacks "$TMP/out" "$in")
	expect_eq "$what: the same stacks" "$attached" "$run"
	expect_match "$what: there are some" "$attached" " $in( |\$)"
	expect_json "$what: none was cut" "$TMP/out" '[.processes[].lost.truncated] | add' 0
}

same "C" make_deep "$(program attach_steps bare -O2 -g -fomit-frame-pointer)" 1
same "C, not optimised" make_malloc "$(program attach_steps plain -O0 -g -fomit-frame-pointer)" 1
same "C++" a_round "$(program attach_cxx)"
cat >"$TMP/rounds.py" <<-'EOF'
	import sys
	kept = []
	def a_round():
	    kept.append(bytearray(70001))
	    kept.append([bytearray(40009) for i in range(7)])
	sys.stdout.write("ready\n")
	sys.stdout.flush()
	for line in sys.stdin:
	    a_round()
	    sys.stdout.write("done\n")
	    sys.stdout.flush()
EOF
if have /usr/bin/python3; then
	same "python3" PyByteArray_Resize /usr/bin/python3 "$TMP/rounds.py"
fi
