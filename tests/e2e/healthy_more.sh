#!/bin/bash
# SPDX-License-Identifier: MIT
# The other half of the programs of healthy.table: see healthy.sh.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_healthy.sh"
need_seep
need_libseep
need_command xargs sqlite3 git
healthy_part 0 2
