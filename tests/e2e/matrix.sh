#!/bin/bash
# SPDX-License-Identifier: MIT
# The verdict on 24 leaking and 24 healthy programs, each over glibc, jemalloc, tcmalloc
# and mimalloc, recorded exactly, sampled, and attached to for 20 s: every leak named
# first with the word of matrix.table, no healthy program called LEAK, LEAK (minor) or
# LEAK likely, and hardly ever NO VERDICT. `make soak` does all 576, else forty programs
# once, the allocators and modes in turn. The programs mostly sleep, so many run at a
# time.
# timeout: 3600
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_libseep
need_command xargs jq
export COLUMNS=80 SEEP TMP
cd "$TMP" || exit

# library ALLOCATOR: what to preload for it, - for glibc; nothing if it is not installed.
library() {
	case $1 in
	glibc) echo - ;;
	jemalloc) find_library libjemalloc.so.2 ;;
	tcmalloc) find_library libtcmalloc_minimal.so.4 ;;
	mimalloc) find_library libmimalloc.so.2 ;;
	esac
}

# matrix_run SECONDS CELL PROGRAM LIBRARY OPTIONS...: under seep run. "" is no library.
matrix_run() {
	local seconds=$1 cell=$2 program=$3 library=$4
	shift 4
	LD_PRELOAD=$library timeout 60 "$SEEP" run "$@" --json --log-file "$cell.json" -o "$cell.rec" -- "$program" "$seconds" \
		>"$cell.said" 2>"$cell.err" </dev/null
}

# matrix_attach CELL PROGRAM LIBRARY: starts it, attaches to it, ends it.
matrix_attach() {
	local cell=$1 pid target
	LD_PRELOAD=$3 "$2" 30 >"$cell.said" 2>&1 </dev/null &
	pid=$!
	sleep 1
	target=$(awk '$1 == "target" { print $2 }' "$cell.said")
	timeout 60 "$SEEP" attach --for 20s --json --log-file "$cell.json" -o "$cell.rec" "${target:-$pid}" \
		>/dev/null 2>"$cell.err" </dev/null
	kill "${target:-$pid}"
	wait $pid
}

# one_cell NAME ALLOCATOR MODE LIBRARY: leaves NAME.ALLOCATOR.MODE.json and .text. LIBRARY
# is - for none.
one_cell() {
	local cell=$1.$2.$3 program=$TMP/programs/$1 library=${4#-}
	case $3 in
	exact) matrix_run 3.2 "$cell" "$program" "$library" ;;
	sampled) matrix_run 6 "$cell" "$program" "$library" --sample 2K ;;
	attach) matrix_attach "$cell" "$program" "$library" 2>/dev/null ;;
	esac
	"$SEEP" report "$cell.rec" >"$cell.text" 2>>"$cell.err"
	rm -f "$cell.rec"
}

# word_of CELL: the verdict in its JSON, in the words of the table; "unequal" if the text
# has another.
word_of() {
	local verdict
	verdict=$(jq -r .summary.verdict "$1.json" 2>/dev/null)
	case $(grep -m 1 -E '^(WRONG|KILLED|LEAK|GROWING|PARTIAL|NO VERDICT|STEADY|OK)' "$1.text") in
	"$verdict  "*) ;;
	*) verdict=unequal ;;
	esac
	case $verdict in
	"LEAK (minor)") echo minor ;;
	"LEAK likely") echo likely ;;
	*) echo "${verdict/ /_}" ;;
	esac
}

# is_right WORD WANTED
is_right() {
	case $2 in
	healthy) case $1 in LEAK | minor | likely | WRONG | KILLED | unequal) return 1 ;; *) return 0 ;; esac ;;
	esac
	case ,$2, in *,"$1",*) return 0 ;; *) return 1 ;; esac
}

# first_site CELL: the lines of the entry ` 1  ` of its report.
first_site() { sed -n '/^ 1  /,/^\( 2  \|[^ ]\)/p' "$1.text"; }

# Which cells: NAME ALLOCATOR MODE LIBRARY, those that attach first because they take
# longest.
grep -v '^#' "$ROOT/tests/e2e/matrix.table" | head -n "$(times 40 1000)" >table
export -f program one_cell matrix_run matrix_attach
export ROOT BUILD
cut -d ' ' -f 1 table | xargs -P 4 -I NAME bash -c 'program matrix/NAME' >/dev/null || exit
mkdir "$TMP/programs"
allocators=()
for allocator in glibc jemalloc tcmalloc mimalloc; do
	if [ -n "$(library $allocator)" ]; then allocators+=("$allocator"); else left_out "no $allocator here"; fi
done
modes=(attach exact sampled exact exact)
declare -A given # cells of each mode so far: two in a row, a leak and a healthy one, have the same allocator
number=0
while read -r name _; do
	path=$(program "matrix/$name") || exit
	ln -s "$path" "programs/$name"
	mode=${modes[$((number++ % 5))]}
	allocator=${allocators[$((${given[$mode]:-0} / 2 % ${#allocators[@]}))]}
	given[$mode]=$((${given[$mode]:-0} + 1))
	if [ -n "$SOAK" ]; then
		for allocator in "${allocators[@]}"; do
			for mode in attach sampled exact; do echo "$name $allocator $mode $(library "$allocator")"; done
		done
	else
		echo "$name $allocator $mode $(library "$allocator")"
	fi
done <table >cells
awk '$3 == "attach"' cells >ordered
awk '$3 != "attach"' cells >>ordered

xargs -P "$(times 16 12)" -L 1 bash -c 'one_cell "$@"' one_cell <ordered

# judge NAME ALLOCATOR MODE: leaves in $wrong what is wrong with that cell, or nothing.
declare -A columns=([exact]=4 [sampled]=5 [attach]=6)
judge() {
	local cell=$1.$2.$3 wanted
	read -r kind site wanted < <(awk -v name="$1" -v column="${columns[$3]}" '$1 == name { print $2, $3, $column }' table)
	word=$(word_of "$cell")
	wrong=
	grep -q "^expect site=$site verdict=" "$cell.said" || wrong="does not say its truth"
	if [ "$word" = NO_VERDICT ] && [ "$3" != exact ]; then
		return # counted below
	elif [ "$word" = NO_VERDICT ] || ! is_right "$word" "$wanted"; then
		wrong="wanted $wanted, got $word"
	elif [ "$kind" = leak ] && ! first_site "$cell" | grep -q "^    $site "; then
		wrong="$site is not named first"
	fi
}

# A program that is held up for as long as an interval stops to leak evenly: where growth
# decides, a cell that came out wrong gets one more chance. The table below has the words
# of the first time.
: >again
while read -r name allocator mode library; do
	judge "$name" "$allocator" "$mode"
	echo "$allocator $mode $kind $word" >>words
	[ "$word" != NO_VERDICT ] || echo "no verdict: $(grep -h '^NO VERDICT' "$name.$allocator.$mode.text")  $name.$allocator.$mode"
	[ -z "$wrong" ] || [ "$mode" = exact ] || echo "$name $allocator $mode $library" >>again
done <ordered
if [ -s again ]; then
	echo "tried again: $(awk '{ printf "%s%s.%s.%s", sep, $1, $2, $3; sep = ", " }' again)"
	xargs -P "$(times 16 12)" -L 1 bash -c 'one_cell "$@"' one_cell <again
fi
while read -r name allocator mode _; do
	judge "$name" "$allocator" "$mode"
	if [ -z "$wrong" ]; then
		pass
	else
		fail "$name.$allocator.$mode" "$wrong" "$(head -n 14 "$name.$allocator.$mode.text")" \
			"$(cat "$name.$allocator.$mode.err")"
	fi
done <ordered

echo
echo "allocator  mode     kind     words"
sort words | uniq -c | awk '{ key = sprintf("%-10s %-8s %-8s", $2, $3, $4); said[key] = said[key] " " $5 " " $1 }
	END { for (key in said) print key said[key] }' | sort
echo
# NO VERDICT: at most a tenth of a mode over an allocator, or of all where a mode has only
# a few.
while read -r group none of; do
	expect_between "$group: NO VERDICT, of $of" "$none" 0 $((of / 10))
done < <(awk -v soak="$SOAK" '{ group = soak ? $1 "/" $2 : "all"; of[group]++; none[group] += $4 == "NO_VERDICT" }
	END { for (group in of) print group, none[group], of[group] }' words)
