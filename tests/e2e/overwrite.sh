#!/bin/bash
# SPDX-License-Identifier: MIT
# No command writes over a recording, nor over a file that seep did not write in the same
# format; what it writes itself it may replace. One view on a command line, and no empty
# argument for a process or file. Golden: overwrite/refused.txt has every command and all
# that it printed.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
cd "$TMP" || exit

cat >leaky.c <<'END'
#include <stdlib.h>
static void *volatile last;
int main(void) { for (int i = 0; i < 23; i++) last = malloc(1000); return 0; }
END
"${CC:-gcc}" -g -O1 -fno-builtin -o leaky leaky.c || exit
expect_status 0 "$SEEP" run -o my.rec ./leaky
cp my.rec kept.rec
cp leaky.c kept.c

# refused STATUS WHY FILE COMMAND...: one line, and FILE is as it was.
refused() {
	local wanted=$1 why=$2 file=$3 before
	shift 3
	before=$(cksum <"$file")
	show "$@"
	expect_eq "status of $*" "$status" "$wanted"
	expect_match "said by $*" "$err" "^seep[a-z ]*: $why"
	expect_eq "one line of $*" "$(wc -l <"$TMP/err")" 1
	expect_eq "$file after $*" "$(cksum <"$file")" "$before"
}
rec='my.rec: is a recording and would be overwritten; name another file to write$'
other='exists and is not'

# ---- a recording where a file to write is named ----
refused 2 "$rec" my.rec "$SEEP" report --flame my.rec
refused 2 "$rec" my.rec "$SEEP" report --html my.rec
refused 2 "$rec" my.rec "$SEEP" report --svg my.rec
refused 2 "$rec" my.rec "$SEEP" diff --flame my.rec kept.rec
refused 2 "$rec" my.rec "$SEEP" diff --html my.rec kept.rec kept.rec
refused 2 "$rec" my.rec "$SEEP" convert kept.rec my.rec
refused 2 "$rec" my.rec "$SEEP" convert kept.rec --to folded my.rec
refused 2 'my.rec: is an input and would be overwritten; name another file to write$' my.rec "$SEEP" convert my.rec --to folded my.rec
refused 2 "$rec" my.rec "$SEEP" run --log-file my.rec ./leaky
refused 2 "$rec" my.rec "$SEEP" leaks --log-file my.rec kept.rec
refused 2 "$rec" my.rec "$SEEP" watch --metrics my.rec $$
refused 2 "$rec" my.rec "$SEEP" dump -o my.rec $$ stack
refused 2 "$rec" my.rec "$SEEP" leaks --junit my.rec kept.rec
refused 2 "$rec" my.rec "$SEEP" leaks --xml-file my.rec --xml kept.rec
refused 2 "$rec" my.rec "$SEEP" run -o other.rec --junit my.rec ./leaky
expect_eq "run --junit: the program was not started" "$(ls other.rec 2>/dev/null)" ""

# ---- a file of somebody else ----
refused 2 "leaky.c: $other a flame graph that seep wrote" leaky.c "$SEEP" report --flame leaky.c my.rec
refused 2 "leaky.c: $other a page that seep wrote" leaky.c "$SEEP" report --html leaky.c my.rec
refused 2 "leaky.c: $other a file in folded format that seep wrote" leaky.c "$SEEP" convert my.rec --to folded leaky.c
refused 2 "leaky.c: $other a recording" leaky.c "$SEEP" run -o leaky.c ./leaky
refused 2 "leaky.c: $other a recording" leaky.c "$SEEP" attach -o leaky.c $$
refused 2 "leaky.c: $other a dump" leaky.c "$SEEP" dump -o leaky.c $$ stack

# ---- what seep wrote, and what is empty ----
: >empty.svg
for file in new.svg new.svg empty.svg; do
	show "$SEEP" report --flame $file my.rec
	expect_eq "--flame $file: status" "$status" 0
	expect_eq "--flame $file: said" "$err" "wrote $file"
	expect_eq "--flame $file: nothing else" "$out" ""
done
for file in new.html new.html; do
	show "$SEEP" report --html $file my.rec
	expect_eq "--html $file: said" "$err" "wrote $file"
done
refused 2 "new.svg: $other a page" new.svg "$SEEP" report --html new.svg my.rec
for ending in json csv dot speedscope.json; do
	expect_status 0 "$SEEP" convert my.rec "new.$ending"
	expect_eq "convert to $ending: said" "$err" "wrote new.$ending"
	expect_status 0 "$SEEP" convert my.rec "new.$ending"
done
# These have nothing to be recognised by; a mark that some file systems cannot keep helps.
for ending in folded heap pb.gz; do
	expect_status 0 "$SEEP" convert my.rec "new.$ending"
	run "$SEEP" convert my.rec "new.$ending"
	if [ "$status" = 0 ]; then
		expect_eq "convert to $ending again: said" "$err" "wrote new.$ending"
	else
		left_out "no extended attributes in $TMP"
	fi
	echo "a;b 7" >>"new.$ending"
	refused 2 "new.$ending: $other " "new.$ending" "$SEEP" convert my.rec "new.$ending"
done
expect_status 0 "$SEEP" run -o my.rec ./leaky
run "$SEEP" convert my.rec -t folded -
expect_eq "to stdout: nothing is said" "$err" ""

# ---- two runs with one pid ----
mkdir twice
for pid in 1 2; do
	run "$SEEP" run --dir twice ./leaky
	: $pid
done
expect_eq "recordings of two runs" "$(find twice -name 'seep.leaky.*.rec' | wc -l)" 2
if unshare -rpf true 2>/dev/null; then
	mkdir same
	for _ in 1 2 3; do
		unshare -rpf --mount-proc "$SEEP" run --dir same ./leaky >/dev/null 2>&1
	done
	expect_eq "three runs with the same pid" "$(find same -name 'seep.leaky.*.rec' | wc -l)" 3
else
	left_out "no pid namespaces here"
fi

# ---- the program itself, and two reports into one file ----
cp leaky prog
printf '#!/bin/sh\nexec ./leaky\n' >script
chmod +x script
for file in prog script; do
	cp $file $file.was
	for option in --log-file --junit --xml-file --sarif; do
		run "$SEEP" run --no-save $option $file ./prog
		expect_eq "$option $file: status" "$status" 2
		expect_match "$option $file: said" "$err" "^seep: $file: is a program and would be overwritten; name another file to write"
		expect_status 0 cmp $file $file.was
	done
done
refused 2 '-o and --log-file name the same file' my.rec "$SEEP" run -o y.rec --log-file y.rec ./leaky
refused 2 'two reports into one file: name another one' my.rec "$SEEP" run --no-save --junit y.xml --sarif y.xml ./leaky

# ---- one view ----
refused 2 '--flame and --tree: one view at a time' my.rec "$SEEP" report --tree --flame two.svg my.rec
refused 2 '--traces and --tree: one view at a time' my.rec "$SEEP" report --top --traces --tree my.rec
refused 2 '--flame and --html: one view at a time' my.rec "$SEEP" report --flame two.svg --html two.html my.rec
refused 2 '--flame and --flame: one view at a time' my.rec "$SEEP" report --flame two.svg --flame three.svg my.rec
refused 2 '--svg and --png: one view at a time' my.rec "$SEEP" report --svg two.svg --png two.png my.rec
refused 2 '--peek and --peek: one view at a time' my.rec "$SEEP" report --peek main --peek malloc my.rec
expect_eq "none was written" "$(ls two.* three.* 2>/dev/null)" ""

# ---- an empty argument ----
for command in report leaks scan why watch top dump mark pause resume attach detach timeline; do
	"$SEEP" help $command >/dev/null 2>&1 || continue
	show "$SEEP" $command ""
	expect_eq "$command '': status" "$status" 2
	expect_match "$command '': said" "$err" '^seep [a-z]+: an argument is empty; usage: seep '
	expect_eq "$command '': one line" "$(wc -l <"$TMP/err")" 1
done
refused 2 'an argument is empty; usage: seep diff OLD NEW' my.rec "$SEEP" diff my.rec ""
refused 2 'an argument is empty; usage: seep convert IN... OUT' my.rec "$SEEP" convert "" x.folded
expect_shown "every command, word for word" overwrite/refused.txt "s/ $$\\b/ PID/"
