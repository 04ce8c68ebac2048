#!/bin/bash
# SPDX-License-Identifier: MIT
# Every way to end, and what must not count: seep and valgrind find the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"

leak_area leak_life
