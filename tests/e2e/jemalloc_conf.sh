#!/bin/bash
# SPDX-License-Identifier: MIT
# Strings of options, well and badly formed: the same lines on stderr and the same status
# as with Debian's jemalloc, but for the name at the beginning.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
[ -n "$JEMALLOC" ] || skip "no libjemalloc.so.2 here"

lines=0
while IFS= read -r conf; do
	profiled "$JEMALLOC" "$conf" /bin/true 2>/dev/null
	wanted="$err
status $status"
	profiled "$LIBSEEP" "$conf" /bin/true 2>/dev/null
	expect_eq "'$conf'" "${err//<seep>/<jemalloc>}
status $status" "$wanted"
	lines=$((lines + $(grep -c . <<<"$err")))
done <<'END'
prof:yes
profx:true
lg_prof_interval:-2
lg_prof_interval:64
lg_prof_sample:99
prof:true,
prof
prof:true, prof_final:true
prof;true
prof:true:false
prof:TRUE
prof:true,,prof_final:true
,
:
:true
abort_conf:true,foo:1
abort_conf:true,prof:true,
abort_conf:true,prof_leak_error:true
abort_conf:true,experimental_nothing:1
prof_leak_error:true
confirm_conf:true,prof:true,lg_prof_sample:3
confirm_conf:maybe
lg_prof_sample:
lg_prof_sample:0x
lg_prof_sample:0x10
lg_prof_sample:09
lg_prof_sample:+5
lg_prof_sample:-1
lg_prof_sample: 5
lg_prof_sample:99999999999999999999999
prof_recent_alloc_max:-2
prof_time_resolution:low
narenas:1,dirty_decay_ms:-1,background_thread:true,tcache:false
END
expect_between "lines compared" $lines 40 60

# Where they come from: the environment wins over the program, malloc_conf_2_conf_harder
# over all.
cat >"$TMP/sources.c" <<'END'
#include <stdlib.h>
const char *malloc_conf = "confirm_conf:true,prof:true,prof_final:true,prof_prefix:program";
#ifdef HARDER
const char *malloc_conf_2_conf_harder = "prof_prefix:harder";
#endif
int main(void) { return malloc(1 << 20) == NULL; }
END
gcc -O0 -w -rdynamic -o "$TMP/sources" "$TMP/sources.c" || exit
gcc -O0 -w -rdynamic -DHARDER -o "$TMP/harder" "$TMP/sources.c" || exit
for conf in "" prof_prefix:env,lg_prof_sample:0; do
	profiled "$JEMALLOC" "$conf" "$TMP/sources"
	wanted="$(dumps) $err"
	profiled "$LIBSEEP" "$conf" "$TMP/sources"
	expect_eq "sources, '$conf'" "$(dumps) ${err//<seep>/<jemalloc>}" "$wanted"
done
profiled "$LIBSEEP" prof_prefix:env,lg_prof_sample:0 "$TMP/harder" # Debian's hides this one
expect_eq "the last one wins" "$(dumps)" "harder.PID.0.f.heap"
expect_match "what was read is said" "$err" \
	'^<seep>: malloc_conf #5 \(string pointed to by the global variable malloc_conf_2_conf_harder\): "prof_prefix:harder"$'

# Options of our own, and of releases after Debian's.
profiled "$LIBSEEP" prof:true,prof_final:true,prof_bt_max:1,prof_pid_namespace:true,prof_max_dumps:9 "$TMP/sources"
expect_match "pid namespace in the name" "$(ls "$DUMPS")" \
	"^program\.$(readlink /proc/self/ns/pid | tr -dc 0-9)\.[0-9]+\.0\.f\.heap$"
profiled "$LIBSEEP" prof:true,prof_log:true /bin/true
expect_eq "a log is not promised in silence" "$err" \
	"<seep>: prof_log: no log is written, only heap profiles"
