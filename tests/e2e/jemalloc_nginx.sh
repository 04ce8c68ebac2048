#!/bin/bash
# SPDX-License-Identifier: MIT
# The recipe for OpenResty: a profile from init_by_lua through LuaJIT's FFI, another one
# after each of two `nginx -s reload`, and the difference between the first and the last
# in jeprof and in seep jeprof.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
need_seep
need_command nginx jeprof
modules=/usr/lib/nginx/modules
[ -e $modules/ngx_http_lua_module.so ] || skip "no ngx_http_lua_module.so here"

# resty.core is not packaged with it in Debian; nothing here needs it.
cat >"$TMP/nginx.conf" <<END
load_module $modules/ndk_http_module.so;
load_module $modules/ngx_http_lua_module.so;
daemon off;
worker_processes 1;
pid $TMP/nginx.pid;
error_log $TMP/error.log;
events {}
http {
	access_log off;
	init_by_lua_block {
		local ffi = require "ffi"
		local C = ffi.C

		ffi.cdef[[
		  int mallctl(	const char *name,
		   	void *oldp,
		   	size_t *oldlenp,
		   	void *newp,
		   	size_t newlen);
		]]

		C.mallctl("prof.dump", NULL, NULL, NULL, 0)
	}
	server { listen unix:$TMP/socket; }
}
END
have_dumps() { [ "$(count_dumps)" -ge "$1" ]; }
running() { [ -s "$TMP/nginx.pid" ] && [ -S "$TMP/socket" ]; }

(in_dumps "$LIBSEEP" prof:true,lg_prof_sample:0 nginx -p "$TMP" -e "$TMP/error.log" -c "$TMP/nginx.conf") \
	>"$TMP/out" 2>"$TMP/err" &
master=$!
wait_for 10 running || { cat "$TMP/err" "$TMP/error.log"; exit 1; }
expect_eq "at the start" "$(find "$DUMPS" -name '*.heap' -printf '%f\n')" "jeprof.$master.0.m0.heap"
reload() { # PROFILES-AFTERWARDS
	LD_PRELOAD=$LIBSEEP MALLOC_CONF=prof:true nginx -p "$TMP" -e "$TMP/error.log" -c "$TMP/nginx.conf" -s reload \
		2>>"$TMP/err" >/dev/null
	wait_for 10 have_dumps "$1"
}
reload 2
reload 3
first=$DUMPS/jeprof.$master.0.m0.heap
second=$DUMPS/jeprof.$master.2.m2.heap
expect_eq "after two reloads" "$([ -e "$DUMPS/jeprof.$master.1.m1.heap" ] && [ -e "$second" ] && echo there)" there
wait_for 10 grep -q MAPPED_LIBRARIES "$second"
expect_match "the difference" "$(jeprof --text --show_bytes "$(command -v nginx)" --base="$first" "$second" 2>/dev/null)" \
	'^Total: [0-9]+ B'
expect_match "the difference, by seep" "$("$SEEP" jeprof --text --show_bytes "$(command -v nginx)" --base="$first" "$second" 2>/dev/null)" \
	'^Total: [0-9]+ B'
kill $master
wait $master
expect_eq "it goes down as it should" "$?" 0
