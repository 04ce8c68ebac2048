# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Children that libseep.so cannot be loaded into, or must not be: how to build one, and
# every way to start it. Sourced after lib_real.sh; $TMP/a.c is the program.
need_command gcc jq

cat >"$TMP/a.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	long s = 0;
	for (int i = 1; i < 102; i++) {
		char *p = malloc((size_t)i * 13);
		memset(p, argc, (size_t)i * 13);
		s += p[i];
		if (i % 3 != 0)
			free(p);
	}
	printf("%s says %ld\n", argv[1], s);
	fprintf(stderr, "to stderr\n");
	return 17;
}
END

# each_way NAME WHY: directly, as a child of sh (fork + exec), of env (exec alone), and of
# python (vfork + exec, posix_spawn, exec with another environment). Directly: refused
# with WHY; or recorded, when WHY is empty, or by putting the recorder in, when it is
# "inject".
each_way() {
	local name=$1 why=$2
	local words=(--unrecorded "$name,env,python3,python3.11,x")
	if [ "$why" = inject ]; then
		expect_status 17 "$SEEP" run --json --log-file "$TMP/$name.json" -o "$TMP/$name.rec" -- "$TMP/$name" direct
		expect_eq "$name: as alone" "$out $err" "direct says 202 to stderr"
		expect_json "$name: 101 of its own" "$TMP/$name.json" '.frames as $f | [.sites[]
			| select($f[.stack[.shown_from]].function == "main") | .allocs] | add' 101
	elif [ -n "$why" ]; then
		real_refused "$name" "$why" "$TMP/$name" direct
	else
		real_same "$name" -- "$TMP/$name" direct
		expect_eq "$name: 17" "$(cat "$TMP/$name.bare.status")" 17
	fi
	real_same "$name.sh" "${words[@]}" -- sh -c "$TMP/$name one; echo \$?; $TMP/$name two | cat; exit 3"
	expect_json "$name: counted or recorded" "$TMP/$name.sh.exact.json" \
		"[.processes[] | (.lost.exec, (select(.name == \"$name\") | 1))] | add >= 2" true
	real_same "$name.env" "${words[@]}" -- env A=b "$TMP/$name" three
	if [ -x /usr/bin/python3 ]; then
		real_same "$name.py" "${words[@]}" -- /usr/bin/python3 -c "import os, subprocess, sys
print(subprocess.run(['$TMP/$name', 'spawned'], capture_output=True))
p = os.posix_spawn('$TMP/$name', ['x', 'posix'], os.environ); print(os.waitpid(p, 0)[1])
print(subprocess.run(['$TMP/$name', 'clean'], env={'ASAN_OPTIONS': 'detect_leaks=0'}, capture_output=True))
os.execve('$TMP/$name', ['x', 'replaced'], os.environ)"
	fi
}

# built NAME COMPILER...: is it there, and does it run here without seep?
built() {
	local name=$1
	shift
	have "$1" || return 1
	"$@" -o "$TMP/$name" "$TMP/a.c" 2>"$TMP/build.err" && "$TMP/$name" x >/dev/null 2>&1
	[ $? -eq 17 ] || { left_out "$name cannot be built or run here"; return 1; }
}
