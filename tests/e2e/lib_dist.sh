#!/bin/bash
# SPDX-License-Identifier: MIT
# Run by dist.sh inside another release: installs the tarball or the package, uses it and
# removes it.
#
#	lib_dist.sh tarball|deb FILE PROGRAMS	programs built for an old glibc: leaky, requests
. "$(dirname "$0")/lib.sh"
what=$1 file=$2 programs=$3
cd "$TMP" || exit
. /etc/os-release
libc=$(ldd --version | sed -n '1s/.* //p')
echo "$what on ${PRETTY_NAME:-?} with glibc $libc"

# All files there are, but for what dpkg and apt write about every package.
files() {
	find / -xdev \( -path "$TMP" -o -path /tmp/prefix -o -path /proc \) -prune -o -print |
		grep -vE '^/var/(lib/(dpkg|apt)|cache/(apt|debconf|ldconfig)|log)/' | LC_ALL=C sort
}

case $what in
tarball)
	# It must do without the system's copies; the others are part of every Debian.
	# shellcheck disable=SC2016 # for dpkg-query
	mapfile -t known < <(dpkg-query -W -f '${Package}\n' 'libdw1*' 'libelf1*')
	dpkg --purge --force-all "${known[@]}" >purged 2>&1
	expect_eq "no libdw in the system" "$(find_library libdw.so.1)" ""
	files >before
	mkdir "$TMP/prefix"
	tar -C "$TMP/prefix" -xf "$file"
	prefix=$(echo "$TMP"/prefix/seep-*)
	expect_eq "another folder than it was built for" "$(dirname "$prefix")" "$TMP/prefix"
	;;
deb)
	files >before
	apt-get -q -y -o Dpkg::Use-Pty=0 install "$file" >installed 2>&1 ||
		fail "the package cannot be installed" "$(cat installed)"
	prefix=/usr
	;;
esac
SEEP=$prefix/bin/seep
[ -x "$SEEP" ] || { fail "there is no $SEEP"; exit; }
expect_eq "the examples that the documents use" "$(cd "$prefix/share/doc/seep/examples" && echo ./*)" "./leaky.c ./requests.c"
[ "$what" = deb ] && expect_eq "in PATH" "$(command -v seep)" /usr/bin/seep

run ldd "$SEEP"
expect_no_match "all libraries are there" "$out" 'not found'
foreign=$(awk '$2 == "=>" { print $3 }' <<<"$out" | grep -vE '/(libc|libm|libdl|libpthread|librt)\.so\.[0-9]+$' |
	grep -cv "^$TMP/prefix/seep-[^/]*/bin/\.\./lib/seep/deps/")
if [ "$what" = tarball ]; then
	expect_eq "libraries from elsewhere, apart from glibc" "$foreign" 0
	run "$SEEP" doctor
	for part in 'pcre2  .*libpcre2-8.so.0' 'libcurl  .*libcurl.so.4' 'libmicrohttpd .*so.12' 'ncurses .*so.6' 'libdebuginfod .*so.1'; do
		expect_match "opened when needed: $part" "$out" "^ok +$part"
	done
else
	expect_between "libraries of the release" "$foreign" 3 20
fi

# seep run: the same figures everywhere, with lines.
run "$SEEP" run -o leaky.rec "$programs/leaky"
expect_eq "seep run: status" "$status" 0
expect_match "seep run: the verdict" "$err" '^LEAK  6\.13 MiB in 120 blocks lost at 2 sites, 120 times$'
line=$(grep -nF 'allocate(i * 1024)' "$ROOT/examples/leaky.c" | cut -d : -f 1)
expect_match "seep run: a line" "$err" "^    do_something +leaky\.c:$line "
expect_match "seep run: nothing is missing" "$err" 'exact, nothing missed · 120 allocs, 0 frees, 6,430,720 bytes'
run "$SEEP" run --no-save /bin/ls /
expect_eq "a program of the release: status" "$status" 0
expect_no_match "a program of the release: no leak" "$err" '^(LEAK|WRONG|KILLED)'
expect_match "a regular expression" "$("$SEEP" report --peek 'do_some.*else$' leaky.rec)" 'do_something_else'

# seep attach: a process that never heard of seep.
"$programs/requests" go on &
pid=$!
run "$SEEP" attach --exact --for 2s -o attached.rec "$pid"
expect_eq "seep attach: status" "$status" 0
expect_match "seep attach: the verdict" "$err" '^LEAK '
expect_match "seep attach: the leak, with its line" "$err" '^    handle_error +requests\.c:[0-9]+'
expect_match "seep attach: gone again" "$err" 'detached, nothing left'
kill -0 "$pid" || fail "the process died"
kill "$pid"
wait "$pid"

# What is opened when needed works: served by libmicrohttpd, fetched by libcurl.
if [ "$what" = tarball ]; then
	exec {told}< <(exec "$SEEP" pprof -http=:0 -no_browser leaky.rec 2>&1)
	server=$!
	read -r -t 30 -u "$told" first
	run "$SEEP" report "${first#Serving web UI on }/download"
	expect_eq "over HTTP: status" "$status" 0
	expect_match "over HTTP" "$out" 'do_something_else'
	kill "$server"
fi

# Under another tool's name, and from the shell.
expect_match "another tool's name" "$("$prefix/libexec/seep/bin/jeprof" --text leaky.rec 2>&1)" 'do_something'
expect_match "completion" "$(
	# shellcheck disable=SC1091 # installed just now
	. "$prefix/share/bash-completion/completions/seep"
	complete -p seep
)" 'seep$'
expect_eq "manual pages" "$(find "$prefix/share/man" -name 'seep*' | wc -l)" "$(find "$ROOT/man" -name '*.[1-9]' | wc -l)"

if [ "$what" = deb ]; then
	named=$(zcat -f "$prefix"/share/man/man*/seep* | grep -oE '/usr/[a-z/]*/libseep\.so|/usr/local/(bin|lib)[a-z/]*' | sort -u)
	expect_eq "the library's path in manual pages" "$named" /usr/lib/seep/libseep.so
	[ -e "$named" ] || fail "there is no $named"
fi

# Removed: nothing is left, in memory neither.
if [ "$what" = deb ]; then
	dpkg --purge seep >removed 2>&1 || fail "the package cannot be removed" "$(cat removed)"
fi
rm -rf "$TMP/prefix"
files >after
expect_eq "files left behind, files missing" "$(diff before after)" ""
