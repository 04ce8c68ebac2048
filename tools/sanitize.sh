#!/bin/bash
# SPDX-License-Identifier: MIT
# Unit tests once more with the compiler looking on: all of them under ASan + UBSan, those
# of the lock-free parts (a `/* tsan */` line near the top of the test) also under TSan.
# Nothing but the unit tests is built this way: libseep.so under a sanitizer would watch
# itself.
set -u
cd "$(dirname "$0")/.." || exit 3
passed=0
failed=0

# run_under NAME SANITIZERS TEST...
run_under() {
	local dir=build-$1 sanitizers=$2 how=(meson setup) test
	shift 2
	[ $# -gt 0 ] || return 0
	[ ! -e "$dir/build.ninja" ] || how+=(--reconfigure)
	how+=("$dir" -Db_sanitize="$sanitizers" -Db_lundef=false)
	if ! { "${how[@]}" && ninja -j "${JOBS:-2}" -C "$dir" unit-tests; } >"$dir.log" 2>&1; then
		tail -n 30 "$dir.log"
		failed=$((failed + 1))
		return
	fi
	mv "$dir.log" "$dir/setup.log"
	for test; do
		if timeout 300 "$dir/tests/unit/$test" >"$dir/$test.log" 2>&1; then
			passed=$((passed + 1))
			echo "ok    $sanitizers $test"
		else
			failed=$((failed + 1))
			echo "FAIL  $sanitizers $test"
			tail -n 40 "$dir/$test.log" | sed 's/^/      | /'
		fi
	done
}

names() { sed 's,.*/,,; s,\.c$,,'; }
mapfile -t every < <(printf '%s\n' tests/unit/test_*.c | names)
mapfile -t threads < <(grep -lx '/\* tsan \*/' tests/unit/test_*.c | names)

# Freed memory that ASan keeps counts in the limits that some tests set.
export ASAN_OPTIONS=quarantine_size_mb=16
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
run_under asan address,undefined "${every[@]}"
run_under tsan thread "${threads[@]}"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
