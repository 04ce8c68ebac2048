/* SPDX-License-Identifier: MIT */
/* diff_both.c -- what two profiles have in common: processes, builds, names.
 *
 * Modules are the same build when their build-ids are. Files without build-ids are
 * compared by what they say about the same addresses: where names at all shared addresses
 * agree it is one build, where any differ it is not. Nothing here looks at figures, but
 * for variances that a format does not give: for these each stack's blocks are taken to
 * be of one size. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/analyze/diff/diff_impl.h"
#include "tool/analyze/process/coverage.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

uint32_t
diff_name(struct diff_both *b, unsigned side, uint32_t id)
{
	if (b->names[side][id] == 0)
		b->names[side][id] =
			strtab_add(&b->strings, prof_text(b->p[side], id)) + 1;
	return b->names[side][id] - 1;
}

/* ---- modules ---- */

/* Last part of a path, without the kernel's word for a file that was replaced. */
static uint32_t
diff_module_name(struct diff_both *b, const char *path)
{
	static const char gone[] = " (deleted)";
	const char *base = file_base(path);
	size_t n = strlen(base), g = sizeof gone - 1;

	if (n > g && strcmp(base + n - g, gone) == 0)
		n -= g;
	return strtab_addn(&b->strings, base, n);
}

static uint32_t
diff_build_name(struct diff_both *b, const struct prof_module *m)
{
	struct buf text = {0};
	uint32_t id;

	buf_add_str(&text, "build-id ");
	for (unsigned i = 0; i < m->build_id_bytes; i++)
		buf_printf(&text, "%02x", m->build_id[i]);
	id = strtab_addn(&b->strings, buf_str(&text), text.len);
	buf_done(&text);
	return id;
}

/* Names a location by its build, or its module's name, and its address. */
static uint64_t
diff_loc_key(const struct diff_both *b, unsigned side, const struct prof_loc *l)
{
	return hash_pair(b->builds[side][l->module], prof_loc_address(l));
}

/* Has it an address, and a module that can be told? */
static bool
diff_loc_counts(const struct prof_loc *l)
{
	return l->kind == PROF_LOC_CODE && l->module != 0 && l->offset >> 63 == 0;
}

static bool
diff_same_text(const struct diff_both *b, uint32_t old, uint32_t new)
{
	return strcmp(prof_text(b->p[DIFF_OLD], old), prof_text(b->p[DIFF_NEW], new)) ==
	       0;
}

/* Do both say the same about that code? */
static bool
diff_locs_agree(const struct diff_both *b, const struct prof_loc *old,
		const struct prof_loc *new)
{
	const struct prof_frame *x, *y;

	if (old->nframes == 0 || new->nframes == 0)
		return true;
	x = &b->p[DIFF_OLD]->frames[old->frames];
	y = &b->p[DIFF_NEW]->frames[new->frames];
	return diff_same_text(b, x->function, y->function) &&
	       (x->line == 0 || y->line == 0 || x->line == y->line);
}

/* Modules that neither side has a build-id for, by what is said about shared
 * addresses. */
static void
diff_ask_locs(struct diff_both *b)
{
	const struct prof *old = b->p[DIFF_OLD], *new = b->p[DIFF_NEW];
	struct map locs = {0}, of_name = {0};

	for (uint32_t i = 1; i < old->nmodules; i++)
		*map_add(&of_name, b->builds[DIFF_OLD][i]) = i;
	for (uint32_t i = 1; i < old->nlocs; i++) {
		if (diff_loc_counts(&old->locs[i]))
			*map_add(&locs, diff_loc_key(b, DIFF_OLD, &old->locs[i])) = i;
	}
	for (uint32_t i = 1; i < new->nlocs; i++) {
		const struct prof_loc *l = &new->locs[i];
		const uint64_t *at, *m;
		uint8_t *x, *y;

		if (!diff_loc_counts(l) || new->modules[l->module].build_id_bytes != 0)
			continue;
		at = map_find(&locs, diff_loc_key(b, DIFF_NEW, l));
		m = map_find(&of_name, b->builds[DIFF_NEW][l->module]);
		if (at == NULL || m == NULL)
			continue;
		x = &b->states[DIFF_NEW][l->module];
		y = &b->states[DIFF_OLD][*m];
		if (!diff_locs_agree(b, &old->locs[*at], l))
			*x = *y = DIFF_MODULE_REBUILT;
		else if (*x == DIFF_MODULE_UNKNOWN)
			*x = *y = DIFF_MODULE_SAME;
	}
	map_done(&locs);
	map_done(&of_name);
}

/* The module that is the program itself; 0 when that is not known. */
static uint32_t
diff_program(const struct prof *p)
{
	const char *exe = p->nprocesses > 1 ? prof_text(p, p->processes[1].exe) : "";

	for (uint32_t i = 1; i < p->nmodules; i++) {
		if (exe[0] != '\0' && strcmp(prof_text(p, p->modules[i].path), exe) == 0)
			return i;
	}
	return 0;
}

/* The programs are taken for one another whatever their names, where nothing else is
 * known of them: prog.old and prog. Places of programs that have nothing in common do not
 * match anyway. */
static void
diff_relate_programs(struct diff_both *b)
{
	uint32_t module[2];

	for (unsigned s = 0; s < 2; s++) {
		uint32_t i = module[s] = diff_program(b->p[s]);

		if (i == 0 || b->p[s]->modules[i].build_id_bytes == 0 ||
		    b->states[s][i] != DIFF_MODULE_UNKNOWN)
			return;
	}
	for (unsigned s = 0; s < 2; s++) {
		b->states[s][module[s]] = DIFF_MODULE_REBUILT;
		b->families[s][module[s]] = b->families[DIFF_NEW][module[DIFF_NEW]];
	}
}

static void
diff_relate(struct diff_both *b)
{
	struct map seen[2] = {{0}, {0}}, named[2] = {{0}, {0}};

	for (unsigned s = 0; s < 2; s++) {
		for (uint32_t i = 1; i < b->p[s]->nmodules; i++) {
			const struct prof_module *m = &b->p[s]->modules[i];
			uint32_t name = diff_module_name(b, prof_text(b->p[s], m->path));

			b->families[s][i] = name;
			b->builds[s][i] =
				m->build_id_bytes != 0 ? diff_build_name(b, m) : name;
			if (m->build_id_bytes == 0)
				continue;
			*map_add(&seen[s], b->builds[s][i]) = 1;
			*map_add(&named[s], name) = 1;
		}
	}
	for (unsigned s = 0; s < 2; s++) {
		for (uint32_t i = 1; i < b->p[s]->nmodules; i++) {
			const struct prof_module *m = &b->p[s]->modules[i];

			if (m->build_id_bytes == 0)
				continue;
			if (map_find(&seen[!s], b->builds[s][i]) != NULL)
				b->states[s][i] = DIFF_MODULE_SAME;
			else if (map_find(&named[!s], b->families[s][i]) != NULL)
				b->states[s][i] = DIFF_MODULE_REBUILT;
		}
	}
	for (unsigned s = 0; s < 2; s++) {
		map_done(&seen[s]);
		map_done(&named[s]);
	}
	diff_ask_locs(b);
	diff_relate_programs(b);
}

void
diff_both_init(struct diff_both *b, const struct prof *old, const struct prof *new)
{
	*b = (struct diff_both){.p = {old, new}};
	for (unsigned s = 0; s < 2; s++) {
		b->names[s] = xcalloc(strtab_count(b->p[s]->strings), sizeof **b->names);
		b->states[s] = xcalloc(b->p[s]->nmodules, sizeof **b->states);
		b->builds[s] = xcalloc(b->p[s]->nmodules, sizeof **b->builds);
		b->families[s] = xcalloc(b->p[s]->nmodules, sizeof **b->families);
	}
	diff_relate(b);
}

void
diff_both_done(struct diff_both *b)
{
	for (unsigned s = 0; s < 2; s++) {
		free(b->names[s]);
		free(b->states[s]);
		free(b->builds[s]);
		free(b->families[s]);
	}
	strtab_done(&b->strings);
}

/* ---- making them fit ---- */

static void
diff_copy_names(struct prof *to, uint32_t loc, const struct prof *from,
		const struct prof_loc *of)
{
	uint32_t first = to->nframes;

	for (uint32_t i = 0; i < of->nframes; i++) {
		struct prof_frame f = from->frames[of->frames + i];
		uint32_t row = prof_add_frame(to);

		f.function = prof_str(to, prof_text(from, f.function));
		f.linkage = prof_str(to, prof_text(from, f.linkage));
		f.file = prof_str(to, prof_text(from, f.file));
		f.source = prof_str(to, prof_text(from, f.source));
		to->frames[row] = f;
	}
	to->locs[loc].frames = first;
	to->locs[loc].nframes = of->nframes;
}

/* Names and lines, or a name alone, or nothing? */
static int
diff_names_known(const struct prof *p, const struct prof_loc *l)
{
	return l->nframes == 0 ? 0 : p->frames[l->frames].line == 0 ? 1 : 2;
}

static void
diff_share_names(struct prof *old, struct prof *new)
{
	struct diff_both b;
	struct map locs = {0};

	diff_both_init(&b, old, new);
	for (uint32_t i = 1; i < old->nlocs; i++) {
		if (diff_loc_counts(&old->locs[i]) &&
		    old->modules[old->locs[i].module].build_id_bytes != 0)
			*map_add(&locs, diff_loc_key(&b, DIFF_OLD, &old->locs[i])) = i;
	}
	for (uint32_t i = 1; i < new->nlocs; i++) {
		const struct prof_loc *l = &new->locs[i];
		const uint64_t *at =
			diff_loc_counts(l)
				? map_find(&locs, diff_loc_key(&b, DIFF_NEW, l))
				: NULL;
		int x, y;

		if (at == NULL)
			continue;
		x = diff_names_known(old, &old->locs[*at]);
		y = diff_names_known(new, l);
		if (x > y)
			diff_copy_names(new, i, old, &old->locs[*at]);
		else if (y > x)
			diff_copy_names(old, (uint32_t)*at, new, l);
	}
	map_done(&locs);
	diff_both_done(&b);
}

/* Variance of an estimate of bytes in so many blocks, sampled once per `rate` bytes.
 * *ret_samples is about how many samples stand behind it. */
static double
diff_variance(double blocks, double bytes, double rate, uint64_t *ret_samples)
{
	double size, p;

	*ret_samples = 0;
	if (blocks <= 0 || bytes <= 0)
		return 0;
	size = bytes / blocks;
	p = -expm1(-size / rate);
	if (p <= 0)
		return 0;
	*ret_samples =
		(uint64_t)(blocks * p + 0.5) > 0 ? (uint64_t)(blocks * p + 0.5) : 1;
	return bytes * size * (1 - p) / p;
}

static void
diff_fill_variances(struct prof *p)
{
	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_site *s = &p->sites[i];
		const struct prof_process *pr = &p->processes[s->process];
		double rate = (double)pr->rate_bytes;

		if (pr->mode != PROF_SAMPLED || pr->rate_bytes < 2 || s->samples != 0)
			continue;
		s->var_live_bytes =
			diff_variance((double)s->live_blocks, (double)s->live_bytes, rate,
				      &s->live_samples);
		s->var_alloc_bytes = diff_variance(
			(double)s->allocs, (double)s->alloc_bytes, rate, &s->samples);
		if (s->samples < s->live_samples)
			s->samples = s->live_samples;
	}
}

void
diff_prepare(struct prof *old, struct prof *new)
{
	diff_fill_variances(old);
	diff_fill_variances(new);
	diff_share_names(old, new);
}

/* ---- one process? ---- */

static uint64_t
diff_range_key(const struct prof *p, const struct prof_range *r)
{
	const char *path = prof_text(p, p->modules[r->module].path);

	return hash_pair(hash_bytes(path, strlen(path), 0), hash_pair(r->start, r->end));
}

static bool
diff_same_maps(const struct prof *a, const struct prof *b)
{
	struct map ranges = {0};
	uint32_t same = 0;

	for (uint32_t i = 0; i < a->nranges; i++)
		*map_add(&ranges, diff_range_key(a, &a->ranges[i])) = 1;
	for (uint32_t i = 0; i < b->nranges; i++)
		same += map_find(&ranges, diff_range_key(b, &b->ranges[i])) != NULL;
	map_done(&ranges);
	/* What was there stays where it is; libraries may come and go. */
	return same > 0 && same >= a->nranges / 2;
}

bool
diff_same_process(const struct prof *a, const struct prof *b)
{
	const struct prof_process *x, *y;

	if (a->nprocesses < 2 || b->nprocesses < 2)
		return false;
	x = &a->processes[1];
	y = &b->processes[1];
	if (a->format != 0 || b->format != 0)
		return (x->pid == y->pid || x->pid == 0 || y->pid == 0) &&
		       diff_same_maps(a, b);
	return a->nprocesses == b->nprocesses && x->pid == y->pid &&
	       x->run_id == y->run_id && x->start_ns == y->start_ns &&
	       x->process_ticks == y->process_ticks &&
	       strcmp(prof_text(a, x->host), prof_text(b, y->host)) == 0;
}

bool
diff_attached_twice(const struct prof *a, const struct prof *b)
{
	const struct prof_process *x, *y;

	if (a->nprocesses < 2 || b->nprocesses < 2 || a->format != 0 || b->format != 0)
		return false;
	x = &a->processes[1];
	y = &b->processes[1];
	return x->pid == y->pid && x->process_ticks != 0 &&
	       x->process_ticks == y->process_ticks &&
	       strcmp(prof_text(a, x->host), prof_text(b, y->host)) == 0 &&
	       coverage_is_late(a, 1) && coverage_is_late(b, 1) &&
	       !diff_same_process(a, b);
}

/* Low addresses are the linker's, and these are where everything lies when randomisation
 * is off. */
static bool
diff_is_random(const struct prof_range *r)
{
	return r->start >> 32 != 0 && r->start >> 28 != 0x55555 &&
	       r->start >> 24 != 0x7ffff7 && r->start >> 28 != 0xaaaaa &&
	       r->start >> 24 != 0xfffff7;
}

bool
diff_surely_same_process(const struct prof *a, const struct prof *b)
{
	struct map ranges = {0};
	bool random = false;

	if (!diff_same_process(a, b))
		return false;
	if (a->format == 0 && b->format == 0)
		return true;
	for (uint32_t i = 0; i < a->nranges; i++) {
		if (diff_is_random(&a->ranges[i]))
			*map_add(&ranges, diff_range_key(a, &a->ranges[i])) = 1;
	}
	for (uint32_t i = 0; i < b->nranges && !random; i++)
		random = map_find(&ranges, diff_range_key(b, &b->ranges[i])) != NULL;
	map_done(&ranges);
	return random;
}

static uint64_t
diff_clock(const struct prof *p)
{
	const struct prof_process *pr = &p->processes[p->nprocesses > 1];

	return p->format != 0 ? p->time_ns : pr->start_ns + pr->duration_ms * 1000000;
}

int
diff_earlier(const struct prof *a, const struct prof *b)
{
	uint64_t x = diff_clock(a), y = diff_clock(b);

	if (x == 0 || y == 0 || x == y) {
		x = y = 0;
		for (uint32_t i = 1; i < a->nsites; i++)
			x += a->sites[i].alloc_bytes;
		for (uint32_t i = 1; i < b->nsites; i++)
			y += b->sites[i].alloc_bytes;
	}
	return x < y ? -1 : x > y;
}
