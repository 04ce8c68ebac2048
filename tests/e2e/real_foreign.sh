#!/bin/bash
# SPDX-License-Identifier: MIT
# Children that libseep.so cannot be loaded into, or must not be: static, 32-bit, musl, built with
# sanitizers, set-user-id. They must run as they do without seep, and seep must say so.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
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
# each_way NAME WHY: directly, as a child of sh (fork + exec), of env (exec alone), and of python
# (vfork + exec, posix_spawn, exec with another environment). Directly: refused with WHY; or
# recorded, when WHY is empty.
each_way() {
	local name=$1 why=$2
	local words=(--unrecorded "$name,env,python3,python3.11,x")
	if [ -n "$why" ]; then
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
	command -v "$1" >/dev/null || { echo "left out: $name, no $1"; return 1; }
	"$@" -o "$TMP/$name" "$TMP/a.c" 2>"$TMP/build.err" && "$TMP/$name" x >/dev/null 2>&1
	[ $? -eq 17 ] || { echo "left out: $name cannot be built or run here"; return 1; }
}
export ASAN_OPTIONS=detect_leaks=0
built dynamic gcc && each_way dynamic ''
built static gcc -static && each_way static 'statically linked'
built static_pie gcc -static-pie && each_way static_pie 'statically linked'
built bits32 gcc -m32 && each_way bits32 '32-bit'
built musl musl-gcc && each_way musl 'musl'
built asan gcc -fsanitize=address && each_way asan 'sanitizer'
built asan_static gcc -fsanitize=address -static-libasan && each_way asan_static 'sanitizer'
built asan_clang clang -fsanitize=address && each_way asan_clang 'sanitizer'
built tsan gcc -fsanitize=thread && each_way tsan 'sanitizer'
built ubsan gcc -fsanitize=undefined && each_way ubsan ''
if [ -n "$SOAK" ]; then
	built bits32_static gcc -m32 -static && each_way bits32_static '32-bit'
	built musl_static musl-gcc -static && each_way musl_static 'statically linked'
fi

# Programs with a hole between their segments have tables and a build-id like all others.
gcc -g -o "$TMP/hole" "$ROOT/examples/leaky.c" -Wl,-z,max-page-size=0x200000 &&
	real_same hole -- "$TMP/hole"
expect_json "hole: build-id" "$TMP/hole.exact.json" \
	'[.modules[] | select(.path | endswith("/hole")) | .build_id | length > 0] | unique' '[true]'
gcc -g -no-pie -o "$TMP/hole_fixed" "$ROOT/examples/leaky.c" -Wl,-z,max-page-size=0x200000 &&
	real_same hole_fixed -- "$TMP/hole_fixed"

# Set-user-id programs ignore us, and their children too when the loader cleans the environment.
if command -v su >/dev/null && [ "$(id -u)" = 0 ]; then
	# shellcheck disable=SC2016 # expanded by the shell under test
	real_same su --unrecorded su,sh -- su nobody -s /bin/sh -c 'id -un; echo $((6 * 7)); exit 5'
fi
cp "$(command -v id)" "$TMP/suid" && chmod 4755 "$TMP/suid" && [ "$(id -u)" = 0 ] &&
	command -v setpriv >/dev/null && chmod 755 "$TMP" &&
	real_same suid --unrecorded suid,setpriv -- setpriv --reuid=65534 --clear-groups "$TMP/suid" -u
