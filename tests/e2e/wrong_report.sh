#!/bin/bash
# SPDX-License-Identifier: MIT
# Wrong uses of the heap in every form of report: valgrind's XML beside valgrind's own,
# JUnit's; suppressed, counted by --fail-on, compared with a baseline. And seep valgrind
# looks for them as valgrind does.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"
need_command python3

prog=$(program wrong_heap) || exit
in_of() { "$1" "$2" bug 2>/dev/null </dev/null | sed -n 's/^expect .*in=\([a-z_]*\).*/\1/p'; }

# What a file of valgrind's schema says of errors that are no leaks: kind, words, and the
# program's functions and lines of each stack. Addresses differ from run to run.
cat >errors.py <<'PY'
import re, sys, xml.etree.ElementTree as tree
top = tree.parse(sys.argv[1]).getroot()
assert top.tag == "valgrindoutput" and top.findtext("protocolversion") == "4"
counts = {p.findtext("unique"): int(p.findtext("count")) for p in top.find("errorcounts")}
for e in top.findall("error"):
    kind = e.findtext("kind")
    if kind.startswith("Leak_"):
        continue
    print(kind, e.findtext("tid"), counts[e.findtext("unique")])
    for part in e:
        if part.tag in ("what", "auxwhat"):
            print(" ", re.sub("0x[0-9a-fA-F]+", "ADDRESS", part.text.strip()))
        elif part.tag == "stack":
            names = [f.findtext("fn") for f in part]
            lines = [f.findtext("line") for f in part[1:]]
            print("   ", *[re.sub(r"\(.*", "", n) for n in names], "|", *lines)
PY

both() { # PROGRAM CASE
	timeout -k 5 60 "$SEEP" valgrind --xml=yes --xml-file="$TMP/$2.seep" "$1" "$2" bug >/dev/null 2>&1 </dev/null
	python3 errors.py "$2.seep" >"$2.got" || fail "$2: not read"
	have valgrind || return
	timeout -k 5 60 valgrind --xml=yes --xml-file="$TMP/$2.vg" "$1" "$2" bug >/dev/null 2>&1 </dev/null
	python3 errors.py "$2.vg" >"$2.want"
	expect_eq "$2: as in valgrind's XML" "$(cat "$2.got")" "$(cat "$2.want")"
}
for name in double_free free_inside free_global realloc_freed fishy_malloc overlap_strcpy; do
	both "$prog" "$name"
done
expect_match "a double free in XML" "$(cat double_free.got)" '^InvalidFree 1 1
  Invalid free\(\) / delete / delete\[\] / realloc\(\)
    free double_free'

# seep valgrind looks for what was written where it should not, unless told not to.
run "$SEEP" valgrind "$prog" overflow bug
expect_match "seep valgrind: written behind" "$err" '== Invalid write of size [0-9]+, found later'
run "$SEEP" valgrind --redzone-size=0 --freelist-vol=0 "$prog" overflow bug
expect_no_match "seep valgrind: no room" "$err" '== Invalid write'
run "$SEEP" valgrind "$prog" write_after_free bug
expect_match "seep valgrind: written after" "$err" '== Invalid write of size [0-9]+, found later'

# ---- suppressed ----
f=$(in_of "$prog" double_free)
printf '{\n   not_that\n   Memcheck:Addr4\n   fun:free\n   ...\n}\n{\n   twice\n   Memcheck:Free\n   fun:free\n   fun:%s\n   fun:double_free\n}\n' "$f" >supp
run "$SEEP" run --keep-going --suppressions supp --format=memcheck -o s.rec -- "$prog" double_free bug
expect_no_match "suppressed: not told" "$err" 'Invalid free'
expect_match "suppressed: counted" "$err" 'ERROR SUMMARY: 0 errors from 0 contexts \(suppressed: 1 from 1\)'
run "$SEEP" run --keep-going --suppressions supp --error-exitcode 77 -o s.rec -- "$prog" double_free bug
expect_eq "suppressed: no error" "$status" 0
expect_no_match "suppressed: in seep's words" "$err" '^WRONG'
run "$SEEP" run --keep-going --suppressions supp --json -o s.rec -- "$prog" double_free bug
expect_eq "suppressed: in JSON" "$(jq -c '[.errors[] | [.kind, .suppressed]]' <<<"$err")" '[["double-free",true]]'
run "$SEEP" run --keep-going --suppressions supp --format=memcheck -o s.rec -- "$prog" free_global bug
expect_match "another one is told" "$err" 'ERROR SUMMARY: 1 errors from 1 contexts \(suppressed: 0 from 0\)'

# ---- judged ----
run "$SEEP" run --keep-going --fail-on 'wrong>0' -o j.rec -- "$prog" double_free bug
expect_eq "wrong>0: met" "$status" 1
expect_match "wrong>0: told" "$err" "fail-on wrong>0: 1 site using the heap wrongly$"
run "$SEEP" run --keep-going --fail-on 'errors>0' -o j.rec -- "$prog" double_free bug
expect_eq "errors>0: met" "$status" 1
run "$SEEP" run --keep-going --fail-on 'wrong>0' --suppressions supp -o k.rec -- "$prog" double_free bug
expect_eq "wrong>0: not when suppressed" "$status" 0
run "$SEEP" run --fail-on 'wrong>0,errors>0' -o k.rec -- "$prog" double_free fixed
expect_eq "wrong>0: not in the twin" "$status" 0
run "$SEEP" run --keep-going --fail-on 'wrong>0' --baseline j.rec -o k.rec -- "$prog" double_free bug
expect_eq "wrong>0: not more than before" "$status" 0
"$SEEP" report --json j.rec >j.json
run "$SEEP" run --keep-going --fail-on 'wrong>0' --baseline j.json -o k.rec -- "$prog" double_free bug
expect_eq "wrong>0: not more than in JSON" "$status" 0
"$SEEP" run -o clean.rec -- "$prog" double_free fixed >/dev/null 2>&1
run "$SEEP" run --keep-going --fail-on 'wrong>0' --baseline clean.rec -o k.rec -- "$prog" double_free bug
expect_eq "wrong>0: more than before" "$status" 1

# Suppressed then and now, and one that is new.
run "$SEEP" run --keep-going --suppressions supp --fail-on 'wrong>0' --baseline j.rec -o k.rec -- "$prog" free_global bug
expect_eq "wrong>0: new beside a suppressed one" "$status" 1

# ---- JUnit ----
run "$SEEP" run --keep-going --junit j.xml -o k.rec -- "$prog" double_free bug
expect_eq "JUnit" "$(python3 -c '
import xml.etree.ElementTree as tree
for c in tree.parse("j.xml").getroot().iter("testcase"):
    f = c.find("failure")
    if f is not None: print(c.get("name").split(" ")[:3], f.get("type"), f.get("message"))')" \
	"['InvalidFree', 'in', '$f'] InvalidFree Invalid free() / delete / delete[] / realloc()"
# A command line may hold anything; the files are XML all the same.
run "$SEEP" run --keep-going --junit u.xml --xml-file v.xml -o k.rec -- "$prog" double_free bug $'caf\xe9 \xc3\xa9 \x01<&'
expect_eq "bytes that are no text" "$(python3 -c '
import xml.etree.ElementTree as tree
print(tree.parse("u.xml").getroot().find("testsuite").get("name").split(" bug ")[1])
tree.parse("v.xml")')" $'caf\xef\xbf\xbd \xc3\xa9 ?<&'
