#!/bin/bash
# SPDX-License-Identifier: MIT
# seep ms_print: the same bytes as the real ms_print, for files of the real massif, for
# odd ones, and with all options.
. "$(dirname "$0")/lib.sh"
# timeout: 240
need_seep
steps=$(program massif_steps) || exit
golden=$ROOT/tests/golden/heap
mkdir "$TMP/bin" "$TMP/work"
ln -s "$SEEP" "$TMP/bin/ms_print"
cd "$TMP/work" || exit
cp "$golden/massif.out" .

# ---- without the real one ----
run "$SEEP" ms_print --threshold=1.5 --x=40 --y=10 massif.out
expect_eq "status" "$status" 0
if cmp -s "$TMP/out" "$golden/massif.ms_print.txt"; then pass; else fail "golden" "$(diff "$TMP/out" "$golden/massif.ms_print.txt")"; fi
run "$TMP/bin/ms_print" --threshold=1.5 --x=40 --y=10 massif.out
expect_eq "by its name" "$(tail -n +5 "$TMP/out" | md5sum)" "$(tail -n +5 "$golden/massif.ms_print.txt" | md5sum)"
run "$SEEP" ms_print - <massif.out
expect_eq "nothing on standard input" "$status" 3
gzip -c massif.out >packed
run "$SEEP" ms_print --threshold=1.5 --x=40 --y=10 packed
expect_eq "packed" "$(tail -n +5 "$TMP/out" | md5sum)" "$(tail -n +5 "$golden/massif.ms_print.txt" | md5sum)"

# ---- refusals ----
for wrong in --threshold=101 --threshold=x --x=3 --x=1001 --y=0 --nonsense ""; do
	# shellcheck disable=SC2086 # nothing at all is meant
	run "$SEEP" ms_print $wrong ${wrong:+massif.out}
	expect_eq "$wrong: usage" "$status" 2
done
run "$SEEP" ms_print --help
expect_match "help" "$out" '^ +--threshold M\.N '
refuse() { # WHAT MESSAGE: of a file on stdin
	cat >bad
	run "$SEEP" ms_print bad
	expect_eq "$1" "$status:$err" "3:seep: $2"
	expect_eq "$1: nothing is printed" "$out" ""
}
refuse "a head that is wrong" 'bad: line 2: want "cmd:", found "foo: y"' <<<$'desc: x\nfoo: y'
refuse "no end" 'bad: line 4: want time, and the file ends here' <<<$'desc: x\ncmd: y\ntime_unit: i\nsnapshot=0'
refuse "no snapshot" 'bad: line 3: there is no snapshot' <<<$'desc: x\ncmd: y\ntime_unit: i'
sed 's/^time_unit: B/time_unit: days/' massif.out | refuse "a unit" 'bad: time_unit: days: want i, ms, B or s'
sed 's/^ n1: 60013/ n1: 9999999/' massif.out | refuse "more than the whole" 'bad: line 66: want a line of a tree, not larger than its snapshot, found " n1: 9999999 0x109257: table (massif_ste"'
head -n 80 massif.out | refuse "a tree that breaks off" 'bad: line 80: want a line of a tree, not larger than its snapshot, and the file ends here'
sed 's/^time_unit: B/time_unit: s/' massif.out >seconds
run "$SEEP" ms_print seconds
expect_match "seconds, as heaptrack has them" "$out" '>h$'

have valgrind && have ms_print || exit 0

# ---- odd files ----
{
	printf 'desc: --alloc-fn=a\ndesc: --x=%%d%%s # a comment\n# more\n\ncmd:   ./p  100%% "x" \ntime_unit: ms\n'
	n=0
	for sums in "0 0 0 0 empty" "5000 0 0 0 detailed" "7200000 12345678901 1234567 89 peak" "7200000 7 8 9 empty" \
		"9000000 12345678902 1 2 detailed"; do
		read -r time heap extra stacks tree <<<"$sums"
		printf '#--\nsnapshot=%d\n#--\ntime=%s\nmem_heap_B=%s\nmem_heap_extra_B=%s\nmem_stacks_B=%s\nheap_tree=%s\n' \
			$n "$time" "$heap" "$extra" "$stacks" "$tree"
		n=$((n + 1))
		case $tree in
		empty) ;;
		*) printf 'n3: %s (root) 50%%\n n1: %s 0x1: f::{lambda()#1}::g (x.c:1)\n  n2: %s 0x2: %%n%%s (in /lib/x.so)\n   n0: %s a\n   n0: 0 b\n n0: 0 c\n n1: 0 d\n  n0: 0 e\n' \
			"$heap" "$((heap / 2))" "$((heap / 3))" "$((heap / 5))" ;;
		esac
	done
} >odd
head -n 19 massif.out >one
sed '/^snapshot=1$/,$d' massif.out | grep -v '^#-*$' >zero
compared=0
same() { # OPTION... FILE
	ms_print "$@" >theirs 2>/dev/null
	"$SEEP" ms_print "$@" >ours 2>log
	if [ -s ours ] && cmp -s ours theirs; then
		compared=$((compared + 1))
	else
		fail "ms_print $*" "$(diff ours theirs | head -n 20)" "$(cat log)"
	fi
}
for options in "" --threshold=0 --threshold=0.1% --threshold=40 "--x=4 --y=4" "--x=5 --y=1000" "--x=1000 --y=7"; do
	for file in odd one zero massif.out; do
		# shellcheck disable=SC2086 # options are words
		same $options $file
	done
done

# ---- files of the real massif ----
n=0
for options in "" "--time-unit=B --detailed-freq=1" "--pages-as-heap=yes --max-snapshots=30" "--stacks=yes" \
	"--time-unit=ms --threshold=0" "--depth=2 --alloc-fn=grow --heap-admin=64" "--heap=no --stacks=yes" "--ignore-fn=keep"; do
	n=$((n + 1))
	# shellcheck disable=SC2086 # options are words
	valgrind --tool=massif $options --massif-out-file="real.$n" "$steps" >/dev/null 2>log || cat log
	for print in "" --threshold=0 --threshold=20 "--x=100 --y=30"; do
		# shellcheck disable=SC2086 # options are words
		same $print "real.$n"
	done
done
expect_eq "the same bytes" "$compared" 60
