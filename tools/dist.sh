#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes what people install: a tarball for every distribution and a package for Debian and
# Ubuntu.
#
#   tools/dist.sh tarball|deb ...     prints the path of each, in $BUILD/dist
#   tools/dist.sh chroot              prints the folder of the Debian release that they are built in
#
# Both hold the same binaries, built where glibc is 2.31 (tools/chroot.sh), so they run
# with that one and every later one. The tarball has its libraries with it, in
# lib/seep/deps: those that seep is linked with and those that it opens when they are
# needed, with all they need themselves but for glibc. bin/seep finds them relative to
# itself; libseep.so needs none of them. The package has no libraries and depends on those
# of the release it is installed in.
set -eu
shopt -s inherit_errexit

# ---- on this machine
# -----------------------------------------------------------------------

packages=(gcc libc6-dev pkg-config libdw-dev libelf-dev libiberty-dev libzstd-dev zlib1g-dev
	libpcre2-dev libcurl4-gnutls-dev libmicrohttpd-dev libncurses-dev libdebuginfod1 ninja-build meson/bookworm
	dpkg-dev xz-utils chrpath)
inputs=(src include man completions compat docs ui tools meson.build meson_options.txt
	LICENSE NEWS.md README.md SECURITY.md THIRD-PARTY.md)

path_of() {
	case $1 in
	tarball) echo "$out/seep-$version-linux-x86_64.tar.xz" ;;
	deb) echo "$out/seep_${version}_amd64.deb" ;;
	*) usage ;;
	esac
}

fresh() { [ -e "$1" ] && [ -z "$(find "${inputs[@]}" -newer "$1" -print -quit)" ]; }

outside() {
	local chroot artefact path stale=() when by
	cd "$(dirname "$0")/.."
	if [ "$*" = chroot ]; then
		tools/chroot.sh make bullseye "${packages[@]}"
		return
	fi
	mkdir -p "${BUILD:-build}/dist"
	out=$(realpath "${BUILD:-build}/dist")
	version=$(sed -n "s/^  version: '\(.*\)',\$/\1/p" meson.build)
	exec 8>"$out/lock"
	flock 8
	for artefact; do
		path=$(path_of "$artefact")
		fresh "$path" || stale+=("$artefact")
	done
	if [ ${#stale[@]} -gt 0 ]; then
		chroot=$(tools/chroot.sh make bullseye "${packages[@]}")
		when=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
		by=${DEBEMAIL:-$(git log -1 --format='%an <%ae>' 2>/dev/null || echo 'seep <seep@localhost>')}
		tools/chroot.sh in "$chroot" "$PWD:/src:ro" "$out:/out" -- env "JOBS=${JOBS:-2}" \
			"SOURCE_DATE_EPOCH=$when" "BY=$by" "version=$version" out=/out \
			/src/tools/dist.sh inside "${stale[@]}" >"$out/log" 2>&1 8>&- || {
			tail -n 30 "$out/log" >&2
			exit 1
		}
	fi
	for artefact; do
		path_of "$artefact"
	done
}

# ---- in the old release
# --------------------------------------------------------------------

deps=lib/seep/deps
stage=/tmp/stage/usr # what `make install` would install

inside() {
	local artefact
	cd /src
	make BUILD=/out/obj PREFIX=/usr DEPS=no JOBS="$JOBS" SETUP="-Dbundled=../$deps" product
	rm -rf /tmp/stage
	DESTDIR=${stage%/usr} meson install -C /out/obj --no-rebuild --strip --quiet
	install -d $stage/share/doc/seep
	cp -r README.md NEWS.md SECURITY.md THIRD-PARTY.md docs $stage/share/doc/seep
	tests/meta/glibc.sh --strict $stage/bin/seep $stage/lib/seep/*.so
	for artefact; do
		"make_$artefact"
	done
	chown -R --reference=/out /out
}

# package_of FILE: whose it is. Files are listed below /lib or below /usr/lib.
package_of() {
	{ dpkg -S "$1" || dpkg -S "${1#/usr}" || dpkg -S "/usr$1"; } 2>/dev/null | sed 's/:.*//; q'
}

# Libraries into $1, and the licences of their packages, with the texts these refer to,
# into $2.
bundle() {
	local opened=() name path package of=()
	for name in libpcre2-8.so.0 libcurl-gnutls.so.4 libmicrohttpd.so.12 libncursesw.so.6 libdebuginfod.so.1 liblzma.so.5; do
		opened+=("$(ldconfig -p | awk -v name=$name '$1 == name { print $NF; exit }')")
	done
	mkdir -p "$1" "$2"
	for path in "${opened[@]}" $(ldd $stage/bin/seep "${opened[@]}" | awk '$2 == "=>" { print $3 }' | sort -u); do
		package=$(package_of "$path")
		[ "$package" != libc6 ] || continue
		cp -L "$path" "$1"
		of+=("$package")
	done
	# The first name that seep asks for: not a newer one of the system, on older
	# libraries from here.
	ln -s libcurl-gnutls.so.4 "$1/libcurl.so.4"
	tests/meta/glibc.sh --strict "$1"/*
	for package in "${of[@]}" libiberty-dev; do
		cp -L "/usr/share/doc/$package/copyright" "$2/$package"
	done
	{
		echo "The libraries in lib/seep/deps are Debian's, unchanged, in these versions; libiberty is linked"
		echo "into bin/seep. Their source code is at https://snapshot.debian.org/ under these names."
		echo
		dpkg-query -W -f '${binary:Package}\tsource ${source:Package} ${source:Version}\n' "${of[@]}" \
			libiberty-dev | sort -u
	} >"$2/README"
	grep -oh 'common-licenses/[A-Za-z0-9.-]*[A-Za-z0-9]' "$2"/* | sort -u | while read -r name; do
		cp -L "/usr/share/$name" "$2/${name#*/}.txt"
	done
}

make_tarball() {
	local path name
	path=$(path_of tarball)
	name=${path##*/}
	name=${name%.tar.xz}
	rm -rf /tmp/tree
	mkdir /tmp/tree
	cp -a $stage "/tmp/tree/$name"
	cp LICENSE "/tmp/tree/$name/share/doc/seep"
	bundle "/tmp/tree/$name/$deps" "/tmp/tree/$name/share/doc/seep/licences"
	tar -C /tmp/tree --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
		-cf - "$name" | xz -T0 >"$path.new"
	mv "$path.new" "$path"
}

make_deb() {
	local path root=/tmp/deb doc depends
	path=$(path_of deb)
	rm -rf $root
	mkdir -p $root/DEBIAN
	cp -a $stage $root/usr
	doc=$root/usr/share/doc/seep
	chrpath -d $root/usr/bin/seep
	chmod -x $root/usr/lib/seep/*.so
	strip -R .comment $root/usr/bin/seep $root/usr/lib/seep/*.so
	mv $root/usr/share/zsh/site-functions $root/usr/share/zsh/vendor-completions
	{
		echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
		echo 'Upstream-Name: seep'
		echo
		echo 'Files: *'
		sed -n "s/^Copyright (c) /Copyright: $(date -u -d "@$SOURCE_DATE_EPOCH" +%Y) /p" LICENSE
		echo 'License: Expat'
		sed '1,/^Copyright/d' LICENSE | sed '1d; s/^$/./; s/^/ /'
		echo 'Comment: libiberty, which is linked into /usr/bin/seep, is under the LGPL-2.0-or-later;'
		echo ' see /usr/share/common-licenses/LGPL-2 and THIRD-PARTY.md.'
	} >$doc/copyright
	{
		echo "seep ($version) unstable; urgency=medium"
		echo
		echo '  * NEWS.md lists the changes.'
		echo
		echo " -- $BY  $(date -u -R -d "@$SOURCE_DATE_EPOCH")"
	} >$doc/changelog
	install -d $root/usr/share/lintian/overrides
	{
		echo '# Of libc it calls dlsym alone, which is in libdl before glibc 2.34.'
		echo 'seep: library-not-linked-against-libc [usr/lib/seep/libseep_copy.so]'
	} >$root/usr/share/lintian/overrides/seep
	# Manual pages and documents name the paths of `make install`.
	grep -rlE '/usr/local/(bin|lib)/' $root/usr/share/man $doc | xargs sed -i -E 's,/usr/local/(bin|lib)/,/usr/\1/,g'
	gzip -9n $doc/changelog $doc/NEWS.md $root/usr/share/man/man*/*
	# dpkg-shlibdeps will have a source package to look at.
	mkdir -p /tmp/source/debian
	printf 'Source: seep\n\nPackage: seep\nArchitecture: amd64\n' >/tmp/source/debian/control
	depends=$(cd /tmp/source && dpkg-shlibdeps -O $root/usr/bin/seep $root/usr/lib/seep/*.so |
		sed -n 's/^shlibs:Depends=//p')
	cat >$root/DEBIAN/control <<-CONTROL
		Package: seep
		Version: $version
		Architecture: amd64
		Multi-Arch: foreign
		Section: devel
		Priority: optional
		Maintainer: $BY
		Installed-Size: $(du -sk --apparent-size $root/usr | cut -f 1)
		Depends: $depends
		Recommends: libpcre2-8-0
		Suggests: graphviz, libcurl3-gnutls | libcurl3t64-gnutls, libdebuginfod1 | libdebuginfod1t64, libmicrohttpd12 | libmicrohttpd12t64, libncursesw6
		Description: heap profiler and leak locator
		 seep finds memory leaks and shows which lines of a program allocate its memory.
		 It works on C, C++, Rust and other native programs as they are, without
		 recompiling, and can record a process that already runs.
		 .
		 Reports are text, JSON, HTML, flame graphs and pprof profiles. It reads heap
		 profiles of jemalloc, gperftools and pprof, and stands in for the command lines
		 of jeprof, pprof, valgrind and mtrace.
	CONTROL
	(cd $root && find usr -type f -printf '%P\n' | LC_ALL=C sort | sed 's,^,usr/,' | xargs -d '\n' md5sum) \
		>$root/DEBIAN/md5sums
	chmod -R u=rwX,go=rX $root
	dpkg-deb --root-owner-group -Zxz -b $root "$path.new"
	mv "$path.new" "$path"
}

usage() {
	sed -n 's,^#   tools/,usage: tools/,p' "$0" >&2
	exit 2
}

[ $# -gt 0 ] || usage
if [ "$1" = inside ]; then
	shift
	inside "$@"
else
	outside "$@"
fi
