#!/bin/bash
# SPDX-License-Identifier: MIT
# Every way to allocate, and blocks beside free memory: seep and valgrind find the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"

leak_area leak_alloc
