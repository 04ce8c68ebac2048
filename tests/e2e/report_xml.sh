#!/bin/bash
# SPDX-License-Identifier: MIT
# The XML of memcheck's leaks, element by element as valgrind writes it on the same
# program.
. "$(dirname "$0")/lib.sh"
# timeout: 120
need_seep
need_libseep
need_command valgrind python3
export LC_ALL=C
same=$ROOT/tests/e2e/lib_report.py
c=$(program leak_report) || exit
cd "$TMP" || exit
cat >some.supp <<'END'
{
   lists
   Memcheck:Leak
   fun:calloc
   fun:lose_list
}
{
   < & >
   Memcheck:Leak
   match-leak-kinds: reachable
   ...
   fun:main
}
END

# both NAME OPTION...
both() {
	local name=$1
	shift
	valgrind "$@" --xml=yes --xml-file="$name.theirs" "$c" 'a<b' 3 >/dev/null 2>&1 </dev/null
	expect_eq "$name: valgrind's status" $? 3
	"$SEEP" valgrind "$@" --xml=yes --xml-file="$name.ours" "$c" 'a<b' 3 >/dev/null 2>"$TMP/err" </dev/null
	expect_eq "$name: status" $? 3
	expect_eq "$name: nothing on stderr" "$(cat "$TMP/err")" ''
	/usr/bin/python3 "$same" xml "$name.theirs" >"$name.vg"
	/usr/bin/python3 "$same" xml "$name.ours" >"$name.seep"
	expect_file "$name: as valgrind writes it" "$name.seep" "$name.vg"
}

both all --show-leak-kinds=all
expect_eq "all: errors" "$(grep -c '^ error$' all.seep)" 17
expect_match "all: bytes" "$(cat all.seep)" '^   leakedbytes: 336$'
both suppressed --leak-check=full --suppressions=some.supp --gen-suppressions=all
expect_match "suppressed: counts" "$(cat suppressed.seep)" '^   name: < & >$'

# The same of a recording, and by the options of seep itself.
"$SEEP" run -o a.rec --xml-file=run.xml -- "$c" 'a<b' >/dev/null 2>err
expect_match "the report is there as well" "$(cat err)" '^LEAK '
expect_eq "run: errors" "$(/usr/bin/python3 "$same" xml run.xml | grep -c '^ error$')" 13
"$SEEP" leaks --xml a.rec >leaks.xml
expect_eq "leaks: the same" "$(/usr/bin/python3 "$same" xml leaks.xml)" "$(/usr/bin/python3 "$same" xml run.xml)"
