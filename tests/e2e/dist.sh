#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make dist` and `make deb` make is installed, used and removed in a fresh Debian
# 12; in `make soak` also in the oldest release that it is meant for and in the newest.
# The releases are kept (tools/chroot.sh): only the first time takes minutes.
# timeout: 1800
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip "made for x86-64 only"
is_root "tarball and package are made in another release" || skip "not root"
export BUILD JOBS=1 # other tests are running

# or_skip COMMAND...: as run, but 77 means that this machine cannot do it: no debootstrap,
# no archive.
or_skip() {
	run "$@"
	[ "$status" != 77 ] || skip "$(tail -n 1 <<<"$err")"
	[ "$status" = 0 ] || { fail "$*" "$err"; exit; }
}

or_skip "$ROOT/tools/dist.sh" chroot
oldest=$out
or_skip "$ROOT/tools/dist.sh" tarball deb
tarball=$(sed -n 1p <<<"$out") deb=$(sed -n 2p <<<"$out")
expect_match "the tarball's name" "$tarball" '/seep-[0-9.]+-linux-x86_64\.tar\.xz$'
expect_match "the package's name" "$deb" '/seep_[0-9.]+_amd64\.deb$'

if have lintian; then
	run lintian --allow-root "$deb"
	expect_eq "lintian" "$status $out" "0 "
fi

# Programs that run in each of them; their sources are found in there.
mkdir "$TMP/programs"
or_skip "$ROOT/tools/chroot.sh" in "$oldest" "$ROOT:/src:ro" "$TMP/programs:/programs" -- sh -c \
	'cd /src/examples && gcc -g -o /programs/leaky leaky.c && gcc -g -o /programs/requests requests.c'

for suite in bookworm $(times "" "bullseye stable"); do
	or_skip "$ROOT/tools/chroot.sh" make "$suite" xz-utils libdw1 libelf1 libpcre2-8-0
	chroot=$out
	for file in "$tarball" "$deb"; do
		what=tarball
		[ "$file" = "$tarball" ] || what=deb
		run "$ROOT/tools/chroot.sh" in "$chroot" "$ROOT:/src:ro" "${file%/*}:/files:ro" \
			"$TMP/programs:/programs:ro" -- /src/tests/e2e/lib_dist.sh "$what" "/files/${file##*/}" /programs
		printf '%s\n' "$out" | sed '$d'
		if [[ ${out##*$'\n'} =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
			lib_passed=$((lib_passed + BASH_REMATCH[1]))
			lib_failed=$((lib_failed + BASH_REMATCH[2]))
		else
			fail "$suite: $what came to no end" "$out" "$err"
		fi
	done
done
expect_eq "mounts left behind" "$(grep -c "${oldest%/*}" /proc/self/mounts)" 0
