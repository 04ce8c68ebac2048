/* SPDX-License-Identifier: MIT */
/* filter.c -- compiles the filters and asks them about frames.
 *
 * Every name, file and module is searched once for each expression, through a table by
 * string id, and every frame then only looks there: a profile of many stacks costs no
 * matching per stack. What labels pass is in filter_tag.c. */
#include "tool/analyze/graph/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/graph/filter_impl.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/x.h"

const char *const filter_names[FILTER_OPTIONS] = {
	[FILTER_FOCUS] = "focus",
	[FILTER_IGNORE] = "ignore",
	[FILTER_HIDE] = "hide",
	[FILTER_SHOW] = "show",
	[FILTER_SHOW_FROM] = "show_from",
	[FILTER_PRUNE_FROM] = "prune_from",
	[FILTER_TAGFOCUS] = "tagfocus",
	[FILTER_TAGIGNORE] = "tagignore",
	[FILTER_TAGSHOW] = "tagshow",
	[FILTER_TAGHIDE] = "taghide",
	[FILTER_THREAD] = "thread",
	[FILTER_SIZE] = "size",
	[FILTER_AGE] = "age",
	[FILTER_TAGROOT] = "tagroot",
	[FILTER_TAGLEAF] = "tagleaf",
};

/* ---- compiling ---- */

/* One end of a range; an empty one is left as it is. */
static int
filter_end(const char *text, size_t bytes, bool age, uint64_t *to)
{
	char *word = xmemdup0(text, bytes);
	uint64_t n = 0;
	int r = 0;

	if (bytes > 0) {
		r = age ? opt_duration(word, &n) : opt_size(word, &n);
		if (r == 0)
			*to = age ? n / 1000000 : n;
	}
	free(word);
	return r;
}

/* "A", "A:", ":B", "A:B". One alone is both ends, but of an age the least. */
static int
filter_range(enum filter_option which, const char *text, uint64_t *min, uint64_t *max,
	     struct err *e)
{
	const char *colon = strchr(text, ':');
	bool age = which == FILTER_AGE;
	int r;

	*min = 0;
	*max = UINT64_MAX;
	if (colon == NULL) {
		r = filter_end(text, strlen(text), age, min);
		if (!age)
			*max = *min;
	} else {
		r = filter_end(text, (size_t)(colon - text), age, min);
		if (r == 0)
			r = filter_end(colon + 1, strlen(colon + 1), age, max);
	}
	if (r < 0 || text[0] == '\0' || strcmp(text, ":") == 0 || *min > *max)
		return err_set(e, -EINVAL, "--%s %s: not a range such as %s",
			       filter_names[which], text, age ? "10s:5m" : "1K:64K");
	return 0;
}

static int
filter_thread(struct graph_filter *f, const char *text, struct err *e)
{
	f->blocks.thread = f->thread = xstrdup(text);
	if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
		return 0; /* a number */
	return re_new(text, &f->re[FILTER_THREAD], e);
}

static int
filter_add(struct graph_filter *f, enum filter_option which, const char *text,
	   struct err *e)
{
	struct err why = {0};
	int r;

	switch (which) {
	case FILTER_SIZE:
		f->has_blocks = f->blocks.has_size = true;
		return filter_range(which, text, &f->blocks.min_bytes,
				    &f->blocks.max_bytes, e);
	case FILTER_AGE:
		f->has_blocks = f->blocks.has_age = true;
		return filter_range(which, text, &f->blocks.min_age_ms,
				    &f->blocks.max_age_ms, e);
	case FILTER_TAGFOCUS:
	case FILTER_TAGIGNORE:
		r = filter_tag_new(text, &f->tags[which == FILTER_TAGIGNORE], &why);
		break;
	case FILTER_THREAD:
		f->has_blocks = true;
		r = filter_thread(f, text, &why);
		break;
	default:
		r = re_new(text, &f->re[which], &why);
	}
	return r < 0 ? err_set(e, r, "--%s %s", filter_names[which], why.msg) : 0;
}

int
filter_new(const struct filter_opts *o, struct graph_filter **ret_filter, struct err *e)
{
	struct graph_filter *f = xcalloc(1, sizeof *f);
	bool any = false;
	int r = 0;

	for (unsigned i = 0; i < FILTER_TAGROOT && r == 0; i++) {
		if (o->of[i] == NULL || o->of[i][0] == '\0')
			continue; /* an empty expression is none, as in pprof */
		any = true;
		f->given |= 1u << i;
		r = filter_add(f, i, o->of[i], e);
	}
	if (r == 0)
		*ret_filter = any ? TAKE(f) : NULL;
	filter_free(f);
	return r;
}

void
filter_free(struct graph_filter *f)
{
	if (f == NULL)
		return;
	for (unsigned i = 0; i < FILTER_OPTIONS; i++)
		re_free(f->re[i]);
	for (unsigned i = 0; i < 2; i++)
		filter_tag_free(f->tags[i]);
	free(f->thread);
	free(f);
}

const struct filter_blocks *
filter_blocks(const struct graph_filter *f)
{
	return f != NULL && f->has_blocks ? &f->blocks : NULL;
}

bool
filter_thread_is(const struct graph_filter *f, uint32_t tid, const char *name)
{
	if (f->re[FILTER_THREAD] != NULL)
		return re_matches(f->re[FILTER_THREAD], name);
	return tid == strtoull(f->thread, NULL, 10);
}

bool
filter_shows_tag(const struct graph_filter *f, const char *key)
{
	if (f == NULL)
		return true;
	if (f->re[FILTER_TAGSHOW] != NULL && !re_matches(f->re[FILTER_TAGSHOW], key))
		return false;
	return f->re[FILTER_TAGHIDE] == NULL || !re_matches(f->re[FILTER_TAGHIDE], key);
}

/* ---- frames ---- */

uint32_t *
filter_slots(const struct prof *p)
{
	uint32_t *slots = xcalloc((size_t)p->nlocs + 1, sizeof *slots);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nlocs; i++) {
		slots[i] = n;
		n += p->locs[i].nframes > 0 ? p->locs[i].nframes : 1;
	}
	slots[p->nlocs] = n;
	return slots;
}

/* Which expressions a string matches, as bits by enum filter_option; known once asked. */
struct filter_cache {
	const struct graph_filter *f;
	const struct prof *p;
	uint8_t *strings; /* by string id; bit 7: known */
	uint8_t *bare;	  /* by string id of a function: what its bare name matches */
	struct re *drop, *keep; /* the profile's own; NULL = none */
};

enum { FILTER_KNOWN = 0x80, FILTER_STACK_OPTIONS = FILTER_PRUNE_FROM };

static uint8_t
filter_string(struct filter_cache *c, uint32_t id)
{
	uint8_t bits = FILTER_KNOWN;

	if (c->strings[id] != 0)
		return c->strings[id];
	for (unsigned i = 0; i < FILTER_STACK_OPTIONS; i++) {
		if (c->f->re[i] != NULL && re_matches(c->f->re[i], prof_text(c->p, id)))
			bits |= (uint8_t)(1u << i);
	}
	return c->strings[id] = bits;
}

/* Bits of a frame's own names. pprof asks for no name where there is no function. */
static uint8_t
filter_frame(struct filter_cache *c, const struct prof_frame *f)
{
	if (f->function == 0 && f->file == 0)
		return 0;
	return filter_string(c, f->function) | filter_string(c, f->file);
}

/* The name as prune_from sees it: without what is in parentheses, but for two names that
 * have them. */
static char *
filter_bare_name(const char *name)
{
	static const char *const own[] = {"(anonymous namespace)", "operator()"};
	const char *s = name[0] == '.' ? name + 1 : name, *begin = s;

	while (*s != '\0') {
		size_t n = 0;

		for (unsigned i = 0; i < 2 && n == 0; i++) {
			if (strncmp(s, own[i], strlen(own[i])) == 0)
				n = strlen(own[i]);
		}
		if (n == 0 && *s == '(')
			break;
		s += n > 0 ? n : 1;
	}
	return xmemdup0(begin, (size_t)(s - begin));
}

enum { FILTER_PRUNED = 1, FILTER_DROPPED = 2 };

/* What prune_from and the profile's own expressions say about a function. */
static uint8_t
filter_bare(struct filter_cache *c, uint32_t function)
{
	uint8_t bits = FILTER_KNOWN;
	char *name;

	if (function == 0 || c->bare[function] != 0)
		return c->bare[function];
	name = filter_bare_name(prof_text(c->p, function));
	if (c->f != NULL && c->f->re[FILTER_PRUNE_FROM] != NULL &&
	    re_matches(c->f->re[FILTER_PRUNE_FROM], name))
		bits |= FILTER_PRUNED;
	if (c->drop != NULL && re_matches(c->drop, name) &&
	    (c->keep == NULL || !re_matches(c->keep, name)))
		bits |= FILTER_DROPPED;
	free(name);
	return c->bare[function] = bits;
}

/* Flags of the frames of one location; `slot` has room for `n`. */
struct filter_loc {
	const struct prof_frame *frames; /* NULL: has no names */
	uint32_t n;
	uint8_t module; /* what the module's path matches */
	uint8_t *slot;
};

static bool
filter_bit(uint8_t bits, enum filter_option which)
{
	return (bits >> which & 1) != 0;
}

static uint8_t
filter_at(struct filter_cache *c, const struct filter_loc *l, uint32_t i)
{
	return l->frames != NULL ? filter_frame(c, &l->frames[i]) : 0;
}

/* The outermost function that matches goes, and all that is inlined into it. Where that
 * is the whole location the flag alone stays: it depends on the stack whether it goes. */
static void
filter_drop(struct filter_cache *c, const struct filter_loc *l)
{
	uint32_t n = l->n;

	while (n > 0 && (l->frames == NULL || (filter_bare(c, l->frames[n - 1].function) &
					       FILTER_DROPPED) == 0))
		n--;
	for (uint32_t i = 0; i < n; i++)
		l->slot[i] |= FILTER_IS_DROPPED | (n < l->n ? FILTER_IS_HIDDEN : 0);
}

static void
filter_choose(struct filter_cache *c, const struct filter_loc *l)
{
	const struct graph_filter *f = c->f;

	for (uint32_t i = 0; i < l->n; i++) {
		uint8_t bits = (uint8_t)(filter_at(c, l, i) | l->module);

		if ((l->slot[i] & FILTER_IS_HIDDEN) != 0)
			continue; /* dropped before anyone asks */
		if (filter_bit(bits, FILTER_IGNORE))
			l->slot[i] |= FILTER_IS_IGNORED;
		if (f->re[FILTER_FOCUS] != NULL && filter_bit(bits, FILTER_FOCUS))
			l->slot[i] |= FILTER_IS_FOCUSED;
		if (filter_bit(bits, FILTER_HIDE))
			l->slot[i] |= FILTER_IS_HIDDEN;
		if (f->re[FILTER_SHOW] != NULL && !filter_bit(bits, FILTER_SHOW))
			l->slot[i] |= FILTER_IS_HIDDEN;
	}
}

/* The outermost function that matches is the last one kept, unless the whole module
 * does. */
static void
filter_show_from(struct filter_cache *c, const struct filter_loc *l)
{
	bool found = filter_bit(l->module, FILTER_SHOW_FROM);

	for (uint32_t i = l->n; i-- > 0;) {
		if ((l->slot[i] & FILTER_IS_HIDDEN) != 0)
			continue;
		found = found || filter_bit(filter_at(c, l, i), FILTER_SHOW_FROM);
		l->slot[i] |= found ? FILTER_IS_FROM : 0;
	}
	for (uint32_t i = l->n; found && i-- > 0;) {
		if ((l->slot[i] & FILTER_IS_FROM) == 0)
			l->slot[i] |= FILTER_IS_HIDDEN;
	}
}

/* The innermost function that matches is the first one kept. */
static void
filter_prune(struct filter_cache *c, const struct filter_loc *l)
{
	for (uint32_t i = 0; i < l->n && l->frames != NULL; i++) {
		if ((l->slot[i] & FILTER_IS_HIDDEN) != 0 ||
		    (filter_bare(c, l->frames[i].function) & FILTER_PRUNED) == 0)
			continue;
		l->slot[i] |= FILTER_IS_PRUNED;
		for (uint32_t k = 0; k < i; k++)
			l->slot[k] |= FILTER_IS_HIDDEN;
		return;
	}
}

static void
filter_run_frames(struct filter_run *r, struct filter_cache *c, const uint32_t *slots)
{
	static const uint8_t met_by[FILTER_STACK_OPTIONS + 1] = {
		[FILTER_FOCUS] = FILTER_IS_FOCUSED,
		[FILTER_IGNORE] = FILTER_IS_IGNORED,
		[FILTER_HIDE] = FILTER_IS_HIDDEN,
		[FILTER_SHOW_FROM] = FILTER_IS_FROM,
		[FILTER_PRUNE_FROM] = FILTER_IS_PRUNED,
	};
	const struct prof *p = c->p;
	uint8_t all = 0, shown = 0;

	r->slots = xcalloc(slots[p->nlocs], 1);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct prof_loc *loc = &p->locs[i];
		struct filter_loc l = {.n = slots[i + 1] - slots[i],
				       .slot = r->slots + slots[i]};

		if (loc->nframes > 0)
			l.frames = &p->frames[loc->frames];
		if (loc->module != 0 && c->f != NULL)
			l.module = filter_string(c, p->modules[loc->module].path);
		if (c->drop != NULL)
			filter_drop(c, &l);
		if (c->f == NULL)
			continue;
		filter_choose(c, &l);
		if (c->f->re[FILTER_SHOW_FROM] != NULL)
			filter_show_from(c, &l);
		if (c->f->re[FILTER_PRUNE_FROM] != NULL)
			filter_prune(c, &l);
		for (uint32_t k = 0; k < l.n; k++) {
			all |= l.slot[k];
			shown |= (uint8_t)~l.slot[k] & FILTER_IS_HIDDEN;
		}
	}
	if (c->f == NULL)
		return;
	for (unsigned i = 0; i <= FILTER_STACK_OPTIONS; i++) {
		bool met = i == FILTER_SHOW ? shown != 0 : (all & met_by[i]) != 0;

		if (c->f->re[i] != NULL && !met)
			r->unmatched |= 1u << i;
	}
}

/* An expression of the profile for whole names; NULL when there is none, or none that can
 * be understood. */
static struct re *
filter_own(const struct prof *p, uint32_t id)
{
	struct re *re = NULL;
	struct err e = {0};
	char *whole;

	if (id == 0)
		return NULL;
	whole = xasprintf("^(?:%s)$", prof_text(p, id));
	if (re_new(whole, &re, &e) < 0)
		re = NULL;
	free(whole);
	return re;
}

void
filter_run_init(struct filter_run *ret_run, const struct graph_filter *f,
		const struct prof *p, const uint32_t *slots, bool drop)
{
	struct filter_run r = {0};
	struct filter_cache c = {.f = f, .p = p};

	if (drop) {
		c.drop = filter_own(p, p->drop_frames);
		c.keep = filter_own(p, p->keep_frames);
		r.drops = c.drop != NULL;
	}
	for (unsigned i = 0; f != NULL && i <= FILTER_STACK_OPTIONS; i++)
		r.stacks = r.stacks || f->re[i] != NULL;
	if (r.stacks || r.drops) {
		c.strings = xcalloc(strtab_count(p->strings), 1);
		c.bare = xcalloc(strtab_count(p->strings), 1);
		filter_run_frames(&r, &c, slots);
		free(c.strings);
		free(c.bare);
	}
	re_free(c.drop);
	re_free(c.keep);
	if (f != NULL) {
		r.needs_focus = f->re[FILTER_FOCUS] != NULL;
		r.needs_from = f->re[FILTER_SHOW_FROM] != NULL;
		filter_run_tags(&r, f, p);
	}
	*ret_run = r;
}

void
filter_run_done(struct filter_run *r)
{
	free(r->slots);
	free(r->sites);
	*r = (struct filter_run){0};
}
