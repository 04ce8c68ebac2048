/* SPDX-License-Identifier: MIT */
/* attached_check.c -- see attached_check.h.
 *
 * A block that is live in the end and was made before the copy was live in the copy, too:
 * so the recording need not be read while the process stands still. In a sampled
 * recording the share of each kind among a place's samples is taken for that of all of
 * its blocks. */
#include "tool/session/attach/attached_check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/session/heap/foreign.h"
#include "tool/session/leaks/leak_plan.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum {
	FOUND_PART =
		10, /* one recorded block in so many not found: the walk is not trusted */
	FOUND_LEAST = 10,
};

/* ---- the look ---- */

static int
plan(struct session *s, uint64_t max_stop_ns, struct err *e)
{
	struct leak_plan p;
	int r = leak_plan_make(&s->attach.live, s->pid, &p, e);

	if (r < 0)
		return r;
	if (p.way != LEAKCHECK_COPY)
		return err_set(e, -ENOMEM, "not enough memory: %s", p.why);
	p.table_bytes = 0; /* the recording is read later */
	leak_plan_expect(&p);
	return leak_plan_check(&p, max_stop_ns, e);
}

/* Blocks of a runtime's own heap are not known, so that no site can be judged by who
 * refers to its blocks. */
static int
refuse_hidden(const struct attached_check *c, int pid, struct err *e)
{
	const char *hides = foreign_hides(&c->heap.image);

	if (hides == NULL)
		return 0;
	if (foreign_collects(&c->heap.image) != NULL) /* seep leaks judges none either */
		return err_set(e, -ENOTSUP, "%s", hides);
	return err_set(e, -ENOTSUP, "%s; or, without sites: seep leaks %d", hides, pid);
}

static int
look(struct attached_check *c, struct session *s, struct err *e)
{
	struct heapcheck_opts o = {.only_copy = true, .states_only = true};
	char why[300];
	int r = image_open_process(s->pid, &c->heap.image, e);

	/* As far as the program alone says; before it is stopped for nothing. */
	if (r == 0)
		r = refuse_hidden(c, s->pid, e);
	if (r < 0)
		return r;
	c->heap.image.z.left_out_inode = s->attach.live.inode;
	/* Its clock stands while nobody ticks: what is made from now on must not seem
	 * older. */
	c->ms = session_age_ms(s);
	livefile_tick(&s->attach.live, c->ms);
	r = heapcheck_process(&c->heap, &o, e);
	if (r == -ENOTSUP && c->heap.image.copied) {
		foreign_why(foreign_allocator(&c->heap.image), &c->heap.heap, why,
			    sizeof why);
		return err_set(e, r, "%s", why);
	}
	if (r == 0)
		r = refuse_hidden(c, s->pid, e);
	if (r == 0)
		heapcheck_paths(&c->heap);
	return r;
}

void
attached_check_run(struct attached_check *c, struct session *s, uint64_t max_stop_ns)
{
	struct err e = {0};
	int r;

	if (max_stop_ns == 0 || s->ended || s->attach.live.head == NULL)
		return;
	c->tried = true;
	r = plan(s, max_stop_ns, &e);
	if (r == 0)
		r = look(c, s, &e);
	c->done = r == 0;
	if (r < 0)
		snprintf(c->why, sizeof c->why, "%s", e.msg);
	c->threads = (unsigned)c->heap.image.threads.len;
	c->stop_ns = c->heap.image.stop_ns;
	c->pause_ns = c->heap.image.pause_ns;
	s->checked_ns = c->stop_ns + c->pause_ns;
	/* The copy goes; blocks, and names of who holds them, stay. */
	image_close(&c->heap.image);
}

void
attached_check_done(struct attached_check *c)
{
	heapcheck_done(&c->heap);
}

/* ---- what it says of each place ---- */

/* Blocks of one site: weights by kind, what they were not found in, and who holds
 * them. */
struct share {
	uint32_t site;
	double blocks[CLASSIFY_KINDS], bytes[CLASSIFY_KINDS];
	double all_blocks, all_bytes;
	double through; /* bytes lost because of its definitely lost blocks */
};

struct shares VEC_BODY(struct share);

struct sums {
	struct attached_check *c;
	struct prof *p;
	uint32_t process;
	struct shares shares;
	struct map of_site; /* site -> its share + 1 */
	struct map held;    /* place in shares, root -> blocks */
	uint64_t found, missed;
};

static struct share *
share_of(struct sums *u, uint32_t site)
{
	uint64_t *at = map_add(&u->of_site, site);

	if (*at == 0) {
		vec_add(&u->shares)->site = site;
		*at = u->shares.len;
	}
	return &u->shares.data[*at - 1];
}

/* How many bytes a sampled block stands for. */
static double
stands_for(const struct prof_process *pr, uint64_t bytes)
{
	double s = bytes > 0 ? (double)bytes : 1;
	double rate = pr->mode == PROF_SAMPLED ? (double)pr->rate_bytes : 0;

	return rate > 1 ? s / -expm1(-s / rate) : s;
}

static void
add_block(struct sums *u, const struct prof_block *b)
{
	const struct heapcheck *h = &u->c->heap;
	double bytes = stands_for(&u->p->processes[u->process], b->bytes);
	double blocks = b->bytes > 0 ? bytes / (double)b->bytes : 1;
	struct share *s = share_of(u, b->site);
	const struct scan_block *x;

	s->all_blocks += blocks;
	s->all_bytes += bytes;
	if (b->ms >= u->c->ms)
		return; /* younger than the copy, or not certain to be older */
	x = scan_find(&h->index, b->addr);
	if (x == NULL || (x->addr != b->addr && (x->flags & SCAN_BLOCK_INNER) == 0)) {
		u->missed++;
		return;
	}
	u->found++;
	s->blocks[x->state] += blocks;
	s->bytes[x->state] += bytes;
	if (x->state == CLASSIFY_DEFINITE)
		s->through += blocks * (double)x->indirect;
	if (x->state == CLASSIFY_REACHABLE || x->state == CLASSIFY_POSSIBLE) {
		uint32_t root = h->paths.root[x - h->blocks.data];

		(*map_add(&u->held, (uint64_t)(s - u->shares.data) << 32 | root))++;
	}
}

static uint64_t
part_of(int64_t whole, double part, double all)
{
	return whole > 0 && all > 0 ? (uint64_t)((double)whole * part / all + 0.5) : 0;
}

/* What is live at a place and of no kind came after the copy. */
static void
add_younger(struct prof_check *check, const struct prof_site *site, uint64_t blocks,
	    uint64_t bytes)
{
	if (site->live_blocks > (int64_t)blocks)
		check->younger_blocks += (uint64_t)site->live_blocks - blocks;
	if (site->live_bytes > (int64_t)bytes)
		check->younger_bytes += (uint64_t)site->live_bytes - bytes;
}

/* What was lost through a place's blocks, of which some may not have been recorded: no
 * more than was found in all. */
static void
save_through(struct sums *u, uint32_t first)
{
	double found = 0, all = 0, scale;

	for (uint32_t i = first; i < u->p->nlosses; i++) {
		if (u->p->losses[i].kind == PROF_LOSS_INDIRECT)
			found += (double)u->p->losses[i].bytes;
	}
	for (size_t i = 0; i < u->shares.len; i++)
		all += u->shares.data[i].through;
	scale = all > found ? found / all : 1;
	for (uint32_t i = first; i < u->p->nlosses; i++) {
		struct prof_loss *l = &u->p->losses[i];

		if (l->kind == PROF_LOSS_DEFINITE)
			l->indirect_bytes =
				(uint64_t)(share_of(u, l->site)->through * scale);
	}
}

static void
save_losses(struct sums *u, struct prof_check *check)
{
	uint32_t first = u->p->nlosses;

	for (size_t i = 0; i < u->shares.len; i++) {
		const struct share *s = &u->shares.data[i];
		const struct prof_site *site = &u->p->sites[s->site];
		uint64_t blocks = 0, bytes = 0;

		for (unsigned k = 0; k < CLASSIFY_KINDS; k++) {
			struct prof_loss l = {.site = s->site, .kind = (uint8_t)k};
			uint32_t row;

			if (s->blocks[k] == 0)
				continue;
			l.blocks =
				part_of(site->live_blocks, s->blocks[k], s->all_blocks);
			l.bytes = part_of(site->live_bytes, s->bytes[k], s->all_bytes);
			if (l.blocks == 0)
				l.blocks = 1;
			row = prof_add_loss(u->p);
			u->p->losses[row] = l;
			blocks += l.blocks;
			bytes += l.bytes;
		}
		add_younger(check, site, blocks, bytes);
	}
	save_through(u, first);
}

static void
save_holders(struct sums *u)
{
	struct prof_holder *most = xcalloc(u->shares.len, sizeof *most);
	uint32_t *roots = xcalloc(u->shares.len, sizeof *roots);
	uint64_t key, n;
	size_t pos = 0;

	while (map_next(&u->held, &pos, &key, &n)) {
		struct prof_holder *m = &most[key >> 32];
		uint32_t root = (uint32_t)key;

		m->of += n;
		if (root != 0 &&
		    (n > m->blocks || (n == m->blocks && root < roots[key >> 32]))) {
			m->blocks = n;
			roots[key >> 32] = root;
		}
	}
	for (size_t i = 0; i < u->shares.len; i++) {
		uint32_t row;

		if (most[i].blocks == 0)
			continue;
		most[i].site = u->shares.data[i].site;
		most[i].name =
			prof_str(u->p, holders_name(&u->c->heap.holders, roots[i]));
		row = prof_add_holder(u->p);
		u->p->holders[row] = most[i];
	}
	free(most);
	free(roots);
}

void
attached_check_save(struct attached_check *c, struct prof *p, uint32_t process)
{
	struct sums u = {.c = c, .p = p, .process = process};
	struct prof_check check = {.process = process,
				   .threads = c->threads,
				   .stop_ns = c->stop_ns,
				   .pause_ns = c->pause_ns};
	uint32_t row;

	if (!c->tried)
		return;
	for (uint32_t i = 0; c->done && i < p->nblocks; i++) {
		if (p->blocks[i].process == process && p->blocks[i].site != 0)
			add_block(&u, &p->blocks[i]);
	}
	if (c->done && u.missed > FOUND_LEAST &&
	    u.missed > (u.found + u.missed) / FOUND_PART) {
		c->done = false;
		snprintf(c->why, sizeof c->why,
			 "%s of %s recorded blocks were not found in the heap",
			 fmt_count(u.missed).s, fmt_count(u.found + u.missed).s);
	}
	if (c->done) {
		save_losses(&u, &check);
		save_holders(&u);
	}
	check.done = c->done;
	check.why = c->done ? 0 : prof_str(p, c->why);
	row = prof_add_check(p);
	p->checks[row] = check;
	vec_done(&u.shares);
	map_done(&u.of_site);
	map_done(&u.held);
}
