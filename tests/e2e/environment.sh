#!/bin/bash
# SPDX-License-Identifier: MIT
# secure_getenv is libseep.so's while that is loaded, so that a real jemalloc behind it
# can be kept from MALLOC_CONF. For everybody else it must be libc's, errno included.
. "$(dirname "$0")/lib.sh"
need_libseep
prog=$(program environment) || exit
cd "$TMP" || exit

export MALLOC_CONF=prof:false
plain=$("$prog")
expect_eq "alone: every answer is getenv's" "$(grep -c ' same errno 77$' <<<"$plain")" 10
expect_eq "preloaded" "$(LD_PRELOAD=$LIBSEEP "$prog" 2>&1)" "$plain"
for seep in mode=off mode=exact,dir="$TMP" mode=sample,dir="$TMP" nonsense=1; do
	expect_eq "SEEP=$seep" "$(LD_PRELOAD=$LIBSEEP SEEP=$seep "$prog" 2>&1)" "$plain"
done
# Forced: the one name is hidden, nothing else.
expect_eq "SEEP=compat=jemalloc" "$(LD_PRELOAD=$LIBSEEP SEEP=compat=jemalloc "$prog" 2>&1)" \
	"${plain/MALLOC_CONF=prof:false same/MALLOC_CONF=(null) DIFFERENT}"
