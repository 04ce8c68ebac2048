#!/bin/bash
# SPDX-License-Identifier: MIT
# The recipes of docs/howto/ci.md for CTest and Meson, with the real ones.
# timeout: 120
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
cd "$TMP" || exit
unset CFLAGS LDFLAGS
cat >lossy.c <<'END'
#include <stdlib.h>
void *volatile last;
int main(void)
{
	for (int i = 0; i < 7; i++)
		last = malloc(173);
	last = 0;
	return 0;
}
END
echo 'int main(void) { return 0; }' >tidy.c

if have cmake && have ctest && have make; then
	ln -s "$SEEP" seep-valgrind
	cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.13)
project(demo C)
include(CTest)
add_compile_options(-O0 -g)
add_executable(lossy lossy.c)
add_executable(tidy tidy.c)
add_test(NAME lossy COMMAND lossy)
add_test(NAME tidy COMMAND tidy)
END
	run cmake -G 'Unix Makefiles' -S . -B with-cmake -DMEMORYCHECK_COMMAND="$TMP/seep-valgrind"
	expect_eq "cmake" "$status" 0
	run cmake --build with-cmake
	expect_eq "cmake --build" "$status" 0
	cd with-cmake || exit
	run ctest -T memcheck
	expect_match "CTest: both ran" "$out" '^100% tests passed, 0 tests failed out of 2'
	expect_match "CTest: the leak is a defect" "$out" '^Memory Leak - [1-9]'
	expect_eq "CTest: of one test" "$(grep -c 'Defects: ' <<<"$out")" 1
	expect_match "CTest: its log" "$(cat Testing/Temporary/MemoryChecker.1.log)" \
		'^==[0-9]+== 1,211 bytes in 7 blocks are definitely lost in loss record 1 of 1$'
	cd .. || exit
fi

if have meson && have ninja; then
	cat >meson.build <<'END'
project('demo', 'c', default_options: ['debug=true', 'optimization=0'])
test('lossy', executable('lossy', 'lossy.c'))
test('tidy', executable('tidy', 'tidy.c'))
END
	run meson setup with-meson
	expect_eq "meson setup" "$status" 0
	run meson test -C with-meson --wrapper "$SEEP run --no-save --fail-on leak --junit $TMP/leaks.%p.xml --"
	expect_eq "Meson: the suite fails" "$status" 1
	expect_match "Meson: the leaking test" "$out" ' lossy +FAIL '
	expect_match "Meson: the other" "$out" ' tidy +OK '
	expect_match "Meson: where" "$(cat leaks.*.xml)" 'definitely lost in main lossy\.c:6"'
fi
[ $((lib_passed + lib_failed)) -gt 0 ] || skip "neither CMake nor Meson here"
