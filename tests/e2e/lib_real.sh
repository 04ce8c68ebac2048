# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For the tests with programs that nobody here wrote: the same command bare, recorded
# exactly, sampled, and with libseep.so preloaded but not asked for anything, must write
# the same, end the same, and leave a recording that can be right. Sourced after lib.sh:
#
#	real_same ls -- ls -la /usr/share/doc
#
# What differs from run to run by itself (pids, times) is taken out of both outputs with
# the words of $real_sed, a sed script. real_setup, when the test defines it, is called
# before every run in the folder the run starts in, which is new and empty each time.
# $real_sane are words for lib_real.py: what the program is known to do. Nothing runs
# longer than $real_limit seconds.
need_seep
need_libseep
[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3 here"
real_sed=
real_sane=
real_limit=60
real_killed=no # yes: the command itself ends as one that ran too long does
real_ways=(exact sample preload)
real_rounds=$(times 1 20)
TIMEFORMAT='%U %S'

# real_once WAY NAME COMMAND...: runs it in a new folder; output in
# $TMP/NAME.WAY.{out,err}, status in .status, CPU seconds of everything (the tool's too)
# in .cpu.
real_once() {
	local way=$1 base=$TMP/$2.$1 folder=$TMP/in
	shift 2
	case $way in
	exact | sample)
		local mode=--exact
		[ "$way" = exact ] || mode=--sample
		set -- "$SEEP" run $mode -o "$base.rec" --log-file "$base.log" -- "$@"
		;;
	preload) set -- env LD_PRELOAD="$LIBSEEP" "$@" ;;
	esac
	rm -rf "$folder" "$base".*
	mkdir "$folder"
	(
		cd "$folder" || exit
		[ "$(type -t real_setup)" != function ] || real_setup || exit
		# Not in the foreground: a program may use the terminal's or the group's
		# signals.
		{ time timeout -k 5 "$real_limit" "$@" >"$base.out" 2>"$base.err" </dev/null; } \
			2>"$base.cpu"
		echo $? >"$base.status"
	)
	sed -E -i -e "$real_sed" "$base.out" "$base.err"
}

# real_sums NAME WAY [WORDS...]: is the recording sensible?
real_sums() {
	local name=$1 base=$TMP/$1.$2 way=$2 found
	shift 2
	if ! "$SEEP" report --json --all "$base.rec" >"$base.json" 2>"$base.json.err"; then
		fail "$name, $way: report" "$(cat "$base.json.err" "$base.log")"
		return
	fi
	# shellcheck disable=SC2086 # words
	if found=$("$ROOT/tests/e2e/lib_real.py" "$base.json" $real_sane "$@" 2>&1); then
		pass
	else
		fail "$name, $way: recording" "$found"
	fi
	echo "$name, $way: $(tail -n 1 <<<"$found")"
	[ -z "${SEEP_REAL_KEEP:-}" ] || cp "$base.json" "$base.rec" "$base.log" "$SEEP_REAL_KEEP"
}

# real_compare NAME WAY: against the bare run.
real_compare() {
	local name=$1 way=$2 what
	for what in status out err; do
		if diff -a "$TMP/$name.bare.$what" "$TMP/$name.$way.$what" >"$TMP/diff" 2>&1; then
			pass
		else
			fail "$name, $way: $what differs" "$(head -n 20 "$TMP/diff")"
		fi
	done
}

real_cpu() { awk -v n="$(cat "$TMP/$1.bare.cpu")" '{ split(n, b, " "); d = b[1] + b[2];
	printf "%.2f s, %.2f times\n", $1 + $2, (d ? ($1 + $2) / d : 0) }' "$TMP/$1.$2.cpu"; }

# real_same NAME [WORDS FOR lib_real.py] -- COMMAND...
real_same() {
	local name=$1 way round words=()
	shift
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	real_once bare "$name" "$@"
	[ "$real_killed" = yes ] ||
		expect_no_match "$name ends" "$(cat "$TMP/$name.bare.status")" '^(124|137)$'
	for ((round = 1; round <= real_rounds; round++)); do
		for way in "${real_ways[@]}"; do
			real_once "$way" "$name" "$@"
			real_compare "$name" "$way"
			[ "$way" = preload ] || real_sums "$name" "$way" "${words[@]}"
			echo "$name, $way: cpu $(real_cpu "$name" "$way")"
		done
	done
}

# real_estimate NAME: what the sampled recording that real_same left estimates lies within
# five standard errors of what the exact one counted, for a Poisson process of one sample
# in 512 KiB. For programs that ask for the same each time.
real_estimate() {
	local exact sampled
	exact=$(jq .totals.allocated_bytes "$TMP/$1.exact.json")
	sampled=$(jq .totals.allocated_bytes "$TMP/$1.sample.json")
	if awk -v e="$exact" -v s="$sampled" 'BEGIN { d = s - e; exit !(d * d <= 25 * 524288 * e) }'; then
		pass
	else
		fail "$1: estimate" "sampled $sampled of $exact bytes"
	fi
}

# real_refused NAME WHY COMMAND...: seep run does not start it, and says why.
real_refused() {
	local name=$1 why=$2
	shift 2
	expect_status 3 "$SEEP" run -o "$TMP/$name.rec" -- "$@"
	# shellcheck disable=SC2154 # set by run
	expect_match "$name: why" "$err" "$why"
	# shellcheck disable=SC2154 # set by run
	expect_eq "$name: was not started" "$out" ""
}

# real_valgrind NAME COMMAND...: allocations and bytes as memcheck counts them equal those
# of the exact recording that real_same left. For deterministic programs with one thread
# and process that do not copy their environment.
real_valgrind() {
	local name=$1 seen wanted
	shift
	command -v valgrind >/dev/null || return 0
	rm -rf "$TMP/in"
	mkdir "$TMP/in"
	seen=$(cd "$TMP/in" || exit
		[ "$(type -t real_setup)" != function ] || real_setup >/dev/null || exit
		timeout 120 valgrind --run-libc-freeres=no \
		--run-cxx-freeres=no --log-fd=9 -- "$@" \
		9>&1 >"$TMP/valgrind.out" 2>&1 </dev/null |
		sed -n 's/.*total heap usage: \([0-9,]*\) allocs, \([0-9,]*\) frees, \([0-9,]*\) .*/\1 \2 \3/p')
	wanted=$(tr -d , <<<"$seen")
	expect_eq "$name as memcheck counts: allocs frees bytes" \
		"$(jq -r '.totals | "\(.allocs) \(.frees) \(.allocated_bytes)"' "$TMP/$name.exact.json")" \
		"$wanted"
}
