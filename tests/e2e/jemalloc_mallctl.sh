#!/bin/bash
# SPDX-License-Identifier: MIT
# mallctl: every profiling name, called wrongly in eight ways and rightly in four, gives
# the error number that Debian's jemalloc gives. And who answers when there is a real one.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
[ -n "$JEMALLOC" ] || skip "no libjemalloc.so.2 here"
prog=$(program mallctl_wrong) || exit

# table LIBRARY CONF
table() {
	profiled "$1" "$2" "$prog"
	cat "$TMP/out"
}
for conf in prof:true prof:true,lg_prof_sample:0 prof:false '' prof:true,prof_active:false \
	prof:true,prof_stats:true,prof_sys_thread_name:true; do
	# Two things that jemalloc does and we do not: prof.prefix without a string
	# crashes, and prof.reset leaves something in errno (marked `!`).
	table "$JEMALLOC" "$conf" | sed -e '/^prof\.prefix/s/ S11/ EFAULT/' -e 's/!//g' >"$TMP/real"
	table "$LIBSEEP" "$conf" >"$TMP/mine"
	expect_eq "rows of $conf" "$(wc -l <"$TMP/real")" 50
	case $conf in
	'' | prof:false) # nothing is recorded, so there is nothing to add up
		expect_eq "totals with '$conf'" "$(grep -cE '^(epoch|stats\.[amr]).* ENOENT$' "$TMP/mine")" 7
		sed -i -E '/^(epoch|stats)/d' "$TMP/real" "$TMP/mine"
		;;
	esac
	expect_file "errors with '$conf'" "$TMP/mine" "$TMP/real"
	expect_no_match "errno with '$conf'" "$(cat "$TMP/mine")" '!'
done
expect_match "the real one crashes where we say EFAULT" "$(table "$JEMALLOC" prof:true)" '^prof\.prefix.* S11 '

# Values, not only errors.
cat >"$TMP/values.c" <<'END'
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
int main(void) {
	int (*ctl)(const char *, void *, size_t *, void *, size_t);
	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	bool b = false; size_t n = 0, len; ssize_t s = 0; uint64_t u = 0; const char *t = "";
#define GET(name, v) (len = sizeof(v), ctl(name, &(v), &len, NULL, 0))
	printf("%d %d\n", GET("opt.prof", b), b);
	printf("%d %d\n", GET("prof.active", b), b);
	printf("%d %zu\n", GET("opt.lg_prof_sample", n), n);
	printf("%d %zu\n", GET("prof.lg_sample", n), n);
	printf("%d %zd\n", GET("opt.lg_prof_interval", s), s);
	printf("%d %lu\n", GET("prof.interval", u), (unsigned long)u);
	printf("%d %s\n", GET("opt.prof_prefix", t), t);
	printf("%d %s\n", GET("opt.prof_time_resolution", t), t);
	printf("%d '%s'\n", GET("thread.prof.name", t), t);
	n = 3;
	printf("%d\n", ctl("prof.reset", NULL, NULL, &n, sizeof(n)));
	printf("%d %zu\n", GET("prof.lg_sample", n), n);
	printf("%d %zu\n", GET("opt.lg_prof_sample", n), n);
	t = "x\ny";
	printf("%d\n", ctl("thread.prof.name", NULL, NULL, &t, sizeof(t)));
	t = "two words";
	printf("%d\n", ctl("thread.prof.name", NULL, NULL, &t, sizeof(t)));
	printf("%d '%s'\n", GET("thread.prof.name", t), t);
	t = "/nowhere/at/all";
	printf("%d\n", ctl("prof.dump", NULL, NULL, &t, sizeof(t)));
	t = "";
	printf("%d\n", ctl("prof.prefix", NULL, NULL, &t, sizeof(t)));
	printf("%d\n", ctl("prof.dump", NULL, NULL, NULL, 0));
	return 0;
}
END
gcc -O1 -w -o "$TMP/values" "$TMP/values.c" || exit
for conf in prof:true,lg_prof_interval:22,prof_prefix:abc lg_prof_sample:7,prof_time_resolution:high; do
	profiled "$JEMALLOC" $conf "$TMP/values"
	wanted=$out
	profiled "$LIBSEEP" $conf "$TMP/values"
	expect_eq "values with $conf" "$out" "$wanted"
	expect_eq "values with $conf: nothing is printed or written" "$err$(dumps)" ""
done

# With prof_sys_thread_name the name is the kernel's, as it was at the last sample.
cat >"$TMP/named.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
static void *other(void *arg) {
	int (*ctl)(const char *, void *, size_t *, void *, size_t);
	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	static const char *const names[] = {"worker-7", "", "two words"};
	for (int i = 0; i < 3; i++) {
		const char *t = "unchanged"; size_t len = sizeof(t);
		prctl(PR_SET_NAME, names[i]);
		void *volatile p = malloc(1009);
		free(p);
		int error = ctl("thread.prof.name", &t, &len, NULL, 0);
		printf("%d '%s'\n", error, t);
	}
	return arg;
}
int main(void) {
	pthread_t t;
	other(NULL);
	return pthread_create(&t, NULL, other, NULL) != 0 || pthread_join(t, NULL) != 0;
}
END
gcc -O1 -w -pthread -o "$TMP/named" "$TMP/named.c" || exit
profiled "$JEMALLOC" prof:true,lg_prof_sample:0,prof_sys_thread_name:true "$TMP/named"
expect_eq "the real one: names that the kernel has" "$status $out" "0 0 'worker-7'
0 ''
0 'two words'
0 'worker-7'
0 ''
0 'two words'"
wanted=$out
profiled "$LIBSEEP" prof:true,lg_prof_sample:0,prof_sys_thread_name:true "$TMP/named"
expect_eq "names that the kernel has" "$out" "$wanted"

# The totals: bytes as they were asked for, and only as of the last epoch.
cat >"$TMP/totals.c" <<'END'
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
	int (*ctl)(const char *, void *, size_t *, void *, size_t);
	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	size_t a = 0, b = 0, c = 0, act = 0, res = 0, map = 0, met = 0, ret = 7, len; uint64_t e = 0, f = 0; const char *v = "";
	static char *kept[64];
#define GET(name, x) (len = sizeof(x), ctl(name, &(x), &len, NULL, 0))
	if (GET("epoch", e) != 0 || GET("stats.allocated", a) != 0) { puts("no totals"); return 0; }
	for (int i = 0; i < 61; i++)
		memset(kept[i] = malloc(70001), 1, 70001);
	GET("stats.allocated", b);
	ctl("epoch", NULL, NULL, &e, sizeof(e));
	GET("stats.allocated", c), GET("epoch", f), GET("version", v);
	GET("stats.active", act), GET("stats.resident", res), GET("stats.mapped", map);
	GET("stats.metadata", met), GET("stats.retained", ret);
	printf("stale %d, then %zu; epoch %d; %.5s; ", a == b, c - a, (int)(f - e), v);
	printf("active %d, resident %d, mapped %d, metadata %d, retained %d\n", act >= c && act < c + c / 2 && act % 4096 == 0,
	       res >= act, map >= act, met > 0, ret != 7);
	return 0;
}
END
gcc -O1 -w -o "$TMP/totals" "$TMP/totals.c" || exit
whole="stale 1, then N; epoch 1; 5.3.0; active 1, resident 1, mapped 1, metadata 1, retained 1"
profiled "$LIBSEEP" prof:true,lg_prof_sample:0 "$TMP/totals"
expect_eq "totals" "$out" "${whole/N/$((61 * 70001))}"
profiled "$JEMALLOC" prof:true,lg_prof_sample:0 "$TMP/totals" # in classes of 80 KiB
expect_match "totals of the real one" "$out" "^${whole/N/499[0-9]{4\}}$"
profiled "$LIBSEEP $JEMALLOC" prof:true,lg_prof_sample:0 "$TMP/totals"
expect_match "totals with a real one behind us" "$out" "^${whole/N/499[0-9]{4\}}$"
profiled "$LIBSEEP" prof:false "$TMP/totals"
expect_eq "totals of nothing" "$out" "no totals"

# A real one behind us: it is asked, and it profiles. Forced: it neither sees the settings
# nor writes files, and we answer.
demo=$(program jem_demo) || exit
conf=prof_leak:true,prof_final:true,lg_prof_sample:0
profiled "$LIBSEEP $JEMALLOC" $conf "$demo"
expect_eq "a real one: profiles" "$(dumps)" "jeprof.PID.0.f.heap"
expect_match "a real one: speaks" "$err" '^<jemalloc>: Leak'
expect_no_match "a real one: we are silent" "$err" seep
export SEEP=compat=jemalloc
profiled "$LIBSEEP $JEMALLOC" $conf "$demo"
expect_eq "forced: one profile" "$(dumps)" "jeprof.PID.0.f.heap"
expect_match "forced: it is ours" "$err" '^<seep>: Leak'
expect_no_match "forced: the other one is silent" "$err" jemalloc
SEEP=mode=off
profiled "$LIBSEEP" $conf "$demo"
expect_eq "our own variable: jemalloc's settings do not act" "$(dumps)$err" ""
