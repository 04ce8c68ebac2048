#!/bin/bash
# SPDX-License-Identifier: MIT
# One file travels: in another folder, with program, library and source gone, every report
# of a recording is the same byte for byte. With --no-names it still gives the same
# figures.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
mkdir "$TMP/home" "$TMP/away"
cd "$TMP/home" || exit
cat >part.c <<'END'
#include <stdlib.h>
void *part_make(unsigned n);
static inline __attribute__((always_inline)) void *inlined(unsigned n) { return malloc(n * 11); }
void *part_make(unsigned n) { return inlined(n); }
END
cat >whole.c <<'END'
#include <stdio.h>
#include <stdlib.h>
void *part_make(unsigned n);
static void *volatile keep;
int main(void)
{
	for (unsigned i = 1; i <= 97; i++)
		keep = part_make(i);
	keep = calloc(53, 41);
	puts("expect bytes=54456 blocks=98");
	return 0;
}
END
${CC:-gcc} -g -O2 -fno-optimize-sibling-calls -fPIC -shared -o libpart.so part.c || exit
${CC:-gcc} -g -O2 -o whole whole.c -L. -lpart -Wl,-rpath,"$TMP/home" || exit
run "$SEEP" run -o whole.rec -- ./whole
expect_eq "status" "$status" 0
run "$SEEP" run --no-names -o bare.rec -- ./whole
expect_eq "status without names" "$status" 0

views=('' '--top' '--top --bytes' '--all' '--by peak' '--json' '--no-skip --all')
reports() { # FILE FOLDER: every view, with the path of the recording alone left out
	local i
	for i in "${!views[@]}"; do
		# shellcheck disable=SC2086 # words
		"$SEEP" report ${views[i]} "$1" >"$2/$i" 2>&1 || echo "status $?" >>"$2/$i"
	done
}
mkdir before after
reports whole.rec before
expect_json "figures" before/5 '.totals | [.live_bytes, .live_blocks]' '[58552,99]' # and stdout's 4,096
expect_match "the line is in it" "$(cat before/3)" 'part\.c:[0-9]+ .*malloc\(n \* 11\)'
cp whole.rec bare.rec ../away
for file in whole libpart.so whole.c part.c; do mv $file $file.gone; done
cd ../away || exit
reports whole.rec ../home/after
for i in "${!views[@]}"; do
	expect_file "report ${views[i]}" ../home/after/"$i" ../home/before/"$i"
done
mv ../home ../gone
mkdir ../home
mkdir ../home/after
reports whole.rec ../home/after
for i in "${!views[@]}"; do
	expect_file "folder gone too: report ${views[i]}" ../home/after/"$i" ../gone/before/"$i"
done
run "$SEEP" report --json bare.rec
expect_eq "without names: status" "$status" 0
expect_json "without names: figures" "$TMP/out" '.totals | [.live_bytes, .live_blocks]' '[58552,99]'
expect_json "without names: says why" "$TMP/out" \
	'[.modules[] | select(.path | test("libpart|whole")) | .why_no_names != null] | unique' '[true]'
