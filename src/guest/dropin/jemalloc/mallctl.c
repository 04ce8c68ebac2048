/* SPDX-License-Identifier: MIT */
/* mallctl.c -- mallctl, mallctlnametomib, mallctlbymib, malloc_stats_print, for every
 * process that has us: a program finds them by linking, by dlsym or through an FFI.
 *
 * Where a real one is behind us, and nobody has forced ours, every call goes on to that
 * one untouched. Else the profiling names are answered by the table, and other names go
 * on if there is somebody to ask. Numbers that we hand out begin with one that no real
 * one has. */
#include "guest/dropin/jemalloc/mallctl.h"

#include "guest/dropin/jemalloc/conf.h"
#include "guest/dropin/jemalloc/peer_jemalloc.h"
#include "guest/hooks/gate.h"
#include "guest/rt/rt_text.h"
#include "shared/compiler.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { DEPTH_MAX = 7 };

#define MIB_OURS ((size_t)0x5ee9 << 32)

typedef int ctl_fn(const char *, void *, size_t *, void *, size_t);
typedef int tomib_fn(const char *, size_t *, size_t *);
typedef int bymib_fn(const size_t *, size_t, void *, size_t *, void *, size_t);
typedef void write_fn(void *, const char *);
typedef void print_fn(write_fn *, void *, const char *);

SEEP_EXPORT ctl_fn mallctl;
SEEP_EXPORT tomib_fn mallctlnametomib;
SEEP_EXPORT bymib_fn mallctlbymib;
SEEP_EXPORT print_fn malloc_stats_print;

static bool ours; /* the names of the table, whoever is behind us */

/* The function of that name behind us, or NULL. It may come late, with a library. */
static void *
behind(const char *name)
{
	uintptr_t was = gate_quiet(GATE_CFA());
	int saved = errno;
	void *f = dlsym(RTLD_NEXT, name);

	errno = saved;
	gate_unquiet(was);
	return f;
}

bool
mallctl_is_real(void)
{
	return behind("mallctl") != NULL;
}

void
mallctl_is_ours(void)
{
	ours = true;
}

/* ---- names ---- */

static const char *
part_end(const char *s)
{
	while (*s != '\0' && *s != '.')
		s++;
	return s;
}

static bool
read_index(const char *s, const char *end, size_t *ret)
{
	size_t n = 0;

	if (s == end)
		return false;
	for (; s < end; s++)
		if (*s < '0' || *s > '9' || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (size_t)(*s - '0'), &n))
			return false;
	*ret = n;
	return true;
}

struct match {
	/* parts of the name that fit the row, at most as many as were wanted */
	size_t depth;
	bool name_end; /* the name ends there */
	bool row_end;  /* the row does */
	size_t index;
};

/* Compare a name with a row, part by part. false: it is another name. */
static bool
fits(const char *name, const struct ctl_row *row, size_t wanted, struct match *m)
{
	const char *r = row->name;

	*m = (struct match){0, false, false, 0};
	while (m->depth < wanted) {
		const char *ne = part_end(name), *re = part_end(r);

		if (*r == '#') {
			if (!ctl_has_stats() || !read_index(name, ne, &m->index) ||
			    m->index >= row->index_end)
				return false;
		} else if (ne - name != re - r ||
			   memcmp(name, r, (size_t)(re - r)) != 0) {
			return false;
		}
		m->depth++;
		m->name_end = *ne == '\0';
		m->row_end = *re == '\0';
		if (m->row_end && !m->name_end)
			return false;
		if (m->row_end || m->name_end)
			break;
		name = ne + 1;
		r = re + 1;
	}
	return m->depth > 0;
}

/* The first row that fits as far as it was compared, or NULL. */
static const struct ctl_row *
find(const char *name, size_t wanted, struct match *m)
{
	for (size_t i = 0; i < ctl_row_count; i++)
		if (fits(name, &ctl_rows[i], wanted, m))
			return &ctl_rows[i];
	return NULL;
}

static size_t
depth_of(const char *name)
{
	size_t n = 1;

	for (; *name != '\0'; name++)
		n += *name == '.';
	return n;
}

/* ---- the calls ---- */

int
mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes)
{
	struct ctl_call c = {old, old_bytes, new, new_bytes, 0};
	const struct ctl_row *row;
	int saved = errno, error;
	struct match m;
	ctl_fn *real;

	if (!ours && (real = (ctl_fn *)behind("mallctl")) != NULL)
		return real(name, old, old_bytes, new, new_bytes);
	row = find(name, DEPTH_MAX, &m);
	real = row == NULL || row->general ? (ctl_fn *)behind("mallctl") : NULL;
	if (real != NULL)
		return real(name, old, old_bytes, new, new_bytes);
	if (row == NULL)
		return ENOENT;
	if (!m.name_end || !m.row_end)
		return ENOENT;
	c.index = m.index;
	error = row->run(row, &c);
	errno = saved;
	return error;
}

int
mallctlnametomib(const char *name, size_t *mib, size_t *mib_len)
{
	const struct ctl_row *row;
	struct match m;
	tomib_fn *real;

	if (!ours && (real = (tomib_fn *)behind("mallctlnametomib")) != NULL)
		return real(name, mib, mib_len);
	if (name[0] == '\0' || name[0] == '.')
		return ENOENT;
	row = find(name, *mib_len, &m);
	real = row == NULL || row->general ? (tomib_fn *)behind("mallctlnametomib")
					   : NULL;
	if (real != NULL)
		return real(name, mib, mib_len);
	if (row == NULL)
		return ENOENT;
	mib[0] = MIB_OURS + (size_t)(row - ctl_rows);
	for (size_t i = 1; i < m.depth; i++)
		mib[i] = m.index;
	*mib_len = m.depth;
	return 0;
}

int
mallctlbymib(const size_t *mib, size_t mib_len, void *old, size_t *old_bytes, void *new,
	     size_t new_bytes)
{
	struct ctl_call c = {old, old_bytes, new, new_bytes, 0};
	const struct ctl_row *row;
	int saved = errno, error;
	bymib_fn *real;

	if (mib_len == 0 || mib[0] < MIB_OURS || mib[0] - MIB_OURS >= ctl_row_count) {
		real = (bymib_fn *)behind("mallctlbymib");
		return real == NULL ? ENOENT
				    : real(mib, mib_len, old, old_bytes, new, new_bytes);
	}
	row = &ctl_rows[mib[0] - MIB_OURS];
	if (depth_of(row->name) != mib_len)
		return ENOENT;
	if (row->index_end != 0) {
		c.index = mib[3];
		if (!ctl_has_stats() || c.index >= row->index_end)
			return ENOENT;
	}
	error = row->run(row, &c);
	errno = saved;
	return error;
}

/* ---- statistics ---- */

static void
write_stderr(void *arg, const char *s)
{
	(void)arg;
	if (!rt_sealed)
		SYS3(SYS_write, 2, s, text_len(s));
}

static void
print_line(write_fn *write, void *arg, const char *name, uint64_t n)
{
	char line[96];
	struct text t = text_on(line, sizeof(line));

	text_add(&t, "  ");
	text_add(&t, name);
	text_add(&t, ": ");
	text_dec(&t, n);
	text_add(&t, "\n");
	write(arg, line);
}

/* Of the profiler: the heap is another's. */
void
malloc_stats_print(write_fn *write, void *arg, const char *opts)
{
	print_fn *real;

	if (!ours && (real = (print_fn *)behind("malloc_stats_print")) != NULL) {
		real(write, arg, opts);
		return;
	}
	if (write == NULL)
		write = write_stderr;
	write(arg, "___ Begin seep statistics ___\n");
	print_line(write, arg, "opt.prof", conf.prof);
	print_line(write, arg, "opt.lg_prof_sample", conf.lg_prof_sample);
	print_line(write, arg, "prof.active", jem_on() && jem_active());
	print_line(write, arg, "prof.lg_sample", jem_lg_sample());
	write(arg, "--- End seep statistics ---\n");
}
