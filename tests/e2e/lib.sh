# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What every end-to-end test starts with:
#
#	#!/bin/bash
#	# SPDX-License-Identifier: MIT
#	# What this test is for.
#	. "$(dirname "$0")/lib.sh"
#	prog=$(program leak_cases)
#	run "$SEEP" run -o "$TMP/a.rec" -- "$prog"
#	expect_eq "exit status" "$status" 0
#	expect_match "first line" "$err" '^LEAK '
#
# Each expect_* counts as one test and the script goes on after a failure; at its end it
# prints `N passed, N failed` (and how many parts this machine cannot run, as `N skipped`)
# and leaves with 1 when something failed. A script that stops halfway (`set -u`, an error
# of its own) fails too. $TMP is the test's own folder, removed afterwards; children still
# running are the test's own business to end.
set -u

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${SEEP_BUILD:-$ROOT/build}
SEEP=$BUILD/seep
LIBSEEP=${SEEP_LIB:-$BUILD/libseep.so}
SOAK=${SEEP_SOAK:-}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/seep-test.XXXXXX")
export LC_ALL=C.UTF-8
export SEEP_CACHE=$TMP/cache XDG_STATE_HOME=$TMP/state # not the user's own
unset COLUMNS SEEP_DIR LD_PRELOAD MALLOC_CONF HEAPPROFILE HEAPCHECK MALLOC_TRACE # the caller's own

lib_passed=0
lib_failed=0
lib_left_out=0
lib_done=

lib_end() {
	local code=$?
	rm -rf "$TMP"
	if [ -z "$lib_done" ]; then
		if [ $code -ne 0 ]; then
			echo "stopped halfway with status $code"
			lib_failed=$((lib_failed + 1))
		fi
		local skipped=
		[ $lib_left_out -eq 0 ] || skipped=", $lib_left_out skipped"
		echo "$lib_passed passed, $lib_failed failed$skipped"
		# A bare `exit` in a trap means the status from before it.
		code=1
		[ $lib_failed -gt 0 ] || [ $lib_passed -eq 0 ] || code=0
	fi
	exit $code
}
trap lib_end EXIT

# skip WHY: this machine cannot run the test. Never for what seep cannot do.
skip() {
	echo "skipped: $*"
	lib_done=yes
	exit 77
}

# The products must be there. (A tree that has not got them yet skips its tests.)
need_seep() {
	[ -e "$ROOT/src/tool/cli/main.c" ] || skip "no tool in this tree yet"
	[ -x "$SEEP" ] || { echo "$SEEP is missing: make build"; exit 3; }
}
need_libseep() {
	[ -e "$ROOT/src/guest/hooks/meson.build" ] || skip "no recorder in this tree yet"
	[ -e "$LIBSEEP" ] || { echo "$LIBSEEP is missing: make build"; exit 3; }
}

# need_command NAME...: skip unless they are installed.
need_command() {
	local name
	for name; do
		command -v "$name" >/dev/null || skip "no $name here"
	done
}

# have NAME: is it installed? Says so when not: for a part of a test that goes without.
have() {
	command -v "$1" >/dev/null || { left_out "no $1 here"; return 1; }
}

# left_out WHY: this machine cannot run a part of the test.
left_out() {
	lib_left_out=$((lib_left_out + 1))
	echo "left out: $*"
}

# is_root WHAT: are we? Says so when not: for WHAT, a part of a test that an ordinary user
# cannot run.
is_root() {
	[ "$(id -u)" = 0 ] || { left_out "not root: $1"; return 1; }
}

# find_library NAME: path of a shared library such as libjemalloc.so.2, or nothing.
find_library() {
	/sbin/ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'
}

# for_others FILE...: copies that every user may run, wherever the tree is; prints their
# folder, below $TMP.
for_others() {
	install -d -m 755 "$TMP/others"
	install -m 755 -t "$TMP/others" "$@"
	echo "$TMP/others"
}

# program NAME [TAG CFLAGS...]: builds tests/programs/NAME.c (or .cpp) and prints the path
# of the binary. Flags are -O2 -g unless the source says `/* cflags: ... */` in its first
# 40 lines; TAG names a variant built with CFLAGS in their place.
program() {
	local name=$1 source out flags flag_words compiler=${CC:-gcc} tag=${2:-}
	source=$ROOT/tests/programs/$name.c
	if [ ! -e "$source" ]; then
		source=$ROOT/tests/programs/$name.cpp
		compiler=${CXX:-g++}
	fi
	flags=$(sed -n '1,40s,^/[/*] *cflags: \(.*[^ ]\) *\*/$,\1,p; 1,40s,^// cflags: ,,p' "$source" | head -n 1)
	[ -n "$flags" ] || flags='-O2 -g'
	read -ra flag_words <<<"$flags"
	if [ -n "$tag" ]; then
		shift 2
		flags=$*
		flag_words=("$@") # one may have a space
	fi
	out=$BUILD/programs/$name${tag:+.$tag}
	mkdir -p "$(dirname "$out")"
	if [ ! -e "$out" ] || [ "$source" -nt "$out" ] || [ "$flags" != "$(cat "$out.flags" 2>/dev/null)" ]; then
		# Renamed into place: another test may be building or running the same
		# one.
		"$compiler" -I"$ROOT/include" -o "$out.$$" "$source" "${flag_words[@]}" >&2 || {
			echo "cannot build $source" >&2
			return 1
		}
		echo "$flags" >"$out.flags"
		mv "$out.$$" "$out"
	fi
	echo "$out"
}

# run COMMAND...: leaves its output in $out and $err (also in $TMP/out, $TMP/err) and its
# status in $status. Never ends the script.
run() {
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	# shellcheck disable=SC2034 # for the test
	status=$?
	# shellcheck disable=SC2034 # for the test
	out=$(tr -d '\0' <"$TMP/out")
	# shellcheck disable=SC2034 # for the test
	err=$(tr -d '\0' <"$TMP/err")
}

# show COMMAND...: as run, and adds a line with the command, what it printed and its
# status to $shown.
shown=
show() {
	local word line='$'
	run "$@"
	for word; do
		[ "$word" != "$SEEP" ] || word=seep
		[[ $word =~ ^[A-Za-z0-9_./:=@,+%-]+$ ]] || word="'$word'"
		line+=" $word"
	done
	shown+=$line$'\n'${err:+$err$'\n'}${out:+$out$'\n'}
	[ "$status" = 0 ] || shown+="(status $status)"$'\n'
}

pass() { lib_passed=$((lib_passed + 1)); }

# fail WHAT [DETAIL...]
fail() {
	lib_failed=$((lib_failed + 1))
	local at=$((${#BASH_SOURCE[@]} > 2 ? 2 : 1)) # called by an expect_*, or at the top of a script
	echo "FAILED $1  (${BASH_SOURCE[at]##*/}:${BASH_LINENO[at - 1]})"
	shift
	[ $# -eq 0 ] || printf '    %s\n' "$@"
}

# expect_eq WHAT GOT WANTED
expect_eq() {
	if [ "$2" = "$3" ]; then pass; else fail "$1" "got:    $2" "wanted: $3"; fi
}

# expect_match WHAT TEXT REGEX: some line of TEXT matches the extended regular expression.
expect_match() {
	if grep -qE -e "$3" <<<"$2"; then pass; else fail "$1" "no line matches: $3" "$2"; fi
}

# expect_no_match WHAT TEXT REGEX
expect_no_match() {
	if grep -qE -e "$3" <<<"$2"; then fail "$1" "a line matches: $3" "$2"; else pass; fi
}

# expect_between WHAT NUMBER LOW HIGH: inclusive, decimals allowed.
expect_between() {
	if awk -v n="$2" -v low="$3" -v high="$4" \
		'BEGIN { exit !(n ~ /^-?[0-9]+(\.[0-9]+)?$/ && n >= low && n <= high) }'; then
		pass
	else
		fail "$1" "got $2, wanted $3 to $4"
	fi
}

# expect_status WANTED COMMAND...: as run, then compares the status.
expect_status() {
	local wanted=$1
	shift
	run "$@"
	if [ "$status" = "$wanted" ]; then
		pass
	else
		fail "status of $*" "got $status, wanted $wanted" "$out" "$err"
	fi
}

# expect_json WHAT FILE FILTER WANTED: what jq -r -c FILTER says about FILE.
expect_json() {
	local got
	got=$(jq -r -c "$3" "$2" 2>&1)
	if [ "$got" = "$4" ]; then pass; else fail "$1" "$3" "got:    $got" "wanted: $4"; fi
}

# expect_file WHAT FILE GOLDEN: the same bytes.
expect_file() {
	local difference
	if difference=$(diff -u "$3" "$2" 2>&1); then pass; else fail "$1" "$difference"; fi
}

# as_golden [KIND|SED...]: rewrites stdin so that it is the same on every machine and in
# every run. Always: paths (DIR, BUILD, ROOT), process ids, dates, durations (N s), rates
# (+N MiB/min), the machine's memory, and seconds that a process was stopped. Lines that a
# short run may or may not have (RSS, kept by libc) and regions that did not change are
# left out. KINDs, for programs whose figures depend on how long they ran:
#   sizes   memory: 3.81 ± 0.12 MiB, 4,096 bytes    counts  4,000 ± 130 blocks, 19 of 20 intervals
#   shares  percentages                             live    all three
#           (and without blocks that came while the leak check was made)
#   pace    why growth is no more than that, which depends on how evenly the machine ran; whether
#           the process has another rate than its sites
#   brief   without the tables at the end of seep report: a long path above leaves less room for them
# Any other word is a sed expression (-E) of the test's own, applied last: for the one
# figure that varies. Keep what is certain; test the range of what is not with
# expect_between.
as_golden() {
	local number='([1-9][0-9,.]*|0\.[0-9]+)( ± [0-9,.]+)?' unit='([KMGT]i)?B' masks=() kind
	for kind; do
		case $kind in
		sizes | live) masks+=(-e "s/(about )?$number $unit\b/SIZE/g; s/$number bytes\b/N bytes/g") ;;&
		counts | live) masks+=(-e "s/$number of $number (intervals?)/N of N \5/g; s/grew in [0-9]+ of [0-9]+/grew in N of N/"
			-e "s/$number (blocks|allocs|frees|freed|samples|events|allocations|snapshots|threads)\b/N \3/g") ;;&
		shares | live) masks+=(-e 's/[0-9<][0-9.]* %/N %/g') ;;&
		live) masks+=(-e 's/([^ ]) {3,}/\1  /g; s/ · younger than the leak check [^·]*( · |$)/\1/') ;;
		pace) masks+=(-e 's/; (with pauses|slowing down, like a cache that fills|a cache that fills looks the same)(; about N s more of recording would distinguish a leak from a cache)?$/; PACE/'
			-e 's/; the process \+N [KM]iB\/min, /; /') ;;
		brief) masks+=(-e '/^(at the peak|most (temporary )?allocations|see also)/d; /^ +[0-9]+ +[^ ].* %  +[^ ,]+ [^ ,]*:[0-9]+( ← |$)/d') ;;
		sizes | counts | shares) ;;
		*) masks+=(-e "$kind") ;;
		esac
	done
	sed -E -e "s,$TMP,DIR,g; s,$BUILD,BUILD,g; s,$ROOT,ROOT,g" \
		-e '/^RSS /d; /^[0-9][^;]* kept by libc itself \(/d; /^ +[0-9.]+ [KMGT]?i?B +0 B  /d; /^ +[0-9]+ (more|unchanged) regions? with /d' \
		-e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(:[0-9]{2})?/DATE/g; s/\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b/TIME/g' \
		-e 's/stacks \([0-9]+\)/stacks (N)/g; s/ \([0-9]{2,}\)/ (PID)/g; s/\bpid [0-9]+/pid PID/g; s/^[0-9]+: /PID: /; s/^([0-9:]{8}|TIME)  [0-9]+  RSS/\1  PID  RSS/' \
		-e 's/\b(seep [a-z]+( --[a-z]+ [0-9]+[a-z]+)*) [0-9]+\b/\1 PID/g; s/@[0-9a-f]{8,}\b/@ADDRESS/g; s/; it changed while they were read$//' \
		-e 's/--who 0x[0-9a-f]+( [0-9]+)?/--who ADDRESS PID/g; s/heap\.scan [0-9]+/heap.scan PID/g' \
		-e "s,(under|slower than) $number $unit/min,\1 N B/min,g; s,$number $unit/min,N \3B/min,g" \
		-e 's/[0-9.]+ % of a core/N % of a core/; / · stopped /{s/(stopped |\+ )[0-9.]+/\1N/g; s/N (ms|s) ·/N s ·/}' \
		-e "s/(the machine's memory|memory limit)( of $number $unit)? reached/LIMIT reached/" \
		-e "s/(no limit, machine has|limit) $number $unit, [0-9.]+ % used/LIMIT, N % used/; s/, (machine has|limit) $number $unit · /, LIMIT · /" \
		-e 's/\b[0-9][0-9,.]* (ns|[uµ]s|ms|s|min|h|d)\b/N s/g' "${masks[@]}"
}

# expect_golden WHAT TEXT NAME [KIND|SED...]: TEXT is tests/golden/NAME, after as_golden
# with these kinds. SEEP_BLESS=1 writes that file anew; read the difference before it is
# committed.
expect_golden() {
	local what=$1 golden=$ROOT/tests/golden/$3
	as_golden "${@:4}" <<<"$2" >"$TMP/golden.now"
	if [ -n "${SEEP_BLESS:-}" ]; then
		mkdir -p "${golden%/*}"
		cp "$TMP/golden.now" "$golden"
	fi
	expect_file "$what" "$TMP/golden.now" "$golden"
}

# expect_shown WHAT NAME [KIND|SED...]: the same for all that was shown since the last
# time.
expect_shown() {
	expect_golden "$1" "${shown%$'\n'}" "${@:2}"
	shown=
}

# wait_for SECONDS COMMAND...: until it succeeds; false when it has not by then.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# child_of PID: the first child that its main thread has now, or nothing.
child_of() {
	local first=
	read -r first _ <"/proc/$1/task/$1/children"
	echo "$first"
} 2>/dev/null

# times SHORT LONG: how often to do something, LONG under `make soak`.
times() { if [ -n "$SOAK" ]; then echo "$2"; else echo "$1"; fi; }
