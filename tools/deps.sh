#!/bin/bash
# SPDX-License-Identifier: MIT
# Sees to it that what seep is built, tested, linted, measured or packaged with is
# installed.
#
#   tools/deps.sh build|test|lint|bench|dist ...
#
# Each thing is looked for itself (a command, a header, a library), not for its package,
# so a complete machine of any distribution passes without a package manager being asked,
# in a few milliseconds. What is missing is installed with apt; services that come along
# are neither started nor left enabled. What a release of Debian does not have, or cannot
# have beside what is installed, is named and, where only some tests want it (marked ~),
# left out: those tests say that they were skipped.
set -eu

# KIND:NAME package      a second package after | is taken when the first does not exist
list_build='
cmd:gcc gcc
cmd:meson meson
cmd:ninja ninja-build
cmd:pkg-config pkgconf|pkg-config
hdr:stdio.h libc6-dev
hdr:elfutils/libdw.h libdw-dev
hdr:libelf.h libelf-dev
hdr:libiberty/demangle.h libiberty-dev
hdr:zstd.h libzstd-dev
hdr:zlib.h zlib1g-dev
hdr:pcre2.h libpcre2-dev
hdr:curl/curl.h libcurl4-gnutls-dev
hdr:microhttpd.h libmicrohttpd-dev
hdr:ncursesw/curses.h libncurses-dev
'
list_test='
cmd:g++ g++
cmd:make make
cmd:jq jq
cmd:mandoc mandoc
cmd:perl perl
cmd:/usr/bin/python3 python3
cmd:git git
cmd:openssl openssl
cmd:sqlite3 sqlite3
~cmd:zsh zsh
~cmd:fish fish
~cmd:valgrind valgrind
~cmd:gdb gdb
~cmd:strace strace
~cmd:curl curl
~cmd:ab apache2-utils
~cmd:nginx nginx-light|nginx
~cmd:redis-server redis-server
~cmd:/usr/bin/node nodejs
~cmd:go golang-go
~cmd:dot graphviz
~cmd:gfortran gfortran
~cmd:musl-gcc musl-tools
~cmd:xz xz-utils
~cmd:file file
~cmd:gawk gawk
~cmd:bc bc
~cmd:m4 m4
~cmd:bison bison
~cmd:flex flex
~cmd:tree tree
~cmd:tmux tmux
~cmd:script bsdutils
~cmd:rsync rsync
~cmd:cpio cpio
~cmd:lua5.4 lua5.4
~cmd:clang clang
~glob:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.asan-x86_64.a libclang-rt-14-dev|libclang-rt-19-dev
~file:/usr/lib32/libc.so gcc-14-multilib|gcc-13-multilib|gcc-12-multilib
~hdr:libunwind.h libunwind-dev
~lib:libjemalloc.so.2 libjemalloc2
~lib:libjemalloc.a libjemalloc-dev
~lib:libtcmalloc.so.4 libgoogle-perftools4|libgoogle-perftools4t64
~lib:libmimalloc.so.2 libmimalloc2.0|libmimalloc3
~lib:libcurl.so.4 libcurl4|libcurl4t64
~lib:libmicrohttpd.so.12 libmicrohttpd12|libmicrohttpd12t64
~cmd:jeprof libjemalloc-dev
~cmd:google-pprof google-perftools
~cmd:mtrace libc-devtools
~cmd:luajit luajit2|luajit
~file:/usr/lib/nginx/modules/ngx_http_lua_module.so libnginx-mod-http-lua
~cmd:zstd zstd
~cmd:dwz dwz
~cmd:debuginfod debuginfod
~cmd:llvm-symbolizer llvm
~cmd:chromium chromium
~glob:/usr/lib/python3*/dist-packages/jsonschema python3-jsonschema
~cmd:cmake cmake
~glob:/usr/lib/python3.*/test/test_json libpython3.13-testsuite|libpython3.11-testsuite
~cmd:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
~file:/usr/aarch64-linux-gnu/include/stdio.h libc6-dev-arm64-cross
~cmd:qemu-aarch64 qemu-user
~cmd:debootstrap debootstrap
~file:/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
~cmd:lintian lintian
'
list_lint='
cmd:clang clang
cmd:clang-format clang-format
cmd:clang-tidy clang-tidy
cmd:cppcheck cppcheck
cmd:shellcheck shellcheck
cmd:aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
file:/usr/aarch64-linux-gnu/include/stdio.h libc6-dev-arm64-cross
'
list_bench='
cmd:g++ g++
cmd:valgrind valgrind
cmd:sqlite3 sqlite3
cmd:/usr/bin/python3 python3
~cmd:heaptrack heaptrack
~cmd:redis-server redis-server
~lib:libjemalloc.so.2 libjemalloc2
~lib:libtcmalloc.so.4 libgoogle-perftools4|libgoogle-perftools4t64
~lib:liblsan.so.0 liblsan0
'
list_dist='
cmd:debootstrap debootstrap
file:/usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
'

PATH=$PATH:/usr/sbin:/sbin # nginx lives there, and not every user looks there
shopt -s nullglob

have() {
	local name=${1#*:} hits
	case $1 in
	cmd:*) command -v "$name" >/dev/null ;;
	file:*) [ -e "$name" ] ;;
	glob:*) compgen -G "$name" >/dev/null ;;
	hdr:*)
		hits=(/usr/include/"$name"* /usr/include/*-linux-gnu/"$name"* /usr/local/include/"$name"*)
		[ ${#hits[@]} -gt 0 ]
		;;
	lib:*)
		hits=(/usr/lib/"$name"* /usr/lib/*-linux-gnu/"$name"* /usr/lib64/"$name"* /usr/local/lib/"$name"*)
		[ ${#hits[@]} -gt 0 ]
		;;
	esac
}

# Prints `mark what package` for each thing that is not there.
missing() {
	local what package
	while read -r what package; do
		[ -n "$what" ] || continue
		local mark=-
		case $what in ~*) mark='~' ;; esac
		have "${what#\~}" || echo "$mark ${what#\~} $package"
	done
}

groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build)
wanted=
for group in "${groups[@]}"; do
	case $group in
	build) wanted+=$list_build ;;
	test) wanted+=$list_test ;;
	lint) wanted+=$list_lint ;;
	bench) wanted+=$list_bench ;;
	dist) wanted+=$list_dist ;;
	*)
		echo "usage: $0 build|test|lint|bench|dist ..." >&2
		exit 2
		;;
	esac
done

absent=$(missing <<<"$wanted" | sort -u)
# What could not be had last time is not asked for again at every `make`.
tried=${SEEP_DEPS_TRIED:-build/deps.tried}
if [ -n "$absent" ] && [ -e "$tried" ]; then
	absent=$(grep -vxFf "$tried" <<<"$absent" || true)
fi
if [ -z "$absent" ]; then
	echo "deps: all there for ${groups[*]}"
	exit 0
fi

if ! command -v apt-get >/dev/null; then
	echo "deps: no apt-get here; please install what provides:" >&2
	awk '{ print "  " $2 "   (Debian: " $3 ")" }' <<<"$absent" >&2
	if grep -q '^-' <<<"$absent"; then
		exit 3
	fi
	exit 0
fi

root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: missing, and neither root nor sudo to install them:" >&2
		awk '{ print "  " $3 }' <<<"$absent" >&2
		exit 3
	fi
	root=(sudo)
fi
as_root() { "${root[@]}" "$@"; }

echo "deps: looking for" "$(awk '{ printf "%s ", $3 }' <<<"$absent")"
as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update

# One for each thing, in the order wanted: those that must be there, and those that may.
must=()
may=()
while read -r mark what names; do
	found=
	for name in ${names//|/ }; do
		if [ -n "$(apt-cache madison "$name" 2>/dev/null)" ]; then
			found=$name
			break
		fi
	done
	if [ -n "$found" ] && [ "$mark" = '~' ]; then
		may+=("$found")
	elif [ -n "$found" ]; then
		must+=("$found")
	elif [ "$mark" = '~' ]; then
		echo "deps: this release has no $names; tests that want it are skipped"
	else
		echo "deps: this release has no package $names (for $what)" >&2
		exit 3
	fi
done <<<"$absent"

# 101 means `do not start it`; both invoke-rc.d and deb-systemd-invoke ask this file.
policy=/usr/sbin/policy-rc.d
ours=
if [ ! -e $policy ]; then
	printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
	as_root chmod 755 $policy
	ours=yes
fi
undo() { [ -z "$ours" ] || as_root rm -f $policy; }
trap undo EXIT

install() {
	[ $# -eq 0 ] || as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
		--no-install-recommends -o Dpkg::Use-Pty=0 install "$@" </dev/null
}

# All at once; one that conflicts with what is installed must not keep the others away.
if ! install "${must[@]}" "${may[@]}"; then
	install "${must[@]}" || exit 3
	for package in "${may[@]}"; do
		install "$package" || echo "deps: $package cannot be installed here"
	done
fi

for package in "${may[@]}"; do
	case $package in
	redis-server | nginx*)
		if command -v systemctl >/dev/null; then
			as_root systemctl disable "${package%-light}" >/dev/null 2>&1 || true
		fi
		;;
	esac
done

# What is still not there will not be asked for again at every `make`.
left=$(missing <<<"$wanted" | sort -u)
if grep -q '^-' <<<"$left"; then
	echo "deps: still missing:" "$(sed -n 's/^- //p' <<<"$left")" >&2
	exit 3
fi
if [ -n "$left" ]; then
	mkdir -p "$(dirname "$tried")"
	echo "$left" >>"$tried"
fi
echo "deps: installed ${must[*]} ${may[*]}"
