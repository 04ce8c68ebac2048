#!/bin/bash
# SPDX-License-Identifier: MIT
# Names and lines whatever became of the binary: in a path with a space, stripped with its
# debug file elsewhere, moved, replaced by another build, deleted under a process that
# runs, in another root. And a line that says what is missing where they cannot be had.
# The cache of indexes: made, used, switched off.
# timeout: 300
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq objcopy strip readelf
export SEEP_CACHE=off
mkdir "$TMP/home"
cd "$TMP/home" || exit
cat >leaf.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile keep;
static inline __attribute__((always_inline)) void *take(unsigned n)
{
	return malloc(n);
}
__attribute__((noinline)) void leaf_fill(unsigned n)
{
	for (unsigned i = 0; i < 37; i++)
		keep = take(n + EXTRA);
}
int main(int argc, char **argv)
{
	leaf_fill(1009);
	puts("expect bytes=37333 blocks=37");
	fflush(stdout);
	if (argc > 1 && argv[1][0] == 'w')
		getchar();
	return 0;
}
END
build() { ${CC:-gcc} -g -O1 -DEXTRA="$1" -Wl,--build-id leaf.c -o "$2"; }
build 0 leaf || exit
id=$(readelf -n leaf | awk '/Build ID/ { print $3 }')
line='leaf_fill +leaf\.c:12'

# record FILE PROGRAM: without names, so that each report has to find them.
record() { "$SEEP" run --no-names -o "$1" -- "$2" >/dev/null 2>&1; }
# expect_named WHAT FILE OPTIONS...: both frames of the place, and why there is nothing to
# say.
expect_named() {
	local what=$1 file=$2
	shift 2
	run "$SEEP" report --json "$@" "$file"
	expect_json "$what" "$TMP/out" \
		'[.modules[] | select(.path | test("leaf")) | .why_no_names] | unique' '[null]'
	run "$SEEP" report "$@" "$file"
	expect_match "$what: line" "$out" "$line"
}

mkdir "a b"
cp leaf "a b/leaf one"
record space.rec "./a b/leaf one"
expect_named "path with a space" space.rec

strip leaf -o bare
objcopy --only-keep-debug leaf leaf.debug
record bare.rec ./bare
run "$SEEP" report bare.rec
expect_match "stripped: how to get names" "$out" 'stripped; install its debug symbols, or try --debuginfod'
expect_no_match "stripped: no name is made up" "$out" 'leaf_fill'
mkdir -p "dbg/.build-id/${id:0:2}" other
cp leaf.debug "dbg/.build-id/${id:0:2}/${id:2}.debug"
line='leaf_fill +leaf\.c:12'
run "$SEEP" report --debug-dir "$PWD/other" --debug-dir "$PWD/dbg" bare.rec
expect_match "debug folder by build-id" "$out" "$line"
run env PPROF_BINARY_PATH="$PWD/other:$PWD/dbg" "$SEEP" report bare.rec
expect_match "PPROF_BINARY_PATH" "$out" "$line"
run "$SEEP" report --debuginfod bare.rec
expect_match "debuginfod without servers" "$out" 'debuginfod has no servers: set DEBUGINFOD_URLS'
cp leaf.debug bare.debug
objcopy --add-gnu-debuglink=bare.debug bare linked
record linked.rec ./linked
run "$SEEP" report linked.rec
expect_match "beside it by its name" "$out" "$line"

record moved.rec ./leaf
mv leaf elsewhere
run "$SEEP" report moved.rec
expect_match "gone: how to get names" "$out" 'file is gone; try --debug-dir, --sysroot or --exe'
expect_named "moved, and told where" moved.rec --exe elsewhere
expect_named "gone, its debug file is not" moved.rec --debug-dir "$PWD/dbg"
mkdir -p "root$PWD"
cp elsewhere "root$PWD/leaf"
expect_named "another root" moved.rec --sysroot "$PWD/root"
build 7 leaf
new=$(readelf -n leaf | awk '/Build ID/ { print $3 }')
run "$SEEP" report --json moved.rec
expect_json "replaced: both ids" "$TMP/out" \
	'[.modules[] | select(.path | test("leaf")) | .why_no_names][0]' \
	"the file is of another build now: recorded $id, file has $new"
expect_named "replaced, and told where" moved.rec --exe elsewhere
run "$SEEP" report --exe leaf --json moved.rec
expect_json "what --exe names is checked" "$TMP/out" \
	'[.modules[] | select(.path | test("leaf")) | .why_no_names][0]' \
	"the file is of another build now: recorded $id, file has $new"

# Deleted and replaced while it runs: the process has it still.
cp elsewhere runs
mkfifo gate
"$SEEP" run --no-names -o runs.rec -- ./runs wait <gate >runs.out 2>/dev/null &
tool=$!
exec 9>gate
wait_for 10 grep -q expect runs.out
pid=$(child_of $tool)
rm runs
cp leaf runs
run "$SEEP" report "$pid"
expect_match "deleted under a process" "$out" "$line"
exec 9>&-
wait $tool

# Rust's two schemes and C++ in one binary.
cat >names.c <<'END'
#include <stdlib.h>
void *volatile keep;
void legacy(void) __asm__("_ZN6seller4shop4take17h0123456789abcdefE");
void v0(void) __asm__("_RNvNtCs1234_6seller4shop4give");
void cxx(void) __asm__("_ZN6seller5shelfIiE3putEPKc");
__attribute__((noinline)) void legacy(void) { keep = malloc(10007); }
__attribute__((noinline)) void v0(void) { keep = malloc(20011); }
__attribute__((noinline)) void cxx(void) { keep = malloc(30011); }
int main(void) { legacy(); v0(); cxx(); return 0; }
END
${CC:-gcc} -O1 -fno-optimize-sibling-calls names.c -o names || exit
run "$SEEP" run -o names.rec -- ./names
run "$SEEP" report --json names.rec
for name in 'seller::shop::take _ZN6seller4shop4take17h0123456789abcdefE' \
	'seller::shop::give _RNvNtCs1234_6seller4shop4give' \
	'seller::shelf<int>::put _ZN6seller5shelfIiE3putEPKc'; do
	expect_eq "$name" "$(grep -c -F -e "\"${name% *}\"" "$TMP/out")" 1
	expect_match "$name, as the linker has it" "$(cat "$TMP/out")" "${name#* }"
done

# The cache: in XDG_CACHE_HOME, or where SEEP_CACHE says, or nowhere.
need_command g++
cat >big.cc <<'END'
#include <iostream>
#include <map>
#include <regex>
#include <string>
static std::map<std::string, std::string> *seen = new std::map<std::string, std::string>;
int main(int argc, char **argv)
{
	std::regex r("(a|b)*c+[0-9]{2,3}");
	(*seen)[std::string(1000, 'x')] = std::string(5000, 'y');
	std::cout << std::regex_match(argv[0], r) << argc << '\n';
	return 0;
}
END
g++ -std=c++17 -g -O1 -Wl,--build-id big.cc -o big || exit
"$SEEP" run --no-names -o big.rec -- ./big >/dev/null 2>&1
unset SEEP_CACHE
export XDG_CACHE_HOME=$TMP/xdg
files() { find "$1" -type f 2>/dev/null | wc -l; }
# expect_same WHAT: the last report is the one without a cache.
expect_same() { expect_file "$1" "$TMP/out" plain.txt; }
run "$SEEP" report --no-cache --by live --all big.rec
cp "$TMP/out" plain.txt
expect_match "lines" "$out" 'main +big\.cc:9'
expect_eq "--no-cache leaves nothing" "$(files "$TMP/xdg")" 0
run env SEEP_CACHE=off "$SEEP" report --by live --all big.rec
expect_eq "SEEP_CACHE=off leaves nothing" "$(files "$TMP/xdg")" 0
run "$SEEP" report --by live --all big.rec
expect_same "first time"
expect_between "kept" "$(files "$TMP/xdg/seep/sym")" 1 3
file=$(find "$TMP/xdg/seep/sym" -name "$(readelf -n big | awk '/Build ID/ { print $3 }').idx")
expect_eq "for the owner alone" "$(stat -c %a "$file")" 600
run "$SEEP" report --by live --all big.rec
expect_same "from the cache"
head -c 3000 /dev/urandom >"$file"
run "$SEEP" report --by live --all big.rec
expect_same "with a broken file"
run env SEEP_CACHE="$TMP/own" "$SEEP" report --by live --all big.rec
expect_between "SEEP_CACHE names a folder" "$(files "$TMP/own")" 1 3
run env SEEP_CACHE=/proc/nowhere "$SEEP" report --by live --all big.rec
expect_same "where nothing can be kept"
mv big gone
run "$SEEP" report --by live --all big.rec
expect_same "gone, but kept"
run "$SEEP" report --by live --all --no-cache big.rec
expect_match "gone, and not kept" "$out" 'file is gone'
