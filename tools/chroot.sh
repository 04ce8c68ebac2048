#!/bin/bash
# SPDX-License-Identifier: MIT
# Small Debian systems of other releases, to build packages in and to try them in.
#
#   tools/chroot.sh make SUITE [PACKAGE...]         make one unless it is there; print its folder
#   tools/chroot.sh in FOLDER [FROM:TO...] -- COMMAND...
#
# A PACKAGE may be PACKAGE/OTHER-SUITE. They are kept in $SEEP_CHROOTS (build/chroots), so
# that only the first time takes minutes, and come from $SEEP_MIRROR or where apt here
# gets its own packages.
#
# What a COMMAND changes is gone when it ends, for it sees the folder through an overlay
# in memory; FROM:TO shows it a folder of this machine, FROM:TO:ro without the right to
# write. All of it is mounted in a namespace that ends with the command: no mount and no
# process is left behind.
#
# Status 77 when this machine cannot do that: no debootstrap, no root, no archive.
set -eu
tool=$(realpath "$0")
folder=${SEEP_CHROOTS:-$(dirname "$tool")/../build/chroots}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

cannot() {
	echo "chroot: $*" >&2
	exit 77
}

# Everything below needs root, and namespaces to mount in.
need_root() {
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || cannot "neither root nor sudo"
		exec sudo -- env "SEEP_CHROOTS=$folder" "SEEP_MIRROR=${SEEP_MIRROR:-}" "$tool" "$@"
	fi
	unshare --mount --pid --fork sh -c 'mount -t tmpfs tmpfs /mnt && mount -t proc proc /mnt' 2>/dev/null ||
		cannot "this machine does not let us mount"
}

# Where apt gets Debian's packages from; on other distributions $SEEP_MIRROR has to say
# it.
mirror() {
	local found=${SEEP_MIRROR:-}
	# shellcheck disable=SC2016 # for apt-get to expand
	[ -n "$found" ] || found=$(apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' \
		'Created-By: Packages' 2>/dev/null | grep -v -e security | head -n 1) || true
	[ -n "$found" ] || cannot "set SEEP_MIRROR to the URL of a mirror of Debian"
	echo "${found%/}"
}

# fill FOLDER SUITE PACKAGE...: what `make` puts into a new folder.
fill() {
	local into=$1 suite=$2 from other package
	shift 2
	from=$(mirror)
	wget -q -T 30 -t 3 -O /dev/null "$from/dists/$suite/InRelease" || cannot "no answer from $from"
	debootstrap --variant=minbase --keyring="$keyring" "$suite" "$into" "$from"
	[ $# -gt 0 ] || return 0
	for package; do
		other=${package#*/}
		[ "$other" != "$package" ] || continue
		echo "deb $from $other main" >"$into/etc/apt/sources.list.d/$other.list"
		printf 'Package: *\nPin: release n=%s\nPin-Priority: 1\n' "$other" \
			>"$into/etc/apt/preferences.d/$other"
	done
	if wget -q -T 30 -O /dev/null "$from-security/dists/$suite-security/InRelease"; then
		echo "deb $from-security $suite-security main" >"$into/etc/apt/sources.list.d/security.list"
	fi
	mount -t proc proc "$into/proc"
	printf '#!/bin/sh\nexit 101\n' >"$into/usr/sbin/policy-rc.d" # start no service
	chmod 755 "$into/usr/sbin/policy-rc.d"
	in_clean_env "$into" apt-get -qq update || {
		# One that nobody has renewed for weeks is refused.
		echo "left out: $from-security" >&2
		rm -f "$into/etc/apt/sources.list.d/security.list"
		in_clean_env "$into" apt-get -qq update
	}
	in_clean_env "$into" apt-get -qq -y upgrade
	in_clean_env "$into" apt-get -qq -y --no-install-recommends -o Dpkg::Use-Pty=0 \
		-o Dpkg::Options::=--force-unsafe-io install "$@"
	in_clean_env "$into" apt-get clean
	umount "$into/proc"
}

in_clean_env() {
	local root=$1
	shift
	chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive "$@" </dev/null
}

# The folder's name tells what is in it: other packages, another folder.
make_one() {
	local suite=$1 name
	name=$suite
	[ $# -eq 1 ] || name+=-$(sha256sum <<<"$*" | head -c 8)
	[ ! -e "$folder/$name/.made" ] || { realpath "$folder/$name"; return; }
	command -v debootstrap >/dev/null || cannot "no debootstrap here (tools/deps.sh dist)"
	[ -e $keyring ] || cannot "no $keyring here (tools/deps.sh dist)"
	need_root make "$@"
	mkdir -p "$folder"
	exec 9>"$folder/$name.lock"
	flock 9
	if [ ! -e "$folder/$name/.made" ]; then
		rm -rf --one-file-system "${folder:?}/$name.new" "${folder:?}/$name"
		unshare --mount --pid --fork --kill-child "$tool" fill "$folder/$name.new" "$@" \
			>"$folder/$name.log" 2>&1 9>&- || {
			local status=$?
			tail -n 20 "$folder/$name.log" >&2
			exit $status
		}
		touch "$folder/$name.new/.made"
		mv "$folder/$name.new" "$folder/$name"
	fi
	realpath "$folder/$name"
}

# inside FOLDER [FROM:TO...] -- COMMAND...: in namespaces of our own.
inside() {
	local lower=$1 top=$folder/.mounted root from to
	shift
	mkdir -p "$top"
	top=$(realpath "$top")
	mount -t tmpfs tmpfs "$top"
	root=$top/root
	mkdir "$root" "$top/changed" "$top/work"
	mount -t overlay -o "lowerdir=$lower,upperdir=$top/changed,workdir=$top/work" overlay "$root" 2>/dev/null ||
		cp -a "$lower/." "$root" # a kernel without overlays
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/dev/shm"
	cat /etc/resolv.conf >"$root/etc/resolv.conf"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	while [ "$1" != -- ]; do
		from=${1%%:*} to=${1#*:}
		mkdir -p "$root/${to%:ro}"
		mount --bind "$from" "$root/${to%:ro}"
		[ "$to" = "${to%:ro}" ] || mount -o remount,bind,ro "$root/${to%:ro}"
		shift
	done
	shift
	cd /
	in_clean_env "$root" "$@" # not exec: as process 1 it would be deaf to signals
}

case ${1:-} in
make)
	shift
	make_one "$@"
	;;
in)
	need_root "$@"
	shift
	exec unshare --mount --pid --fork --kill-child "$tool" inside "$@"
	;;
fill | inside) "$@" ;; # by this script, in the new namespaces
*)
	sed -n 's,^#   tools/,usage: tools/,p' "$tool" >&2
	exit 2
	;;
esac
