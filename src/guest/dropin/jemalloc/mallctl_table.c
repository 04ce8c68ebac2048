/* SPDX-License-Identifier: MIT */
/* mallctl_table.c -- every profiling name of mallctl, and the few others that can be
 * answered: one row each.
 *
 * What is an error, and which one when there are two, is jemalloc's
 * (tests/e2e/jemalloc_mallctl.sh compares all of it with the real one): a name that may
 * not be written gives EPERM whatever else is wrong; a value of the wrong size is copied
 * as far as it goes, and gives EINVAL. */
#include "guest/dropin/jemalloc/mallctl.h"

#include "guest/dropin/jemalloc/conf.h"
#include "guest/dropin/jemalloc/peer_jemalloc.h"
#include "guest/dropin/jemalloc/peer_pages.h"
#include "guest/life/statm.h"
#include "guest/record/census/census.h"
#include "shared/compiler.h"

#include <errno.h>
#include <string.h>

static int
give(const struct ctl_call *c, const void *value, size_t bytes)
{
	size_t room;

	if (c->old == NULL || c->old_bytes == NULL)
		return 0;
	room = *c->old_bytes;
	memcpy(c->old, value, bytes < room ? bytes : room);
	if (room == bytes)
		return 0;
	if (bytes < room)
		*c->old_bytes = bytes;
	return EINVAL;
}

static bool
wants_old(const struct ctl_call *c)
{
	return c->old != NULL || c->old_bytes != NULL;
}

static bool
has_new(const struct ctl_call *c)
{
	return c->new != NULL || c->new_bytes != 0;
}

/* A pointer that is written; *ret stays as it is when there is none. */
static int
take_string(const struct ctl_call *c, const char **ret)
{
	if (wants_old(c))
		return EPERM;
	if (c->new == NULL)
		return 0;
	if (c->new_bytes != sizeof(*ret))
		return EINVAL;
	memcpy(ret, c->new, sizeof(*ret));
	return 0;
}

static int
run_value(const struct ctl_row *row, const struct ctl_call *c)
{
	return has_new(c) ? EPERM : give(c, row->value, row->value_bytes);
}

static int
run_prefix_value(const struct ctl_row *row, const struct ctl_call *c)
{
	const char *prefix = conf.prof_prefix;

	(void)row;
	return has_new(c) ? EPERM : give(c, &prefix, sizeof(prefix));
}

/* The three switches that the process has. */
struct switch_of {
	bool (*get)(void);
	bool (*set)(bool);
};

static const struct switch_of init_switch = {jem_thread_active_init,
					     jem_set_thread_active_init};
static const struct switch_of gdump_switch = {jem_gdump, jem_set_gdump};

static int
run_switch(const struct ctl_row *row, const struct ctl_call *c)
{
	const struct switch_of *s = row->value;
	bool old;

	if (c->new == NULL) {
		old = jem_on() && s->get();
		return give(c, &old, sizeof(old));
	}
	if (!jem_on())
		return ENOENT;
	if (c->new_bytes != sizeof(bool))
		return EINVAL;
	old = s->set(*(const bool *)c->new);
	return give(c, &old, sizeof(old));
}

/* prof.active may be switched off where it is off already. */
static int
run_active(const struct ctl_row *row, const struct ctl_call *c)
{
	bool old = jem_on() && jem_active();

	(void)row;
	if (c->new != NULL) {
		bool on;

		if (c->new_bytes != sizeof(bool))
			return EINVAL;
		on = *(const bool *)c->new;
		if (!jem_on() && on)
			return ENOENT;
		if (jem_on())
			old = jem_set_active(on);
	}
	return give(c, &old, sizeof(old));
}

static int
run_dump(const struct ctl_row *row, const struct ctl_call *c)
{
	const char *path = NULL;
	int error;

	(void)row;
	if (!jem_on())
		return ENOENT;
	error = take_string(c, &path);
	if (error != 0)
		return error;
	return jem_dump(path) == 0 ? 0 : EFAULT;
}

static int
run_prefix(const struct ctl_row *row, const struct ctl_call *c)
{
	const char *prefix = NULL;
	int error;

	(void)row;
	if (!jem_on())
		return ENOENT;
	error = take_string(c, &prefix);
	if (error != 0)
		return error;
	if (prefix == NULL)
		return EFAULT;
	jem_set_prefix(prefix);
	return 0;
}

static int
run_reset(const struct ctl_row *row, const struct ctl_call *c)
{
	size_t lg = jem_lg_sample();

	(void)row;
	if (!jem_on())
		return ENOENT;
	if (wants_old(c))
		return EPERM;
	if (c->new != NULL) {
		if (c->new_bytes != sizeof(lg))
			return EINVAL;
		memcpy(&lg, c->new, sizeof(lg));
	}
	return jem_reset(lg > 63 ? 63 : lg) == 0 ? 0 : EAGAIN;
}

static int
run_lg_sample(const struct ctl_row *row, const struct ctl_call *c)
{
	size_t lg = jem_lg_sample();

	(void)row;
	return has_new(c) ? EPERM : give(c, &lg, sizeof(lg));
}

static int
run_log(const struct ctl_row *row, const struct ctl_call *c)
{
	(void)row, (void)c;
	return jem_on() ? EFAULT : ENOENT; /* there is no log: it cannot be opened */
}

static int
run_thread_active(const struct ctl_row *row, const struct ctl_call *c)
{
	bool old = false;

	(void)row;
	if (jem_on() && jem_thread_active(&old) != 0)
		return EAGAIN;
	if (c->new != NULL) {
		if (!jem_on())
			return ENOENT;
		if (c->new_bytes != sizeof(bool))
			return EINVAL;
		if (jem_set_thread_active(*(const bool *)c->new) != 0)
			return EAGAIN;
	}
	return give(c, &old, sizeof(old));
}

static int
run_thread_name(const struct ctl_row *row, const struct ctl_call *c)
{
	const char *name;

	(void)row;
	if (!jem_on())
		return ENOENT;
	if (c->old != NULL && c->old_bytes != NULL && has_new(c))
		return EPERM;
	if (c->new == NULL) {
		name = jem_thread_name();
		return give(c, &name, sizeof(name));
	}
	if (c->new_bytes != sizeof(name))
		return EINVAL;
	if (conf.prof_sys_thread_name)
		return ENOENT; /* names are the kernel's */
	memcpy(&name, c->new, sizeof(name));
	return -jem_set_thread_name(name);
}

static int
run_stats(const struct ctl_row *row, const struct ctl_call *c)
{
	struct jem_stats (*of)(unsigned) =
		*(struct jem_stats(*const *)(unsigned))row->value;
	unsigned first = row->index_end == PAGES_BINS ? 0 : PAGES_BINS;
	struct jem_stats s;

	if (has_new(c))
		return EPERM;
	s = of(first + (unsigned)c->index);
	return give(c, &s, sizeof(s));
}

/* ---- not about profiling ---- */

/* stats.*, as they were when epoch was last written, or first asked for. */
static struct {
	size_t allocated, active, metadata, resident, mapped, retained;
} stats;
static uint64_t epoch; /* 0 = never measured */
static const char *const version = "5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c";

/* Figures that exist over another allocator: bytes in use, as they were asked for, and
 * resident memory. Two threads may measure at once: each word is of one of them. */
static int
measure(void)
{
	struct census c;
	struct rec_head *h = recorder_now->head;

	if (recorder_now->base == NULL || census_take(recorder_now, 0, NULL, &c) != 0)
		return ENOENT;
	stats.allocated = c.n.live_bytes > 0 ? (size_t)c.n.live_bytes : 0;
	census_done(&c);
	stats.active = ALIGN_UP(stats.allocated, (size_t)REC_PAGE_BYTES);
	stats.metadata = (size_t)h->own_kib << 10;
	stats.resident = (size_t)statm_rss_kib() << 10;
	if (stats.resident < stats.active)
		stats.resident = stats.active; /* blocks that were never touched */
	stats.mapped = stats.resident;
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELAXED);
	return 0;
}

static int
run_epoch(const struct ctl_row *row, const struct ctl_call *c)
{
	int error = 0;

	(void)row;
	if (c->new != NULL && c->new_bytes != sizeof(epoch))
		return EINVAL;
	if (epoch == 0)
		error = measure();
	if (error == 0 && c->new != NULL)
		error = measure();
	return error != 0 ? error : give(c, &epoch, sizeof(epoch));
}

static int
run_total(const struct ctl_row *row, const struct ctl_call *c)
{
	int error = has_new(c) ? EPERM : epoch == 0 ? measure() : 0;

	return error != 0 ? error : run_value(row, c);
}

bool
ctl_has_stats(void)
{
	return jem_on() && conf.prof_stats;
}

static struct jem_stats (*const stats_live)(unsigned) = jem_stats_live;
static struct jem_stats (*const stats_accum)(unsigned) = jem_stats_accum;
static const bool yes = true, no;

#define VALUE(name, at)                                                                  \
	{                                                                                \
		name, run_value, &(at), sizeof(at), 0, false                             \
	}
#define OPTION(field) VALUE("opt." #field, conf.field)
#define LARGES (PAGES_CLASSES - PAGES_BINS)
#define TOTAL(field)                                                                     \
	{                                                                                \
		"stats." #field, run_total, &stats.field, sizeof(size_t), 0, true        \
	}

const struct ctl_row ctl_rows[] = {
	{"prof.active", run_active, NULL, 0, 0, false},
	{"prof.thread_active_init", run_switch, &init_switch, 0, 0, false},
	{"prof.gdump", run_switch, &gdump_switch, 0, 0, false},
	{"prof.dump", run_dump, NULL, 0, 0, false},
	{"prof.prefix", run_prefix, NULL, 0, 0, false},
	{"prof.reset", run_reset, NULL, 0, 0, false},
	VALUE("prof.interval", conf.interval),
	{"prof.lg_sample", run_lg_sample, NULL, 0, 0, false},
	{"prof.log_start", run_log, NULL, 0, 0, false},
	{"prof.log_stop", run_log, NULL, 0, 0, false},
	{"prof.stats.bins.#.live", run_stats, &stats_live, 0, PAGES_BINS, false},
	{"prof.stats.bins.#.accum", run_stats, &stats_accum, 0, PAGES_BINS, false},
	{"prof.stats.lextents.#.live", run_stats, &stats_live, 0, LARGES, false},
	{"prof.stats.lextents.#.accum", run_stats, &stats_accum, 0, LARGES, false},
	{"thread.prof.active", run_thread_active, NULL, 0, 0, false},
	{"thread.prof.name", run_thread_name, NULL, 0, 0, false},
	OPTION(prof),
	OPTION(prof_active),
	OPTION(prof_thread_active_init),
	OPTION(lg_prof_sample),
	OPTION(lg_prof_interval),
	OPTION(prof_gdump),
	OPTION(prof_final),
	OPTION(prof_leak),
	OPTION(prof_leak_error),
	OPTION(prof_accum),
	OPTION(prof_bt_max),
	OPTION(prof_pid_namespace),
	OPTION(prof_max_dumps),
	OPTION(prof_recent_alloc_max),
	OPTION(prof_stats),
	OPTION(prof_sys_thread_name),
	OPTION(prof_time_resolution),
	{"opt.prof_prefix", run_prefix_value, NULL, 0, 0, false},
	VALUE("config.prof", yes),
	VALUE("config.prof_libgcc", no),
	VALUE("config.prof_libunwind", no),
	VALUE("config.prof_frameptr", no),
	{"version", run_value, &version, sizeof(version), 0, true},
	{"epoch", run_epoch, NULL, 0, 0, true},
	TOTAL(allocated),
	TOTAL(active),
	TOTAL(metadata),
	TOTAL(resident),
	TOTAL(mapped),
	TOTAL(retained),
};

const size_t ctl_row_count = ARRAY_LEN(ctl_rows);
