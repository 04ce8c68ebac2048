#!/bin/bash
# SPDX-License-Identifier: MIT
# root attaches to a process of another user: names come out of its files, read by
# somebody with that user's rights and no more. A file that its user may execute but not
# read shows that: root could read it.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command setpriv
[ "$(id -u)" = 0 ] || skip "only root attaches to others' processes"
prog=$(program turnover) || exit
mkdir -m 0700 "$TMP/closed"
mkdir -m 0711 "$TMP/open"
chmod 0711 "$TMP"

# look FILE: attaches to it for a second, as it runs for nobody.
look() {
	: >"$TMP/said"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$1" 0 1009 60 >"$TMP/said" &
	pid=$!
	wait_for 20 grep -q ready "$TMP/said"
	run "$SEEP" attach --exact --for 1s "$pid"
	expect_eq "$2: attached" "$status" 0
	kill "$pid"
	wait "$pid" 2>/dev/null
}

install -m 0755 "$prog" "$TMP/open/plain"
look "$TMP/open/plain" "a file for all"
expect_match "a file for all: function and line" "$err" '^    lose +turnover\.c:3[0-9]'

# Its folder is closed to its user: the file was opened for it.
install -m 0755 "$prog" "$TMP/closed/plain"
chmod 0711 "$TMP/closed"
: >"$TMP/said"
setpriv --reuid=65534 --regid=65534 --clear-groups "$TMP/closed/plain" 0 1009 60 >"$TMP/said" &
pid=$!
wait_for 20 grep -q ready "$TMP/said"
chmod 0700 "$TMP/closed"
run "$SEEP" attach --exact --for 1s "$pid"
expect_match "a closed folder: function and line" "$err" '^    lose +turnover\.c:3[0-9]'
kill "$pid"
wait "$pid" 2>/dev/null

install -m 0711 "$prog" "$TMP/open/secret"
look "$TMP/open/secret" "a file that may not be read"
expect_no_match "a file that may not be read: no names" "$err" 'lose'
expect_match "a file that may not be read: why" "$err" 'in secret +\(.*[Pp]ermission denied\)|secret.*Permission denied'
expect_match "all the same: figures" "$err" 'exact, nothing missed'
