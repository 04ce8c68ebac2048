# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Cases of tests/programs/wrong_*: each says what is wrong with it and in which functions.
# seep must find exactly that, with lines that hold what they are said to, and nothing in
# the twin without the bug; valgrind must find it too, where it can see it.
need_seep
need_libseep
need_command jq
cd "$TMP" || exit

# said JSON: "KIND in=F freed=F alloc=F where=W" of every error, one a line; parts that
# are not there are left out.
said() {
	jq -r '. as $r | .errors[] |
		def f($s): if $s == null then null else $r.frames[$s[0]].function end;
		[.kind, (f(.stack) | select(. != null) | "in=" + .),
		 (f(.freed_stack) | select(. != null) | "freed=" + .),
		 (f(.allocated_stack) | select(. != null) | "alloc=" + .),
		 (select(.kind == "invalid-free" and .block == null) | "where=" + .where)]
		| join(" ")' "$1"
}

# lines JSON: "LINE TEXT" of the innermost frame of every stack of every error.
lines() {
	jq -r '. as $r | .errors[] | (.stack, .freed_stack, .allocated_stack) | select(. != null) |
		$r.frames[.[0]] | "\(.line) \(.source)"' "$1"
}

# What memcheck says about a kind.
memcheck_words() {
	case $1 in
	double-free | invalid-free | realloc-of-freed) echo 'Invalid free() / delete / delete[] / realloc()' ;;
	mismatched-free) echo 'Mismatched free() / delete / delete []' ;;
	fishy-size) echo 'has a fishy (possibly negative) value' ;;
	overlap) echo 'Source and destination overlap in' ;;
	out-of-bounds-write | write-after-free | invalid-write) echo 'Invalid write of size' ;;
	invalid-read) echo 'Invalid read of size' ;;
	esac
}

valgrind_one() {
	env -i PATH="$PATH" LC_ALL=C timeout -k 5 60 valgrind --log-file="$TMP/$2.vg" "$1" "$2" bug \
		>/dev/null 2>&1 </dev/null
	true
}
export -f valgrind_one
export TMP

# run_case PROGRAM CASE bug|fixed OPTION...: its report in $TMP/json, its output in
# $TMP/out.
run_case() {
	local prog=$1 name=$2 how=$3
	shift 3
	env -i PATH="$PATH" LC_ALL=C timeout -k 5 60 "$SEEP" run "$@" --json --log-file "$TMP/json" \
		-o "$TMP/rec" -- "$prog" "$name" "$how" >"$TMP/out" 2>"$TMP/err" </dev/null
}

# wrong_case PROGRAM SOURCE CASE OPTION...
wrong_case() {
	local prog=$1 source=$2 name=$3 truth plain status got line text
	shift 3
	plain=$("$prog" "$name" fixed 2>/dev/null </dev/null)
	run_case "$prog" "$name" fixed "$@"
	expect_eq "$name fixed: exit status" "$?" 0
	expect_eq "$name fixed: output" "$(cat "$TMP/out")" "$plain"
	expect_eq "$name fixed: nothing found" "$(said "$TMP/json")" ""
	# In a shell of its own, which says that it was killed to nobody.
	status=$(bash -c '"$0" "$1" bug >/dev/null </dev/null; echo $?' "$prog" "$name" 2>/dev/null)
	run_case "$prog" "$name" bug "$@"
	got=$?
	case " $* " in
	*' --keep-going '*) expect_eq "$name: goes on" "$(tail -n 1 "$TMP/out")" end ;;
	*' --redzone'*) ;; # there is room for what would have hit the allocator
	*) expect_eq "$name: exit status" "$got" "$status" ;;
	esac
	truth=$(sed -n 's/^expect //p' "$TMP/out")
	expect_eq "$name: found" "$(said "$TMP/json")" "$truth"
	# A line is told with its text: it is the one that stands there.
	while read -r line text; do
		expect_eq "$name: line $line" "$(sed -n "${line}s/^[[:space:]]*//p" "$source")" "$text"
	done < <(lines "$TMP/json")
}

# wrong_valgrind PROGRAM CASE...: valgrind finds the same kind in the same function.
wrong_valgrind() {
	local prog=$1 name truth place
	shift
	have valgrind || return
	# shellcheck disable=SC2016 # for the shell that xargs starts
	printf '%s\n' "$@" | xargs -P 2 -I{} bash -c 'valgrind_one "$0" "{}"' "$prog"
	for name; do
		truth=$("$prog" "$name" bug 2>/dev/null </dev/null | sed -n 's/^expect //p')
		expect_eq "$name: valgrind's words" \
			"$(grep -cF "$(memcheck_words "${truth%% *}")" "$TMP/$name.vg")" 1
		# What seep finds later has only its allocation in common with what
		# memcheck finds at once.
		case $truth in
		out-of-bounds-write* | write-after-free*) place=alloc ;;
		*) place=in ;;
		esac
		expect_match "$name: valgrind's place" "$(cat "$TMP/$name.vg")" \
			"(by|at) 0x[0-9A-F]+: $(sed -n "s/.*$place=\([a-z_]*\).*/\1/p" <<<"$truth")[ (]"
	done
}

# told_by LOG: the first error in a log of memcheck's, or of ours in its words, without
# what differs between two runs: addresses, and where the functions of the allocator are;
# nor parameters, which we do not tell.
told_by() {
	sed -E 's/^==[0-9]+== ?//; s/0x[0-9A-Fa-f]+/ADDRESS/g; s/ \(in [^)]*\)$//; s/ \(vg_replace[^)]*\)$//
		s/^(   (by|at) ADDRESS: [a-z_]+)\([^)]*\) \(/\1 (/' "$1" |
		sed -nE '/^(Invalid|Mismatched|Argument|Source)/,/^$/p' | sed '/^$/,$d'
}

# wrong_words PROGRAM CASE...: the same words, line by line, as memcheck. After
# wrong_valgrind.
wrong_words() {
	local prog=$1 name
	shift
	have valgrind || return
	for name; do
		"$SEEP" run --keep-going --free-stacks --check-copy --format=memcheck --log-file "$TMP/words" \
			-o "$TMP/rec" -- "$prog" "$name" bug >/dev/null 2>&1 </dev/null
		expect_eq "$name: memcheck's words" "$(told_by "$TMP/words")" "$(told_by "$TMP/$name.vg")"
	done
}
