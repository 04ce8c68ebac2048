#!/bin/bash
# SPDX-License-Identifier: MIT
# What is lost over tcmalloc is what is lost over glibc's malloc. Threads, C++ and ends of
# processes.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"
. "$ROOT/tests/e2e/lib_leak_over.sh"

leak_over libtcmalloc.so.4 leak_threads leak_cxx leak_life
