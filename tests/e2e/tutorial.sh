#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands in docs/tutorial.md and docs/tutorial/*.md are typed as they stand there,
# and print what the pages show.
#
#	SEEP_BLESS=1 tests/e2e/tutorial.sh [PAGE...]	puts what is printed now into the pages: read the difference
# timeout: 900
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command python3 gcc

mkdir "$TMP/bin" "$TMP/work"
for name in seep jeprof google-pprof pprof mtrace flamegraph.pl valgrind; do
	ln -s "$SEEP" "$TMP/bin/seep-$name"
done
mv "$TMP/bin/seep-seep" "$TMP/bin/seep"
export PATH=$TMP/bin:$PATH LD_LIBRARY_PATH=$BUILD COLUMNS=80 PPROF_TMPDIR=$TMP SEEP_BUILD=$BUILD
export SEEP_EXAMPLES=$ROOT/examples SEEP_PROGRAMS=$ROOT/tests/programs XDG_DATA_HOME=$TMP/data
unset PYTHONMALLOC DEBUGINFOD_URLS

pages=("$@")
shopt -s nullglob
[ $# -gt 0 ] || pages=("$ROOT/docs/tutorial.md" "$ROOT"/docs/tutorial/*.md)
cd "$TMP/work" || exit
for page in "${pages[@]}"; do
	run python3 "$ROOT/tests/e2e/lib_pages.py" ${SEEP_BLESS:+--write} "$page"
	printf '%s\n' "$out" | grep '^left out: '
	expect_eq "${page##*/}" "$status" 0
	if [ "$status" = 0 ] && [ -z "${SEEP_BLESS:-}" ]; then
		expect_match "${page##*/}: commands" "$out" '^[1-9][0-9]* commands as shown|^left out'
	else
		printf '%s\n' "$out" "$err"
	fi
done

# The picture in README.md shows what the program prints: its text, without colours.
words() { sed -E 's/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g; s/ +/ /g; s/^ //'; }
picture=$(sed -n 's/.*textLength[^>]*>\(.*\)<\/text>/\1/p' "$ROOT/docs/images/run.svg" | words)
${CC:-gcc} -g -o requests "$ROOT/examples/requests.c" || exit
run seep run --no-save ./requests
expect_match "the picture: the verdict" "$picture" '^LEAK$'
while IFS= read -r line; do
	expect_eq "the picture: $line" "$(grep -cFx -e "$line" <<<"$picture")" 1
done < <(sed -n '2,8p' <<<"$err" | words)
