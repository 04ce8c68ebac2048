/* SPDX-License-Identifier: MIT */
/* peer_series.c -- names of dumps and of threads. See peer_series.h.
 *
 * The process's number is asked for at each dump, so a forked child never writes into its
 * parent's files, though it goes on counting where the parent was. */
#include "guest/dropin/jemalloc/peer_series.h"

#include "guest/dropin/jemalloc/conf.h"
#include "guest/rt/lock.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <string.h>

enum {
	THREADS_NAMED = 4096, /* beyond, the oldest names are given up */
	THREAD_NAME_BYTES = 64,
	KEPT_PATH_BYTES = 256, /* dumps with longer paths are not thinned */
};

struct named {
	uint32_t serial;
	char name[THREAD_NAME_BYTES];
};

static struct {
	const char *prefix;
	char prefixes[2][CONF_PREFIX_BYTES]; /* one in use, one for the next */
	uint64_t seq, kinds[3];
	struct named *named;
	uint32_t nnamed;
	uint32_t lock;	/* of what follows */
	uint64_t grown; /* .u dumps that were due */
	uint64_t every; /* which of them are made */
	char (*kept)[KEPT_PATH_BYTES];
	uint32_t nkept;
} series;

void
series_begin(const char *prefix)
{
	series.every = 1;
	series.prefix = prefix;
}

void
series_set_prefix(const char *prefix)
{
	char *to = series.prefixes[series.prefix == series.prefixes[0]];
	struct text t = text_on(to, CONF_PREFIX_BYTES);

	text_add(&t, prefix);
	__atomic_store_n(&series.prefix, to, __ATOMIC_RELEASE);
}

void
series_forked(void)
{
	series.lock = 0;
	series.nkept = 0; /* the parent's are the parent's to remove */
}

/* The number in the name of our pid namespace, "pid:[4026531836]". */
static void
add_namespace(struct text *t)
{
	char link[64];
	long n = SYS4(SYS_readlinkat, -100, "/proc/self/ns/pid", link, sizeof(link));

	text_add(t, ".");
	for (long i = 0; i < n; i++)
		if (link[i] >= '0' && link[i] <= '9')
			text_addn(t, link + i, 1);
}

bool
series_name(char kind, char path[SERIES_PATH_BYTES])
{
	static const char numbered[] = "ium";
	const char *prefix = __atomic_load_n(&series.prefix, __ATOMIC_ACQUIRE);
	struct text t = text_on(path, SERIES_PATH_BYTES);

	if (prefix[0] == '\0')
		return false;
	text_add(&t, prefix);
	if (conf.prof_pid_namespace)
		add_namespace(&t);
	text_add(&t, ".");
	text_dec(&t, (uint64_t)sys_getpid());
	text_add(&t, ".");
	text_dec(&t, __atomic_fetch_add(&series.seq, 1, __ATOMIC_RELAXED));
	text_add(&t, ".");
	text_addn(&t, &kind, 1);
	for (unsigned i = 0; i < 3; i++)
		if (kind == numbered[i])
			text_dec(&t, __atomic_fetch_add(&series.kinds[i], 1,
							__ATOMIC_RELAXED));
	text_add(&t, ".heap");
	return true;
}

/* ---- thinning ---- */

bool
series_due(void)
{
	uint64_t n = __atomic_fetch_add(&series.grown, 1, __ATOMIC_RELAXED);

	return n % __atomic_load_n(&series.every, __ATOMIC_RELAXED) == 0;
}

void
series_thin(const char *path)
{
	size_t most = conf.prof_max_dumps;
	uint32_t left = 0;

	/* Somebody else is at it: then this one stays, and is one too many. */
	if (most == 0 || !lock_take(&series.lock, lock_id()))
		return;
	if (series.kept == NULL)
		series.kept = rt_map((most + 1) * sizeof(*series.kept));
	if (series.kept != NULL) {
		struct text t = text_on(series.kept[series.nkept], sizeof(*series.kept));

		text_add(&t, path);
		if (!t.cut)
			series.nkept++;
	}
	if (series.nkept > most) {
		for (uint32_t i = 0; i < series.nkept; i++) {
			if (i % 2 != 0) {
				sys_unlink(series.kept[i]);
				continue;
			}
			if (left != i)
				memcpy(series.kept[left], series.kept[i],
				       sizeof(*series.kept));
			left++;
		}
		series.nkept = left;
		series.every *= 2;
	}
	lock_drop(&series.lock);
}

/* ---- threads ---- */

const char *
series_thread_name(uint32_t serial)
{
	uint32_t n = __atomic_load_n(&series.nnamed, __ATOMIC_ACQUIRE);

	if (series.named == NULL)
		return NULL;
	for (uint32_t i = 0; i < n && i < THREADS_NAMED; i++)
		if (__atomic_load_n(&series.named[i].serial, __ATOMIC_ACQUIRE) == serial)
			return series.named[i].name;
	return NULL;
}

void
series_name_thread(uint32_t serial, const char *name)
{
	struct named *to = NULL;
	struct text t;

	if (series.named == NULL) {
		struct named *fresh = rt_map(THREADS_NAMED * sizeof(*fresh)),
			     *none = NULL;

		if (!__atomic_compare_exchange_n(&series.named, &none, fresh, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			rt_unmap(fresh, THREADS_NAMED * sizeof(*fresh));
	}
	if (series.named == NULL)
		return;
	for (uint32_t i = 0; i < series.nnamed && i < THREADS_NAMED; i++)
		if (series.named[i].serial == serial)
			to = &series.named[i];
	if (to == NULL)
		to = &series.named[__atomic_fetch_add(&series.nnamed, 1,
						      __ATOMIC_RELAXED) %
				   THREADS_NAMED];
	t = text_on(to->name, sizeof(to->name));
	text_add(&t, name);
	__atomic_store_n(&to->serial, serial, __ATOMIC_RELEASE);
}
