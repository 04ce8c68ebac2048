#!/bin/bash
# SPDX-License-Identifier: MIT
# Everything that finds fault with the source without running it. One line a step, the
# output of a step only when it failed, at the end `N passed, N failed`.
#
#   tools/lint.sh [STEP...]
set -u
cd "$(dirname "$0")/.." || exit 3
tidy_seconds=150
jobs=${JOBS:-2}
chosen=" $* "
logs=build-lint-logs
mkdir -p $logs
passed=0
failed=0

# step NAME COMMAND...
step() {
	local name=$1 from=$SECONDS
	shift
	case $chosen in "  " | *" $name "*) ;; *) return ;; esac
	if "$@" >"$logs/$name.log" 2>&1; then
		passed=$((passed + 1))
		printf 'ok    %-14s %4d s  %s\n' "$name" $((SECONDS - from)) "$(remark "$name")"
	else
		failed=$((failed + 1))
		printf 'FAIL  %-14s %4d s\n' "$name" $((SECONDS - from))
		tail -n 40 "$logs/$name.log" | sed 's/^/      | /'
	fi
}

# What a step has to say even though it passed.
remark() { sed -n 's/^remark: //p' "$logs/$1.log" | tail -n 1; }

sources() { find src -name '*.c' ! -path '*/bpf/*' | sort; }

# configure DIR OPTIONS...: a build tree of its own, set up again whenever files came or
# went.
configure() {
	local dir=$1 how=(meson setup)
	shift
	[ ! -e "$dir/build.ninja" ] || how+=(--reconfigure)
	"${how[@]}" "$dir" -Dwerror=true "$@"
}

build_with() {
	CC=$1 configure "build-lint-$1" && ninja -j "$jobs" -C "build-lint-$1"
}

# The recorder must also be right for the other processor; the tool is plain C. What needs
# nothing but the recorder's own code, the tests of the unwinder, runs there too.
build_aarch64() {
	configure build-lint-aarch64 --cross-file tools/cross-aarch64.ini -Dtool=false || return
	local targets tests test bad=0
	targets=$(ninja -C build-lint-aarch64 -t targets all |
		sed -nE 's/^(libseep_[a-z]*\.a|tests\/unit\/test_unwind[a-z_]*): .*/\1/p')
	# shellcheck disable=SC2086 # one word a target
	ninja -j "$jobs" -C build-lint-aarch64 $targets || return
	if ! command -v qemu-aarch64 >/dev/null; then
		echo "remark: no qemu-aarch64, nothing run"
		return
	fi
	tests=$(grep ^tests/ <<<"$targets")
	for test in $tests; do
		timeout 60 qemu-aarch64 -L /usr/aarch64-linux-gnu "build-lint-aarch64/$test" || bad=1
	done
	echo "remark: $(wc -w <<<"$tests") unit tests run there"
	return $bad
}

# Each header compiles alone: it includes what it needs.
headers() {
	local header extra bad=0
	while read -r header; do
		extra=
		case $header in
		*_aarch64.h | *_x86_64.h) continue ;; # parts of the header beside them
		src/shared/*) extra=-Wconversion ;;
		esac
		# shellcheck disable=SC2086 # empty or one word
		gcc -std=gnu11 -D_GNU_SOURCE= -Wall -Wextra -Wshadow -Wvla -Wundef -Wstrict-prototypes \
			$extra -Werror -Isrc -Iinclude -fsyntax-only -include "$header" \
			-x c /dev/null || bad=1
	done < <(find src include -name '*.h' ! -path '*/bpf/*' 2>/dev/null | sort)
	return $bad
}

cpp_check() {
	[ -n "$(sources)" ] || return 0
	sources | xargs cppcheck --quiet --std=c11 --language=c --error-exitcode=1 -j "$jobs" -Isrc -Iinclude \
		--enable=warning,portability --inline-suppr -D__x86_64__ -D__linux__ \
		--suppress=missingInclude --suppress=missingIncludeSystem --suppress=unusedFunction \
		--suppress=normalCheckLevelMaxBranches --suppress=unknownMacro
}

# sizeof-expression takes a list of pointers (tool/util/vec.h) for a mistake.
tidy_checks='-*,bugprone-*,readability-duplicate-include,-bugprone-easily-swappable-parameters'
tidy_checks+=',-bugprone-reserved-identifier,-bugprone-narrowing-conversions'
tidy_checks+=',-bugprone-implicit-widening-of-multiplication-result,-bugprone-macro-parentheses'
tidy_checks+=',-bugprone-assignment-in-if-condition,-bugprone-not-null-terminated-result'
tidy_checks+=',-bugprone-branch-clone,-bugprone-suspicious-string-compare'
tidy_checks+=',-bugprone-sizeof-expression'

tidy() {
	local count done_count
	[ -e build-lint-clang/compile_commands.json ] || CC=clang configure build-lint-clang || return
	count=$(sources | wc -l)
	rm -f $logs/tidy.done $logs/tidy.bad
	# shellcheck disable=SC2016 # expanded by the inner shell
	sources | timeout "$tidy_seconds" xargs -P "$jobs" -n 1 sh -c \
		'clang-tidy --quiet -p build-lint-clang --warnings-as-errors="*" --checks="$0" "$2" ||
			echo "$2" >>"$1/tidy.bad"
		echo "$2" >>"$1/tidy.done"' "$tidy_checks" "$logs"
	done_count=$(cat $logs/tidy.done 2>/dev/null | wc -l)
	echo "remark: $done_count of $count files"
	[ "$done_count" -eq "$count" ] && [ ! -e $logs/tidy.bad ]
}

shells() {
	git ls-files -co --exclude-standard | while read -r file; do
		[ -f "$file" ] || continue
		case $(head -c 64 "$file" | tr -d '\0' | head -n 1) in
		'#!/bin/sh'* | '#!/bin/bash'* | '#!/usr/bin/env bash'*) echo "$file" ;;
		esac
		case $file in tests/e2e/lib.sh) echo "$file" ;; esac
	done | sort -u | xargs -r shellcheck -x -P tests/e2e -P SCRIPTDIR
}

step format tools/format.sh
step gcc build_with gcc
step clang build_with clang
step headers headers
step aarch64 build_aarch64
step cppcheck cpp_check
step shellcheck shells
step clang-tidy tidy
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
