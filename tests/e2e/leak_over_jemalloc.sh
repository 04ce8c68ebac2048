#!/bin/bash
# SPDX-License-Identifier: MIT
# What is lost over jemalloc is what is lost over glibc's malloc.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"
. "$ROOT/tests/e2e/lib_leak_over.sh"

leak_over libjemalloc.so.2 leak_alloc leak_graph leak_roots
