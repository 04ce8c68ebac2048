# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Cases of tests/programs/leak_*: each says itself what is lost; seep must find that, and
# so must valgrind, where there is one. Three tries for valgrind: a case with threads may
# differ by chance.
need_seep
need_libseep
need_command jq
cd "$TMP" || exit

# What the loader allocates for threads: seep calls it reachable, as it is.
cat >"$TMP/loader.supp" <<'END'
{
   loader
   Memcheck:Leak
   match-leak-kinds: all
   ...
   fun:_dl_allocate_tls
   ...
}
END

# memchecks TEXT: what memcheck is expected to find, from the truth of a case.
memchecks() {
	case $1 in
	*"(memcheck: "*) told "${1#*(memcheck: }" ;;
	*) told "$1" ;;
	esac
}

# told TEXT: "definite=B/N indirect=B/N possible=B/N reachable=B/N" from any order, 0/0
# where not named.
told() {
	local kind figure text=
	for kind in definite indirect possible reachable; do
		figure=$(grep -o "\b$kind=[0-9/]*" <<<"${1%%(memcheck: *}" | head -n 1)
		text+="${text:+ }${figure:-$kind=0/0}"
	done
	echo "$text"
}

# valgrind_says LOG: the same from its summary.
valgrind_says() {
	local text
	grep -q 'All heap blocks were freed' "$1" && { told ''; return; }
	text=$(sed -nE 's/,//g
		s/.*(definite|indirect|possib)ly lost: ([0-9]+) bytes in ([0-9]+) blocks.*/\1=\2\/\3/p
		s/.*still (reachable): ([0-9]+) bytes in ([0-9]+) blocks.*/\1=\2\/\3/p' "$1" | sed 's/^possib=/possible=/')
	[ -n "$text" ] || { echo "no summary"; return; }
	told "$text"
}

# seep_says JSON
seep_says() {
	jq -r '.summary.leaks | if .done then
		[("definite", "indirect", "possible", "reachable") as $k | "\($k)=\(.[$k + "_bytes"])/\(.[$k + "_blocks"])"]
		| join(" ") else "not done" end' "$1"
}

# Options of valgrind that matter here.
valgrind_on() { # LOG COMMAND...
	local log=$1
	shift
	env -i PATH="$PATH" LC_ALL=C valgrind --leak-check=full --show-leak-kinds=all --num-callers=30 \
		--suppressions="$TMP/loader.supp" --log-file="$log" "$@" </dev/null 2>/dev/null
}

# Half of the cases, in children of one valgrind: run in the background by xargs. A case
# whose child ends everything is left without a log, and tried alone later.
valgrind_half() { # PROGRAM N
	valgrind_on "$TMP/half.%p" "$1" each "$2" 2 >"$TMP/half$2" 2>/dev/null
	sed -n 's/^case //p' "$TMP/half$2" | while read -r name pid; do
		[ ! -e "$TMP/half.$pid" ] || mv "$TMP/half.$pid" "$TMP/$name.vg"
	done
}

# Everything that seep is asked, in the background as well: leaves
# NAME.{plain,status,out,json}.
seep_one() { # PROGRAM NAME
	"$1" "$2" >"$TMP/$2.plain" 2>/dev/null </dev/null
	local alone=$?
	env -i PATH="$PATH" LC_ALL=C SEEP_CACHE="$SEEP_CACHE" "$SEEP" run --json --log-file "$TMP/$2.json" -o "$TMP/$2.rec" -- \
		"$1" "$2" >"$TMP/$2.out" 2>"$TMP/$2.err" </dev/null
	echo "$? $alone" >"$TMP/$2.status"
	rm -f "$TMP/$2.rec"
}
export -f valgrind_on valgrind_half seep_one
export TMP SEEP

# leak_area PROGRAM: all of its cases.
leak_area() {
	local prog name truth got try valgrind=
	prog=$(program "$1") || exit
	"$prog" list >"$TMP/names"
	expect_match "$1: has cases" "$(wc -l <"$TMP/names")" '^[1-9][0-9]+$'
	if have valgrind; then
		valgrind=yes
	fi
	# shellcheck disable=SC2016 # for the shell that xargs starts
	{
		[ -z "$valgrind" ] || printf 'valgrind_half "$0" %d\n' 0 1
		sed 's/.*/seep_one "$0" &/' "$TMP/names"
	} | xargs -P 2 -d '\n' -n 1 bash -c 'eval "$1"' "$prog"
	while read -r name; do
		truth=$(told "$(grep '^expect ' "$TMP/$name.plain")")
		expect_match "$name: exit status" "$(cat "$TMP/$name.status")" '^([0-9]+) \1$'
		expect_file "$name: output" "$TMP/$name.out" "$TMP/$name.plain"
		expect_eq "$name: seep" "$(seep_says "$TMP/$name.json")" "$truth"
		[ -n "$valgrind" ] || continue
		truth=$(memchecks "$(grep '^expect ' "$TMP/$name.plain")")
		for try in 0 1 2 3; do
			[ $try -eq 0 ] || valgrind_on "$TMP/$name.vg" "$prog" "$name" >/dev/null
			got=$(valgrind_says "$TMP/$name.vg")
			[ "$got" != "$truth" ] || break
		done
		expect_eq "$name: valgrind" "$got" "$truth"
	done <"$TMP/names"
}
