# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Healthy programs as a new user would try seep on them (healthy.table): the folder in
# which they run, and what is expected of their reports.

# healthy_folder DIR: makes it. Everything in it is the same each time.
healthy_folder() {
	local i
	mkdir -p "$1/tree/a/b" "$1/tree/c" "$1/ng" "$1/out" "$1/home"
	cd "$1" || return
	export HOME=$1/home GIT_CONFIG_NOSYSTEM=1
	for i in $(seq 300); do
		echo "line $i: the quick brown fox jumps over the lazy dog $((i * 7919 % 1000))"
	done >text
	sed 's/fox/wolf/; 40,50d' text >text2
	for i in 1 2 3 4 5 6; do cp text "tree/a/f$i"; cp text2 "tree/a/b/g$i"; done
	printf '{"items":[%s{"id":0}]}\n' "$(for i in $(seq 200); do printf '{"id":%d,"name":"n%d"},' "$i" "$i"; done)" >data.json
	printf '#include <stdio.h>\nint square(int x) { return x * x; }\nint main(void) { printf("%%d\\n", square(7)); return 0; }\n' >hello.c
	printf '#include <map>\n#include <string>\nint main() { std::map<std::string, int> m; m["a"] = 1; return (int)m.size() - 1; }\n' >hello.cc
	gcc -c -o hello.o hello.c && gcc -o hello hello.o
	printf 'all: out/one out/two\nout/%%: text\n\tcp text $@\n' >Makefile
	printf 'cmake_minimum_required(VERSION 3.10)\nproject(hello C)\nadd_executable(hello hello.c)\n' >CMakeLists.txt
	printf '%%%%\nlist: | list "x";\n' >g.y
	printf '%%%%\n[a-z]+ ;\n%%%%\nint yywrap(void) { return 1; }\n' >l.l
	printf 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "yes"\nmsgstr "ja"\n' >m.po
	printf '<r>%s</r>\n' "$(for i in $(seq 100); do printf '<i n="%d">text</i>' "$i"; done)" >data.xml
	printf '.TH T 1\n.SH NAME\nt \\- a page\n' >t.1
	# shellcheck disable=SC2016 # for that script
	printf '#!/bin/bash\nfor i in 1 2 3; do x=$(ls tree/a | wc -l); a[$i]=$x; done\necho "${a[@]}"\n' >script.sh
	printf 'worker_processes 1;\nerror_log ng/error.log;\npid ng/nginx.pid;\nevents {}\nhttp { access_log off; client_body_temp_path ng/b; proxy_temp_path ng/p; fastcgi_temp_path ng/f; uwsgi_temp_path ng/u; scgi_temp_path ng/s; server { listen unix:ng/sock; root tree; } }\n' >ng/nginx.conf
	tar cf tree.tar tree && gzip -k tree.tar && xz -k tree.tar && bzip2 -k tree.tar
	(
		cd tree && git -c init.defaultBranch=main init -q && git config user.name t && git config user.email t@t &&
			git add . && git commit -qm one && echo more >>a/f1 && git commit -qam two && echo x >>a/f2
	)
	diff -u text text2 >text.patch
	printf 'scale=50\n4*a(1)\nquit\n' >sum.bc
	sqlite3 data.db 'create table t(a integer primary key, b text); insert into t(b) values ("x"),("y"),("z")'
}

# healthy_row NUMBER: runs that row of $TMP/list in a folder of its own. Leaves
# NUMBER.text, the report as a terminal of 80 columns has it, NUMBER.out and NUMBER.ms,
# how long that took; or NUMBER.absent.
healthy_row() {
	local rows=$TMP/rows command stop program began
	IFS=$'\t' read -r _ _ _ _ _ command stop < <(sed -n "$1p" "$TMP/list")
	program=${command#env * }
	command -v "${program%% *}" >/dev/null || { echo "no ${program%% *} here" >"$rows/$1.absent"; return; }
	cp -a "$TMP/folder" "$TMP/folders/$1" && cd "$TMP/folders/$1" || return
	export HOME=$PWD/home GIT_CONFIG_NOSYSTEM=1
	began=$(date +%s%3N)
	if [ -n "$stop" ]; then
		eval "timeout 50 \"$SEEP\" run -- $command" </dev/null >"$rows/$1.out" 2>"$rows/$1.err" &
		eval "$stop" >/dev/null 2>&1
		wait $!
	else
		eval "timeout 50 \"$SEEP\" run -- $command" </dev/null >"$rows/$1.out" 2>"$rows/$1.err"
	fi
	echo $(($(date +%s%3N) - began)) >"$rows/$1.ms"
	# What the program itself wrote there comes before the report.
	sed -nE '/^(WRONG|KILLED|LEAK|GROWING|PARTIAL|NO VERDICT|STEADY|OK)( |$)/,$p' "$rows/$1.err" >"$rows/$1.text"
}

# lines_at_80 FILE: how many lines of a screen it takes.
lines_at_80() {
	local line count=0
	while IFS= read -r line; do
		count=$((count + (${#line} > 80 ? (${#line} + 79) / 80 : 1)))
	done <"$1"
	echo $count
}

# fits_on_screen WHAT FILE
fits_on_screen() {
	local lines
	lines=$(lines_at_80 "$2")
	if [ "$lines" -gt 0 ] && [ "$lines" -le 25 ]; then
		pass
	else
		fail "$1: $lines lines at 80 columns" "$(cat "$2")"
	fi
}

# first_word FILE: that of its verdict, in the words of the table.
first_word() {
	case $(head -n 1 "$1") in
	"LEAK (minor)"*) echo minor ;;
	"LEAK likely"*) echo likely ;;
	LEAK*) echo LEAK ;;
	WRONG* | KILLED*) echo wrong ;;
	*) echo none ;;
	esac
}

# first_site FILE: the frames of the entry ` 1  `.
first_site() { sed -n '/^ 1  /,/^\( 2  \|[^ ]\)/p' "$1" | grep '^    [^ ]'; }

# healthy_judge NUMBER NAME DEFINITE INDIRECT BLOCKS WORD COMMAND: what is wrong with that
# row's report.
healthy_judge() {
	local report=$TMP/rows/$1.text words=,$6, got asks
	if [ ! -s "$report" ]; then
		fail "$2: no report" "$(cat "$TMP/rows/$1.err")"
		return
	fi
	# Three intervals of 0.25 s have begun, and one site may have lost a block in
	# each.
	if [[ $words = *,minor,* ]] && [ "$5" -ge 3 ] && [ "$(cat "$TMP/rows/$1.ms")" -ge 500 ]; then
		words+=LEAK,
	fi
	got=$(first_word "$report")
	case $words in
	*,"$got",*) pass ;;
	*) fail "seep run -- $7" "wanted $6, valgrind has $3 + $4 bytes in $5 blocks" "$(head -n 12 "$report")" ;;
	esac
	fits_on_screen "$2" "$report"
	[ "$got" = minor ] || [ "$got" = LEAK ] || return
	for asks in report leaks; do
		"$SEEP" $asks "$TMP/folders/$1"/seep.*.rec >"$TMP/rows/asked" 2>&1
		fits_on_screen "$2: seep $asks" "$TMP/rows/asked"
	done
	expect_match "$2: the first site has frames" "$(first_site "$report")" '^    [^ ]+ (.* )?in [^ ]'
	expect_no_match "$2: the first of them is not malloc's" "$(first_site "$report" | head -n 1)" \
		'^    (malloc|calloc|realloc|strdup|operator new|__libc_|_int_)'
}

# healthy_part PART OF: the rows of healthy.table whose turn it is, four at a time.
healthy_part() {
	local number=0 name definite indirect blocks word command
	mkdir "$TMP/rows" "$TMP/folders"
	healthy_folder "$TMP/folder" >/dev/null 2>&1
	cd "$TMP" || return
	grep -v '^#' "$ROOT/tests/e2e/healthy.table" | sed 's/ @ /\t/g' |
		awk -v part="$1" -v of="$2" 'NR % of == part' >"$TMP/list"
	export PATH=$PATH:/usr/sbin:/sbin COLUMNS=80 SEEP TMP
	export -f healthy_row wait_for
	seq "$(wc -l <"$TMP/list")" | xargs -P 4 -I N bash -c 'healthy_row N'
	while IFS=$'\t' read -r name definite indirect blocks word command _; do
		number=$((number + 1))
		if [ -e "$TMP/rows/$number.absent" ]; then
			left_out "$name: $(cat "$TMP/rows/$number.absent")"
		else
			healthy_judge $number "$name" "$definite" "$indirect" "$blocks" "$word" "$command"
		fi
	done <"$TMP/list"
	number=$((number - $(find "$TMP/rows" -name '*.absent' | wc -l)))
	echo "$number programs"
	expect_between "programs tried" $number 20 1000
}
