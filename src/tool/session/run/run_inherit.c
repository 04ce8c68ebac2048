/* SPDX-License-Identifier: MIT */
/* run_inherit.c -- blocks that a forked child has from its parent, for formats that list
 * them in both.
 *
 * A child's recording knows address and size of such a block, and not where it was
 * allocated: the parent's table says so. It is read before the child goes on from its
 * end, since the parent may free them then. What has another address or size in the
 * table, or is not there any more, is left out. */
#include "tool/session/run/run_leaks.h"

#include <stdlib.h>

#include "tool/target/heap/liveblocks.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum { ANCESTORS_MAX = 16 };

struct origin {
	uint64_t bytes, start_ns;
	uint32_t pid, site;
};

/* Blocks of the ancestors, the nearest first. */
struct origins {
	VEC(struct origin) rows;
	struct map by_addr; /* -> row + 1 */
	const struct ticker_file *of;
};

static void
no_page(void *ctx, uint64_t page)
{
	(void)ctx, (void)page;
}

static void
on_block(void *ctx, uint64_t addr, uint64_t bytes, uint32_t site, enum rec_kind kind)
{
	struct origins *o = ctx;
	uint64_t *row;

	if (kind == REC_KIND_MMAP || kind == REC_KIND_BRK || kind == REC_KIND_INHERITED)
		return;
	row = map_add(&o->by_addr, addr);
	if (*row != 0)
		return;
	vec_push(&o->rows, (struct origin){.bytes = bytes,
					   .start_ns = o->of->start_ns,
					   .pid = (uint32_t)o->of->pid,
					   .site = site});
	*row = o->rows.len;
}

/* The recording of the process that forked the one with this head; NULL = it is not
 * there. */
static struct ticker_file *
parent_of(struct ticker_files *files, const struct livefile *child)
{
	struct livefile_head h = livefile_head(child);
	struct ticker_file *found = NULL;

	if ((h.flags & REC_FLAG_FORKED) == 0)
		return NULL;
	for (size_t i = 0; i < files->len; i++) {
		struct ticker_file *f = &files->data[i];

		if ((uint32_t)f->pid == h.ppid && f->live.head != NULL &&
		    f->start_ns <= h.start_ns &&
		    (found == NULL || f->start_ns > found->start_ns))
			found = f;
	}
	return found;
}

struct origins *
run_inherit_read(struct ticker_files *files, const struct ticker_file *child)
{
	const struct livefile *at = &child->live;
	struct origins *o = xcalloc(1, sizeof *o);
	struct liveblocks b = {.page = no_page, .block = on_block, .ctx = o};
	struct ticker_file *f;

	for (unsigned i = 0; files != NULL && at->head != NULL && i < ANCESTORS_MAX &&
			     (f = parent_of(files, at)) != NULL;
	     i++) {
		o->of = f;
		if (livefile_map_all(&f->live, NULL) == 0)
			liveblocks_each(&f->live, &b);
		at = &f->live;
	}
	return o;
}

void
run_inherit_find(const struct origins *o, const struct leakcheck *c, struct run_check *to)
{
	for (size_t i = 0; i < c->inherited.len; i++) {
		const struct leakcheck_inherited *b = &c->inherited.data[i];
		const uint64_t *row = map_find(&o->by_addr, b->addr);
		const struct origin *x;

		if (row == NULL || *row == 0)
			continue;
		x = &o->rows.data[*row - 1];
		if (x->bytes != b->bytes)
			continue;
		vec_push(&to->inherited, (struct run_inherited){.pid = x->pid,
								.start_ns = x->start_ns,
								.site = x->site,
								.kind = b->kind,
								.bytes = b->bytes});
	}
}

void
run_inherit_free(struct origins *o)
{
	vec_done(&o->rows);
	map_done(&o->by_addr);
	free(o);
}

/* ---- into the profile ---- */

static uint32_t
row_of(const struct prof *p, uint32_t pid, uint64_t start_ns)
{
	for (uint32_t i = p->nprocesses - 1; i > 0; i--) {
		if (p->processes[i].pid == pid && p->processes[i].start_ns == start_ns)
			return i;
	}
	return 0;
}

static uint64_t
site_key(uint32_t process, uint32_t origin)
{
	return (uint64_t)process << 32 | origin;
}

/* The child's own row for a site of its parent's, and the loss there. */
static void
add_block(struct prof *p, uint32_t process, uint32_t from, const struct run_inherited *b,
	  struct map *sites, struct map *losses)
{
	uint64_t *site = map_add(sites, from), *loss;

	if (*site == 0) {
		*site = prof_add_site(p);
		p->sites[*site] = (struct prof_site){.process = process,
						     .node = p->sites[from].node};
	}
	p->sites[*site].allocs++;
	p->sites[*site].alloc_bytes += b->bytes;
	p->sites[*site].live_blocks++;
	p->sites[*site].live_bytes += (int64_t)b->bytes;
	loss = map_add(losses, (uint64_t)from << 8 | b->kind);
	if (*loss == 0) {
		*loss = prof_add_loss(p);
		p->losses[*loss] = (struct prof_loss){.site = (uint32_t)*site,
						      .kind = (uint8_t)b->kind};
	}
	p->losses[*loss].blocks++;
	p->losses[*loss].bytes += b->bytes;
}

/* `called` is what the parent's rows say: names are resolved by then. */
static void
set_called(struct prof *p, uint32_t nlosses)
{
	struct map called = {0}; /* by node */

	for (uint32_t i = 0; i < p->nlosses; i++) {
		uint64_t *name = map_add(&called, p->sites[p->losses[i].site].node);

		if (i < nlosses)
			*name = p->losses[i].called;
		else
			p->losses[i].called = (uint32_t)*name;
	}
	map_done(&called);
}

static void
add_check(struct prof *p, uint32_t process, const struct run_check *c,
	  const struct map *rows)
{
	const struct run_inherited *last = NULL;
	struct map sites = {0}, losses = {0};
	uint32_t nsites = p->nsites, owner = 0;

	for (size_t i = 0; i < c->inherited.len; i++) {
		const struct run_inherited *b = &c->inherited.data[i];
		const uint64_t *from;

		if (last == NULL || b->pid != last->pid || b->start_ns != last->start_ns)
			owner = row_of(p, b->pid, b->start_ns);
		last = b;
		from = map_find(rows, site_key(owner, b->site));
		if (from != NULL)
			add_block(p, process, (uint32_t)*from, b, &sites, &losses);
	}
	/* Those that it has freed are no site's any more. */
	if (p->nsites > nsites) {
		p->sites[nsites].allocs += p->processes[process].inherited_frees;
		p->sites[nsites].alloc_bytes +=
			p->processes[process].inherited_free_bytes;
	}
	map_done(&sites);
	map_done(&losses);
}

void
run_inherit_add(const struct run_leaks *l, struct prof *p)
{
	uint32_t nsites = p->nsites, nlosses = p->nlosses;
	struct map rows = {0}; /* by process and origin */
	bool any = false;

	for (size_t i = 0; i < l->len; i++)
		any = any || l->data[i].inherited.len > 0;
	for (uint32_t i = 1; any && i < nsites; i++)
		*map_add(&rows, site_key(p->sites[i].process, p->sites[i].origin)) = i;
	for (size_t i = 0; i < l->len; i++) {
		const struct run_check *c = &l->data[i];
		uint32_t process = row_of(p, c->pid, c->start_ns);

		if (process != 0 && c->inherited.len > 0)
			add_check(p, process, c, &rows);
	}
	if (any)
		set_called(p, nlosses);
	map_done(&rows);
	p->inherited_sites = p->nsites > nsites ? nsites : 0;
}
