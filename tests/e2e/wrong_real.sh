#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of the system with room around their blocks, freed ones held back, some on
# fenced pages, and all of it: the same output and exit status as without, and nothing is
# wrong with them.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_wrong.sh"

printf '%s\n' '#include <stdio.h>' 'int main(void) { return puts("hello") < 0; }' >"$TMP/hello.c"
git init -q "$TMP/repo" && git -C "$TMP/repo" -c user.name=a -c user.email=a@b commit -q --allow-empty -m first

# beside OPTIONS NAME COMMAND...: run it with and without.
beside() {
	local opts=$1 name=$2 want before
	shift 2
	command -v "$1" >/dev/null || return
	want=$("$@" 2>/dev/null </dev/null)
	before=$?
	# shellcheck disable=SC2086 # options are words
	run "$SEEP" run $opts --no-leak-check --json --log-file "$TMP/json" -o "$TMP/real.rec" -- "$@"
	expect_eq "$name: exit status" "$status" "$before"
	expect_eq "$name: output" "$out" "$want"
	expect_eq "$name: nothing found" "$(said "$TMP/json")" ""
}

# shellcheck disable=SC2016 # for perl and bash
all() {
	beside "$1" "python3 $1" python3 -c 'import json, re, threading
t = [threading.Thread(target=lambda: json.dumps([str(i) for i in range(2000)])) for _ in range(3)]
[x.start() for x in t]; [x.join() for x in t]
print(len(re.findall("1", json.dumps(list(range(3000))))))'
	beside "$1" "git $1" git -C "$TMP/repo" log --stat
	beside "$1" "perl $1" perl -e 'my %h; $h{$_ % 997} .= "x$_" for 1 .. 20000; print scalar(keys %h), length $h{3}, "\n"'
	beside "$1" "sqlite3 $1" sqlite3 :memory: \
		'create table t(a); with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
		insert into t select i * i from n; select sum(a), count(*) from t where a % 7 = 1;'
	beside "$1" "gcc $1" gcc -O2 -S -o - "$TMP/hello.c"
	beside "$1" "sort $1" sort -r /etc/passwd
	beside "$1" "bash $1" bash -c 'for i in 1 2 3; do echo "$i$(echo x)"; done | tr x y'
}
all --redzone
all '--quarantine 16M'
all '--guard 1000'
all '--redzone=64 --quarantine 64K --guard 20 --check-copy --free-stacks'
