#!/bin/bash
# SPDX-License-Identifier: MIT
# Children built with sanitizers, which bring a malloc of their own and want to be first:
# they must run as they do without seep, and seep must say so.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
. "$(dirname "$0")/lib_foreign.sh"

export ASAN_OPTIONS=detect_leaks=0
built asan gcc -fsanitize=address && each_way asan 'sanitizer'
built asan_static gcc -fsanitize=address -static-libasan && each_way asan_static 'sanitizer'
built asan_clang clang -fsanitize=address && each_way asan_clang 'sanitizer'
built asan_shared clang -fsanitize=address -shared-libasan \
	"-Wl,-rpath,$(dirname "$(clang -print-file-name=libclang_rt.asan-x86_64.so 2>/dev/null)")" &&
	each_way asan_shared 'sanitizer'
built tsan gcc -fsanitize=thread && each_way tsan 'sanitizer'
built ubsan gcc -fsanitize=undefined && each_way ubsan ''
