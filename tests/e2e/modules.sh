#!/bin/bash
# SPDX-License-Identifier: MIT
# Libraries that are loaded, allocate in constructor, use and destructor, and are
# unloaded; the next comes to lie at the same addresses. Every allocation has its own
# library's names.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_truth.sh"
need_seep
need_libseep
need_command jq

prog=$(program modules) || exit
flags="-O1 -g -fPIC -shared -fno-builtin"

# loaded WHAT ROUNDS EXTRA_FLAGS...
loaded() {
	local what=$1 rounds=$2 name plugins=()
	shift 2
	for name in alpha gamma omega; do
		# shellcheck disable=SC2086 # flags are words
		plugins+=("$(program plugin "$name.${what// /-}" $flags -DNAME=$name "$@")" "$name") || exit
	done
	record "$prog" "$rounds" "${plugins[@]}"
	expect_eq "$what: status" "$status $err" "0 "
	expect_truth "$what" "$TMP/json" "$out"
	expect_nothing_lost "$what" "$TMP/json"
	expect_between "$what: really at the same addresses" \
		"$(sed -n 's/^same place //p' <<<"$out")" "$rounds" $((3 * rounds))
	# Later, when the libraries are not at hand any more, names come from the
	# recording.
	expect_status 0 "$SEEP" report --json "$TMP/rec"
	expect_truth "$what, from the file" "$TMP/out" "$(grep -v beside < <("$prog" "$rounds" "${plugins[@]}"))"
}

loaded "with build-id" "$(times 3 307)"
loaded "without build-id" "$(times 3 307)" -Wl,--build-id=none

# Sampled: what the loader allocates is hardly ever looked at, so nothing says that it was
# busy. Blocks of 64 MiB are sampled with certainty.
cat >"$TMP/big.c" <<'END'
#include <stdlib.h>
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
__attribute__((noinline)) void *PASTE(NAME, _big)(void) { return malloc(64 << 20); }
void big_use(int n) {
	for (int i = 0; i < n; i++)
		free(PASTE(NAME, _big)());
}
END
cat >"$TMP/turns.c" <<'END'
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
int main(int argc, char **argv) {
	unsigned long last = 0;
	int same = 0;
	for (int i = 1; i < argc; i++) {
		struct link_map *m = dlopen(argv[i], RTLD_NOW);
		((void (*)(int))dlsym(m, "big_use"))(5 + 6 * i);
		same += m->l_addr == last;
		last = m->l_addr;
		dlclose(m);
	}
	printf("same place %d\n", same);
	return 0;
}
END
gcc -O1 -g -o "$TMP/turns" "$TMP/turns.c" || exit
for id in sha1 none; do
	for name in alpha gamma omega; do
		gcc -O1 -g -fPIC -shared -fno-builtin -Wl,--build-id=$id -DNAME=$name -o "$TMP/$name.so" "$TMP/big.c" || exit
	done
	options=(--sample 512K)
	record "$TMP/turns" "$TMP"/{alpha,gamma,omega}.so
	expect_eq "sampled, build-id $id: at the same addresses" "$status $out" "0 same place 2"
	expect_truth "sampled, build-id $id" "$TMP/json" "expect in=alpha_big allocs=11
expect in=gamma_big allocs=17
expect in=omega_big allocs=23"
done
