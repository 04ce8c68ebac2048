#!/bin/bash
# SPDX-License-Identifier: MIT
# `seep doctor`: parts that only some commands need are there, or it says in which package
# they are.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep

run "$SEEP" doctor
expect_eq "status" "$status" 0
for part in pcre2 graphviz libcurl libmicrohttpd ncurses libdebuginfod; do
	expect_eq "$part: one line" "$(grep -cE "^(ok  |note)  $part +" <<<"$out")" 1
done
expect_match "pcre2 is there: it was built with it" "$out" '^ok    pcre2 +libpcre2-8\.so\.0, for '
if have dot; then
	expect_match "graphviz is there" "$out" '^ok    graphviz +dot, for '
fi

# Nothing of it, told by files of their names that are no libraries, and an empty PATH.
mkdir "$TMP/none"
for name in libpcre2-8.so.0 libcurl.so.4 libcurl-gnutls.so.4 libmicrohttpd.so.12 libncursesw.so.6 libdebuginfod.so.1; do
	echo 'not a library' >"$TMP/none/$name"
done
run env PATH="$TMP/none" LD_LIBRARY_PATH="$TMP/none" "$SEEP" doctor
expect_eq "without them: status" "$status" 0
while read -r part package; do
	expect_match "without $part" "$out" "^note  $part +.* is not installed \\(Debian: $package\\); it is for "
done <<'END'
pcre2 libpcre2-8-0
graphviz graphviz
libcurl libcurl4
libmicrohttpd libmicrohttpd12
ncurses libncursesw6
libdebuginfod libdebuginfod1
END
