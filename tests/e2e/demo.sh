#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make demo` shows: examples/leaky.c loses 120 blocks, 6,430,720 bytes, at two
# places.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep

${CC:-gcc} -g -o "$TMP/leaky" "$ROOT/examples/leaky.c" || exit
cd "$TMP" || exit
expect_status 0 "$SEEP" run -o leaky.rec -- ./leaky
expect_match "total" "$err" '120 allocs, 0 frees, 6,430,720 bytes'
expect_match "first place" "$err" '^ 1 +3\.09 MiB .*80 blocks, 0 freed'
expect_match "second place" "$err" '^ 2 +3\.05 MiB .*40 blocks, 0 freed'
expect_match "line of the first" "$err" 'do_something +leaky\.c:[0-9]+'
expect_match "line of the second" "$err" 'do_something_else +leaky\.c:[0-9]+'
expect_eq "recording is there" "$(find . -name leaky.rec -size +0)" ./leaky.rec
expect_status 0 "$SEEP" report leaky.rec
expect_match "report names the first" "$out" 'do_something '
expect_match "report names the second" "$out" 'do_something_else '
