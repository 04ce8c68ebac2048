#!/bin/bash
# SPDX-License-Identifier: MIT
# Half of the healthy Debian programs of healthy.table as a new user would try seep on
# them: LEAK only where valgrind finds definite losses too, minor where they are few, and
# a report that fits on a screen. healthy_more.sh does the rest.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_healthy.sh"
need_seep
need_libseep
need_command xargs sqlite3 git
healthy_part 1 2
