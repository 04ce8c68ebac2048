#!/bin/bash
# SPDX-License-Identifier: MIT
# Shapes of blocks that point to each other: seep and valgrind find the same.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"

leak_area leak_graph
