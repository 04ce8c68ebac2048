#!/bin/bash
# SPDX-License-Identifier: MIT
# Children that libseep.so cannot be loaded into: static, 32-bit, musl, set-user-id. They
# must run as they do without seep, and seep must say so.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
. "$(dirname "$0")/lib_foreign.sh"

built dynamic gcc && each_way dynamic ''
built static gcc -static && each_way static inject
built static_pie gcc -static-pie && each_way static_pie inject
built bits32 gcc -m32 && each_way bits32 '32-bit'
built musl musl-gcc && each_way musl inject
if [ -n "$SOAK" ]; then
	built bits32_static gcc -m32 -static && each_way bits32_static '32-bit'
	built musl_static musl-gcc -static && each_way musl_static inject
fi

# A script whose interpreter is such a program, and one through a second script.
if [ -x "$TMP/musl" ]; then
	printf '#!%s\n' "$TMP/musl" >"$TMP/script"
	printf '#!%s/script\n' "$TMP" >"$TMP/script2"
	chmod +x "$TMP/script" "$TMP/script2"
	real_same script --unrecorded musl,dash,sh,script,script2 -- sh -c "$TMP/script; echo \$?; $TMP/script2; exec $TMP/script2"
fi

# Programs with a hole between their segments have tables and a build-id like all others.
gcc -g -o "$TMP/hole" "$ROOT/examples/leaky.c" -Wl,-z,max-page-size=0x200000 &&
	real_same hole -- "$TMP/hole"
expect_json "hole: build-id" "$TMP/hole.exact.json" \
	'[.modules[] | select(.path | endswith("/hole")) | .build_id | length > 0] | unique' '[true]'
gcc -g -no-pie -o "$TMP/hole_fixed" "$ROOT/examples/leaky.c" -Wl,-z,max-page-size=0x200000 &&
	real_same hole_fixed -- "$TMP/hole_fixed"

# Set-user-id programs ignore us, and their children too when the loader cleans the
# environment.
if is_root "su" && have su && su nobody -s /bin/sh -c "test -r '$LIBSEEP'"; then
	# The child may not write into the folder of the one who started it: counted.
	# shellcheck disable=SC2016 # expanded by the shell under test
	real_same su --child 1 --unrecorded su,sh -- su nobody -s /bin/sh -c 'id -un; echo $((6 * 7)); exit 5'
fi
if is_root "a setuid program" && have setpriv; then
	chmod 755 "$TMP"
	cp "$(command -v id)" "$TMP/suid"
	chmod 4755 "$TMP/suid"
	real_same suid --unrecorded suid,setpriv -- setpriv --reuid=65534 --clear-groups "$TMP/suid" -u
fi
