#!/bin/bash
# SPDX-License-Identifier: MIT
# What C++ does with pointers: seep and valgrind find the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"

leak_area leak_cxx
