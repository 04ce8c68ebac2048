/* SPDX-License-Identifier: MIT */
/* jemalloc_test.h -- what jemalloc's unit tests want of jemalloc's own headers, over the
 * public interface alone. Written by tools/peer_suites/jemalloc.py into the folder in
 * which these are built.
 *
 * The tests' macros come from the checkout (test/include/test/test.h). mallocx and its
 * like are malloc and its like; counts of objects and stacks are read from a profile that
 * is dumped for it. What cannot be had so has a value that makes the check fail over
 * jemalloc itself, too: then it does not count. Results go to stdout, one line each. */
#ifndef PEER_JEMALLOC_TEST_H
#define PEER_JEMALLOC_TEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

#define JEMALLOC_FORMAT_PRINTF(s, i) __attribute__((format(printf, s, i)))
#define JEMALLOC_EXPORT
#define JEMALLOC_NOTHROW
#define JEMALLOC_ATTR(x)
#define JEMALLOC_NOINLINE __attribute__((noinline))
#define JEMALLOC_DIAGNOSTIC_PUSH
#define JEMALLOC_DIAGNOSTIC_POP
#define JEMALLOC_DIAGNOSTIC_IGNORE_ALLOC_SIZE_LARGER_THAN
#define JEMALLOC_DIAGNOSTIC_DISABLE_SPURIOUS
#define JEMALLOC_INLINE_C static inline
#define JEMALLOC_PROF 1
#define UNUSED __attribute__((unused))
#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)
#define unreachable() __builtin_unreachable()
#define ZU(n) ((size_t)(n))
#define ZI(n) ((ssize_t)(n))
#define QU(n) ((uint64_t)(n))
#define KQU(n) ((uint64_t)(n##ULL))
#define FMTu64 PRIu64
#define FMTx64 PRIx64
#define FMTu32 PRIu32
#define FMTd32 PRId32
#define FMTxPTR PRIxPTR
#define FMTuPTR PRIuPTR
#define FMTd64 PRId64
#define FMTptr PRIxPTR
#define FMTx32 PRIx32
#define malloc_snprintf snprintf
#define malloc_printf printf
#define LG_PAGE 12
#define PAGE ((size_t)4096)
#define LG_SIZEOF_PTR 3
#define LG_QUANTUM 4
#define QUANTUM 16

/* ---- sizes, as Debian's jemalloc has them ---- */

typedef unsigned szind_t;
typedef unsigned pszind_t;
#define SC_NBINS 36
#define SC_NSIZES 232
#define SC_LG_LARGE_MINCLASS 14
#define SC_LARGE_MINCLASS ((size_t)1 << 14)
#define SC_SMALL_MAXCLASS ((size_t)14336)
#define SC_LARGE_MAXCLASS ((size_t)0x7000000000000000)
#define MALLCTL_ARENAS_ALL 4096
#define MALLOCX_LG_ALIGN(n) ((int)(n))
#define MALLOCX_ALIGN(n) (__builtin_ctzl(n))
#define MALLOCX_ZERO ((int)0x40)
#define MALLOCX_TCACHE_NONE ((int)0x100)
#define MALLOCX_TCACHE(t) ((int)((t) + 2) << 8)
#define MALLOCX_ARENA(a) ((int)((a) + 1) << 20)

static inline size_t
sz_index2size(szind_t i)
{
	if (i == 0)
		return 8;
	if (i <= 4)
		return (size_t)i * 16;
	return ((size_t)64 << (i - 5) / 4) / 4 * (5 + (i - 5) % 4);
}

static inline szind_t
sz_size2index(size_t bytes)
{
	szind_t i = 0;

	while (sz_index2size(i) < bytes)
		i++;
	return i;
}

static inline size_t
sz_sa2u(size_t bytes, size_t align)
{
	size_t up = bytes <= SC_SMALL_MAXCLASS && align <= PAGE
			    ? sz_index2size(sz_size2index((bytes + align - 1) & ~(align - 1)))
			    : SC_LARGE_MINCLASS;

	if (up < SC_LARGE_MINCLASS)
		return up;
	return bytes <= SC_LARGE_MINCLASS ? SC_LARGE_MINCLASS : sz_index2size(sz_size2index(bytes));
}

/* The allocator underneath may round up otherwise; only prof_stats asks. */
#define TEST_MALLOC_SIZE(p) sz_index2size(ind)
#define sz_s2u(bytes) sz_index2size(sz_size2index(bytes))
#define sz_pind2sz(i) ((size_t)4096 * ((i) + 1))

/* ---- allocating ---- */

static inline void *
mallocx(size_t bytes, int flags)
{
	int lg = flags & 0x3f;
	void *p = lg > 3 ? memalign((size_t)1 << lg, bytes) : malloc(bytes);

	if (p != NULL && (flags & MALLOCX_ZERO) != 0)
		memset(p, 0, bytes);
	return p;
}

#define dallocx(p, flags) free(p)
#define sdallocx(p, bytes, flags) free(p)
#define rallocx(p, bytes, flags) realloc(p, bytes)
#define nallocx(bytes, flags) (bytes)
#define sallocx(p, flags) malloc_usable_size(p)
#define xallocx(p, bytes, extra, flags) malloc_usable_size(p)

/* ---- threads ---- */

typedef pthread_t thd_t;
#define thd_create(t, f, a) ((void)pthread_create(t, NULL, f, a))
#define thd_join(t, r) pthread_join(t, r)
#define test_hooks_arena_new_hook peer_hook
#define test_hooks_libc_hook peer_hook

/* ---- what the tests look at inside ---- */

static bool config_prof = true, opt_prof = true, opt_prof_stats = true, opt_hpa, opt_prof_active = true;
static const bool config_stats = true, config_debug, config_fill = true, config_xmalloc, config_utrace,
	config_cache_oblivious = true, config_lazy_lock, config_opt_safety_checks, config_prof_libgcc,
	config_prof_libunwind, opt_background_thread, opt_retain = true, have_background_thread = true;
static inline bool is_background_thread_enabled(void) { return false; }

typedef struct tsd { int unused; } tsd_t;
typedef struct tsd tsdn_t;
static inline tsd_t *tsd_fetch(void) { static tsd_t t; return &t; }
#define tsdn_fetch() tsd_fetch()

typedef struct { uint64_t curobjs, curbytes, accumobjs, accumbytes; } prof_cnt_t;
typedef struct prof_tctx { int unused; } prof_tctx_t;
typedef struct { prof_tctx_t *alloc_tctx; } prof_info_t;
typedef void (*prof_backtrace_hook_t)(void **, unsigned *, unsigned);
typedef void (*prof_dump_hook_t)(const char *);
#define prof_info_get(tsd, p, edata, info) ((info)->alloc_tctx = (prof_tctx_t *)(uintptr_t)2)

typedef int prof_dump_open_file_t(const char *, int);
typedef int prof_sys_thread_name_read_t(char *, size_t);
static int peer_no_file(const char *name, int mode) { (void)name; (void)mode; return -1; }
static int peer_no_name(char *name, size_t limit) { (void)name; (void)limit; return -1; }
__attribute__((unused)) static prof_dump_open_file_t *prof_dump_open_file = peer_no_file;
__attribute__((unused)) static prof_sys_thread_name_read_t *prof_sys_thread_name_read = peer_no_name;

typedef int hook_alloc_t;
typedef int hook_dalloc_t;
typedef struct { void *alloc_hook, *dalloc_hook, *expand_hook, *extra; } hooks_t;
#define HOOK_MAX 4
typedef void (*activity_callback_t)(void *, uint64_t, uint64_t);
typedef struct { activity_callback_t callback; void *uctx; } activity_callback_thunk_t;

/* Settings of the heap, for tests that are about it. */
static const struct { size_t reg_size; uint32_t nregs; size_t slab_size; uint32_t n_shards; } bin_infos[1] = {{8, 512, 4096, 1}};
static const bool opt_tcache = true, config_uaf_detection, opt_prof_sys_thread_name;
static const size_t opt_oversize_threshold = 8 << 20;
static const char *config_malloc_conf = "";
#define opt_narenas ((unsigned)sysconf(_SC_NPROCESSORS_ONLN) * 4)
#define opt_percpu_arena 0
#define PERCPU_ARENA_ENABLED(mode) false
#define percpu_arena_ind_limit(mode) 0
#define percpu_arena_disabled 0

/* The log and the list of recent allocations, as far as mallctl has them. */
static const ssize_t opt_prof_recent_alloc_max = 3;
static const bool prof_active_state = true;
static const size_t lg_prof_sample = 0;
typedef struct { int unused; } edata_t;
typedef struct prof_recent { void *alloc_tctx, *dalloc_tctx; size_t size; struct prof_recent *next; } prof_recent_t;
typedef struct { prof_recent_t *first; } prof_recent_list_t;
static prof_recent_list_t prof_recent_alloc_list;
static int arena_emap_global;
#define TSDN_NULL NULL
#define emap_edata_lookup(tsdn, map, p) ((edata_t *)NULL)
#define edata_prof_recent_alloc_get_no_lock_test(e) ((prof_recent_t *)NULL)
#define prof_recent_alloc_edata_get_no_lock_test(n) ((edata_t *)NULL)
#define ql_foreach(n, list, link) for (n = (list)->first; n != NULL; n = n->next)
#define ql_first(list) ((list)->first)
#define ql_last(list, link) ((list)->first)
#define ql_next(list, n, link) ((n)->next)
#define ql_empty(list) ((list)->first == NULL)
__attribute__((unused)) static ssize_t
prof_recent_alloc_max_ctl_read(void)
{
	ssize_t most = -2;
	size_t bytes = sizeof most;

	mallctl("experimental.prof_recent.alloc_max", &most, &bytes, NULL, 0);
	return most;
}
__attribute__((unused)) static ssize_t
prof_recent_alloc_max_ctl_write(tsd_t *tsd, ssize_t most)
{
	(void)tsd;
	return mallctl("experimental.prof_recent.alloc_max", NULL, NULL, &most, sizeof most);
}
#define prof_log_rep_check() false
#define prof_log_is_logging() peer_logs
#define prof_log_bt_count() ((size_t)-1)
#define prof_log_thr_count() ((size_t)-1)
#define prof_log_alloc_count() ((size_t)-1)
#define prof_log_dummy_set(on) ((void)(on))
static bool peer_logs;

#define prng_range_u64(state, range) (((*(state) = *(state) * 6364136223846793005u + 1) >> 33) % (range))
#define sleep_ns(ns) usleep((ns) / 1000)
#define narenas_total_get() 0u
#define san_uaf_detection_enabled() false
#define ctl_mibnametomib(...) (-1)
#define ctl_bymibname(...) (-1)
#define prof_recent_alloc_dump(...) ((void)0)

typedef ssize_t prof_dump_write_file_t(int, const void *, size_t);
typedef int prof_dump_open_maps_t(void);
static int peer_open_maps(void) { return open("/proc/self/maps", O_RDONLY); }
__attribute__((unused)) static prof_dump_write_file_t *prof_dump_write_file = write;
__attribute__((unused)) static prof_dump_open_maps_t *prof_dump_open_maps = peer_open_maps;

/* The kernel's name of the thread is what jemalloc would have read. */
__attribute__((unused)) static void
peer_thread_name(int (*read_name)(char *, size_t))
{
	char name[16] = "";

	if (read_name(name, sizeof name) == 0)
		prctl(PR_SET_NAME, name);
}

/* Profiles in the folder: how many, and the newest is gone again. */
static unsigned
peer_profiles(bool all_away)
{
	DIR *d = opendir(".");
	struct dirent *e;
	unsigned n = 0;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strstr(e->d_name, ".heap") == NULL)
			continue;
		n++;
		if (all_away)
			unlink(e->d_name);
	}
	if (d != NULL)
		closedir(d);
	return n;
}

/* A profile of now: objects and stacks, without what reading it allocates. */
static void
peer_count(prof_cnt_t *ret, size_t *ret_stacks)
{
	static pthread_mutex_t one_by_one = PTHREAD_MUTEX_INITIALIZER;
	static char text[1 << 20];
	const char *path = "peer.profile", *at;
	unsigned long long objs = 0, bytes = 0, all = 0, all_bytes = 0;
	ssize_t n = 0;
	int fd;

	pthread_mutex_lock(&one_by_one);
	if (mallctl("prof.dump", NULL, NULL, &path, sizeof path) == 0 && (fd = open(path, O_RDONLY)) >= 0) {
		n = read(fd, text, sizeof text - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "t*:");
	if (at != NULL)
		sscanf(at, "t*: %llu: %llu [%llu: %llu]", &objs, &bytes, &all, &all_bytes);
	*ret = (prof_cnt_t){objs, bytes, all, all_bytes};
	*ret_stacks = 0;
	for (at = text; (at = strstr(at, "\n@ ")) != NULL; at++)
		++*ret_stacks;
	unlink(path);
	pthread_mutex_unlock(&one_by_one);
}

__attribute__((unused)) static void
prof_cnt_all(prof_cnt_t *ret)
{
	size_t stacks;

	peer_count(ret, &stacks);
}

__attribute__((unused)) static size_t
prof_bt_count(void)
{
	prof_cnt_t all;
	size_t stacks;

	peer_count(&all, &stacks);
	return stacks;
}

__attribute__((unused)) static size_t
prof_tdata_count(void)
{
	return (size_t)-1;
}

/* ---- results ---- */

typedef enum { test_status_pass = 0, test_status_skip = 1, test_status_fail = 2, test_status_count = 3 } test_status_t;
typedef void(test_t)(void);
static void (*peer_hook)(void);
static const char *peer_test = "";
static bool peer_skipped;
static jmp_buf peer_out;
static pthread_t peer_main;

__attribute__((unused)) static void
test_skip(const char *format, ...)
{
	(void)format;
	peer_skipped = true;
}

__attribute__((unused)) static void
test_fail(const char *format, ...)
{
	va_list ap;

	printf("FAIL\t%s\t", peer_test);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
}

__attribute__((unused)) static void
p_test_fail(const char *prefix, const char *message)
{
	const char *open = strchr(prefix, '('), *shut = strstr(prefix, " --> ");

	if (message[0] != '\0')
		printf("FAIL\t%s\t%s\n", peer_test, message);
	else
		printf("FAIL\t%s\t%.*s\n", peer_test, open != NULL && shut != NULL ? (int)(shut - open) : 200,
		       open != NULL ? open : prefix);
}

/* A check that may not fail ends its test, or its thread. */
__attribute__((unused, noreturn)) static void
peer_abort(void)
{
	printf("STOP\t%s\n", peer_test);
	if (!pthread_equal(pthread_self(), peer_main))
		pthread_exit(NULL);
	longjmp(peer_out, 1);
}
#define abort() peer_abort()

static void
p_test_init(const char *name)
{
	prctl(PR_SET_NAME, ""); /* as it is before the tests say otherwise */
	peer_test = name;
	peer_skipped = false;
	printf("TEST\t%s\n", name);
}

static void
p_test_fini(void)
{
	printf("%s\t%s\n", peer_skipped ? "SKIP" : "DONE", peer_test);
}

__attribute__((unused)) static bool
test_is_reentrant(void)
{
	return false;
}

/* One of them, by its number: each has a process of its own. */
__attribute__((unused)) static int
peer_run(test_t *t, ...)
{
	int number = atoi(getenv("PEER_TEST"));
	va_list ap;

	setvbuf(stdout, NULL, _IONBF, 0);
	peer_main = pthread_self();
	va_start(ap, t);
	for (; t != NULL && number > 0; number--)
		t = va_arg(ap, test_t *);
	if (t != NULL && setjmp(peer_out) == 0)
		t();
	va_end(ap);
	return 0;
}
#define p_test peer_run
#define p_test_no_reentrancy peer_run
#define p_test_no_malloc_init peer_run

#undef assert
#define assert(e) ((e) ? (void)0 : (test_fail("%s", #e), abort()))
#define not_reached() abort()
#define cassert(e) ((void)0)

/* The declarations at its end are for functions of the library of tests. */
#define test_status_t_declared
#include "test/test_macros.h"

/* btalloc: allocates from a stack of its own for each number. */
static void *btalloc_1(size_t size, unsigned bits);
__attribute__((noinline, unused)) static void *
btalloc_0(size_t size, unsigned bits)
{
	void *p = bits == 0 ? mallocx(size, 0) : bits & 1 ? btalloc_1(size, bits >> 1) : btalloc_0(size, bits >> 1);

	expect_ptr_not_null(p, "Unexpected mallocx() failure");
	return p;
}
__attribute__((noinline, unused)) static void *
btalloc_1(size_t size, unsigned bits)
{
	void *p = bits == 0 ? mallocx(size, 0) : bits & 1 ? btalloc_1(size, bits >> 1) : btalloc_0(size, bits >> 1);

	expect_ptr_not_null(p, "Unexpected mallocx() failure");
	return p;
}
#define btalloc btalloc_0

#endif
