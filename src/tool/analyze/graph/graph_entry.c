/* SPDX-License-Identifier: MIT */
/* graph_entry.c -- what is one row: frames of one or two profiles, told apart as the
 * grain says.
 *
 * Texts of both profiles become ids of one table, so entries of the base and of the
 * profile meet where they read the same. A C++ function counts by its whole name,
 * parameters and all, because the linkage names of one constructor differ. A function
 * whose body comes from several files (#line, #include) is still one: frames that begin
 * at the same address share the file whose name sorts first. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/analyze/graph/graph_impl.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* ---- modules ---- */

static uint64_t
graph_build_hash(const struct prof_module *m)
{
	uint64_t h;

	if (m->build_id_bytes == 0)
		return 0;
	h = hash_bytes(m->build_id, m->build_id_bytes, 0);
	return h != 0 ? h : 1;
}

/* Path of a module with the beginning of its build-id, for one of two under the same
 * path. */
static uint32_t
graph_build_name(struct graph_work *w, const char *path, const struct prof_module *m)
{
	char *text = xasprintf("%s (build %02x%02x%02x%02x)", path, m->build_id[0],
			       m->build_id[1], m->build_id[2], m->build_id[3]);
	uint32_t id = strtab_add(w->strings, text);

	free(text);
	return id;
}

static uint32_t
graph_module_now(struct graph_work *w, const char *path, const struct prof_module *m)
{
	uint64_t build = graph_build_hash(m);
	uint32_t id = strtab_add(w->strings, path);
	uint64_t *known = map_find(&w->builds, id);

	if (known != NULL && *known != build && build != 0)
		id = graph_build_name(w, path, m);
	*map_add(&w->builds, id) = build;
	if (build != 0)
		*map_add(&w->build_ids, build) = id;
	return id;
}

static uint32_t
graph_module_base(struct graph_work *w, const char *path, const struct prof_module *m)
{
	uint64_t build = graph_build_hash(m);
	const uint64_t *same = build != 0 ? map_find(&w->build_ids, build) : NULL;

	return same != NULL ? (uint32_t)*same : strtab_add(w->strings, path);
}

uint32_t
graph_name(struct graph_side *s, uint32_t id)
{
	if (s->names[id] == 0)
		s->names[id] = strtab_add(s->w->strings, prof_text(s->p, id)) + 1;
	return s->names[id] - 1;
}

/* Where the function of a location's outermost frame begins, as a key; 0 = not known. */
static uint64_t
graph_start(const struct graph_side *s, const struct prof_loc *l)
{
	const struct prof_frame *f = &s->p->frames[l->frames + l->nframes - 1];

	if (f->symbol_off == 0 || l->module == 0)
		return 0;
	return hash_pair(s->modules[l->module] + (s->base ? UINT64_C(1) << 32 : 0),
			 prof_loc_address(l) - f->symbol_off);
}

static void
graph_find_files(struct graph_side *s)
{
	const struct prof *p = s->p;

	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct prof_loc *l = &p->locs[i];
		uint64_t start, *file;
		uint32_t id;

		if (l->nframes == 0 || p->frames[l->frames + l->nframes - 1].file == 0)
			continue;
		start = graph_start(s, l);
		if (start == 0)
			continue;
		id = graph_name(s, p->frames[l->frames + l->nframes - 1].file);
		file = map_add(&s->w->starts, start);
		if (*file == 0 ||
		    (*file != id &&
		     strcmp(strtab_str(s->w->strings, id),
			    strtab_str(s->w->strings, (uint32_t)*file)) < 0))
			*file = id;
	}
}

/* A module that the base has elsewhere, in another build: its addresses say nothing. */
static void
graph_note_builds(struct graph_side *s)
{
	for (uint32_t i = 1; i < s->p->nmodules; i++) {
		const uint64_t *now = map_find(&s->w->builds, s->modules[i]);

		if (now != NULL && *now != graph_build_hash(&s->p->modules[i]))
			*map_add(&s->w->other, s->modules[i]) = 1;
	}
}

void
graph_modules(struct graph_side *s, struct graph_side *now)
{
	for (uint32_t i = 1; i < s->p->nmodules; i++) {
		const struct prof_module *m = &s->p->modules[i];
		const char *path = prof_text(s->p, m->path);

		s->modules[i] = s->base ? graph_module_base(s->w, path, m)
					: graph_module_now(s->w, path, m);
	}
	/* Peers look no further than the names. */
	if (now != NULL && !s->w->q->merge_names) {
		graph_match_modules(now, s);
		graph_match_files(now, s);
	}
	if (now != NULL)
		graph_note_builds(s);
	if (s->w->q->grain == GRAPH_FUNCTIONS && !s->w->q->merge_names)
		graph_find_files(s);
}

/* ---- entries ---- */

static uint32_t
graph_intern(struct graph_work *w, const struct graph_key *k)
{
	uint64_t hash = hash_bytes(k, sizeof *k, 0);
	bool new;
	uint32_t *first =
		graph_pair(&w->keys, (uint32_t)(hash >> 32), (uint32_t)hash, &new);
	uint32_t at = new ? 0 : *first;
	struct graph_entry *x;

	while (at != 0 && memcmp(&w->key_of.data[at], k, sizeof *k) != 0)
		at = w->key_next.data[at];
	if (at != 0)
		return at;
	vec_push(&w->key_next, new ? 0 : *first);
	vec_push(&w->key_of, *k);
	*first = (uint32_t)w->entries.len;
	x = vec_add(&w->entries);
	x->function = k->function;
	x->linkage = k->linkage;
	x->file = k->file;
	x->module = k->module;
	x->line = k->line;
	x->address = k->address;
	x->no_name = k->no_name != 0;
	x->inlined = true;
	return *first;
}

/* The whole name where there is one, else the linkage name; 0 when it says nothing
 * new. */
static uint32_t
graph_linkage(struct graph_side *s, const struct prof_frame *f)
{
	char *full;
	uint32_t id;

	if (f->linkage == 0)
		return 0;
	if (s->w->q->full_name == NULL)
		return graph_name(s, f->linkage);
	if (s->names[f->linkage] != 0)
		return s->names[f->linkage] - 1;
	full = s->w->q->full_name(prof_text(s->p, f->linkage));
	id = strtab_add(s->w->strings, full != NULL ? full : prof_text(s->p, f->linkage));
	s->names[f->linkage] = id + 1;
	free(full);
	return id;
}

/* A location that is no code, or code without a name, in words. */
static void
graph_unnamed(struct graph_side *s, const struct prof_loc *l, struct graph_key *k)
{
	const struct graph_query *q = s->w->q;
	bool places = q->grain != GRAPH_FILES && q->grain != GRAPH_MODULES &&
		      (!q->merge_names || q->grain == GRAPH_ADDRESSES);
	struct buf b = {0};

	k->no_name = 1;
	switch (l->kind) {
	case PROF_LOC_TRUNCATED:
		buf_add_str(&b, "(could not be followed further)");
		break;
	case PROF_LOC_ELIDED:
		buf_add_str(&b, "(frames left out)");
		break;
	case PROF_LOC_CLASS:
		buf_add_str(&b, prof_class_name(l->offset));
		break;
	default:
		k->module = s->modules[l->module];
		if (!places)
			break;
		k->address = l->offset;
		if (k->module != 0)
			buf_add_str(&b, file_base(strtab_str(s->w->strings, k->module)));
		buf_printf(&b, "%s0x%" PRIx64, k->module != 0 ? "+" : "", l->offset);
	}
	if (l->kind == PROF_LOC_CODE && l->module == 0 && !places && !q->merge_names)
		buf_add_str(&b, "(in no module)");
	k->function = strtab_addn(s->w->strings, buf_str(&b), b.len);
	buf_done(&b);
}

static void
graph_named(struct graph_side *s, const struct prof_loc *l, const struct prof_frame *f,
	    bool outermost, struct graph_key *k)
{
	enum graph_grain grain = s->w->q->grain;
	uint32_t file = graph_name(s, f->file), module = s->modules[l->module];
	uint64_t start = grain == GRAPH_FUNCTIONS && outermost ? graph_start(s, l) : 0;
	const uint64_t *shared = start != 0 ? map_find(&s->w->starts, start) : NULL;

	if (shared != NULL)
		file = (uint32_t)*shared;
	if (grain == GRAPH_FILES) {
		k->file = file;
		k->module = file == 0 ? module : 0;
		return;
	}
	k->function = graph_name(s, f->function);
	k->linkage = s->w->q->merge_names ? 0 : graph_linkage(s, f);
	if (k->linkage == k->function)
		k->linkage = 0;
	if (grain == GRAPH_FUNCTIONS && s->w->q->merge_names)
		return;
	k->file = file;
	k->module = file == 0 && !s->w->q->merge_names ? module : 0;
	if (grain == GRAPH_LINES || grain == GRAPH_ADDRESSES)
		k->line = f->line;
	/* An offset with its top bit set is made of names, for want of an address. */
	if (grain == GRAPH_ADDRESSES && l->offset >> 63 == 0 &&
	    map_find(&s->w->other, module) == NULL) {
		k->module = module;
		k->address = l->offset;
	}
}

/* A frame under the name that the query gives it. */
static void
graph_given(struct graph_side *s, uint32_t loc, uint32_t inl, struct graph_key *k)
{
	const struct graph_frames *f = s->q->frames;
	struct buf b = {0};

	f->name(f->ctx, loc, inl, s->leaf, &b);
	k->function = strtab_addn(s->w->strings, buf_str(&b), b.len);
	buf_done(&b);
}

/* Code of an interpreter or virtual machine is in no module: its language stands for
 * it. */
static void
graph_language(struct graph_side *s, const struct prof_frame *f, struct graph_key *k)
{
	struct buf b = {0};

	if (f->lang == PROF_OTHER)
		buf_add_str(&b, "[interpreted]");
	else
		buf_printf(&b, "[%s]", prof_lang_name(f->lang));
	k->function = strtab_addn(s->w->strings, buf_str(&b), b.len);
	buf_done(&b);
}

static uint32_t
graph_make_entry(struct graph_side *s, uint32_t loc, uint32_t inl)
{
	const struct prof_loc *l = &s->p->locs[loc];
	const struct prof_frame *f =
		inl < l->nframes ? &s->p->frames[l->frames + inl] : NULL;
	enum graph_grain grain = s->w->q->grain;
	bool outermost = inl + 1 >= l->nframes;
	struct graph_key k = {0};
	struct graph_entry *x;
	uint32_t entry;

	if (s->q->frames != NULL)
		graph_given(s, loc, inl, &k);
	else if (l->kind == PROF_LOC_CODE && grain == GRAPH_MODULES && l->module != 0)
		k.module = s->modules[l->module];
	else if (grain == GRAPH_MODULES && f != NULL && f->lang != PROF_NATIVE)
		graph_language(s, f, &k);
	else if (f != NULL &&
		 (f->function != 0 ||
		  (f->file != 0 && (grain == GRAPH_FILES || s->w->q->merge_names))))
		graph_named(s, l, f, outermost, &k);
	else
		graph_unnamed(s, l, &k);
	entry = graph_intern(s->w, &k);
	x = &s->w->entries.data[entry];
	if (outermost)
		x->inlined = false;
	/* What the grain does not ask for is that of the frame met first. */
	if (x->module == 0)
		x->module = s->modules[l->module];
	if (x->file == 0 && f != NULL && grain != GRAPH_MODULES)
		x->file = graph_name(s, f->file);
	return entry;
}

uint32_t
graph_entry_of(struct graph_side *s, uint32_t loc, uint32_t inl)
{
	uint32_t *entry =
		&s->entries[s->slots[loc] + inl + (s->leaf ? s->slots[s->p->nlocs] : 0)];

	if (*entry == 0)
		*entry = graph_make_entry(s, loc, inl);
	return *entry;
}

uint32_t
graph_entry_no_stack(struct graph_side *s)
{
	struct graph_key k = {.function = strtab_add(s->w->strings, "(no stack)"),
			      .no_name = 1};

	return graph_intern(s->w, &k);
}

/* ---- entries that read the same ---- */

struct graph_group {
	uint32_t first, last; /* entries; the others are linked by graph_apart.next */
	bool linkage, file, module, base_name; /* which of these differ in it */
};

struct graph_apart {
	struct strtab texts;
	VEC(struct graph_group) groups; /* by id of the text */
	uint32_t *next;
};

static bool
graph_same_base(const struct graph_work *w, uint32_t a, uint32_t b)
{
	return strcmp(file_base(strtab_str(w->strings, a)),
		      file_base(strtab_str(w->strings, b))) == 0;
}

static void
graph_group_add(struct graph_apart *a, const struct graph_work *w, uint32_t text,
		uint32_t entry)
{
	const struct graph_key *x = &w->key_of.data[entry];
	struct graph_group *g;

	while (a->groups.len <= text)
		vec_add(&a->groups);
	g = &a->groups.data[text];
	for (uint32_t k = g->first; k != 0; k = a->next[k]) {
		const struct graph_key *y = &w->key_of.data[k];

		g->linkage = g->linkage || x->linkage != y->linkage;
		g->file = g->file || x->file != y->file;
		g->module = g->module || x->module != y->module;
		/* Two files of one name in different folders need their folders. */
		g->base_name = g->base_name || (x->file != y->file &&
						graph_same_base(w, x->file, y->file));
	}
	if (g->first == 0)
		g->first = entry;
	else
		a->next[g->last] = entry;
	g->last = entry;
}

/* What of the whole name comes behind the short one: the parameters. */
static void
graph_add_parameters(struct buf *b, const char *name, const char *full)
{
	size_t n = strlen(name);
	const char *at = n > 0 ? strstr(full, name) : NULL;

	while (at != NULL && at[n] != '(' && at[n] != ' ' && at[n] != '[')
		at = strstr(at + 1, name);
	if (at != NULL)
		buf_add_str(b, at + n);
	else if (full[0] != '\0')
		buf_printf(b, " [%s]", full);
}

static void
graph_apart_text(const struct graph_work *w, const struct graph_group *g,
		 const struct graph_key *x, struct buf *b)
{
	const char *file = strtab_str(w->strings, x->file);
	const char *module = strtab_str(w->strings, x->module);

	buf_clear(b);
	if (g->linkage)
		graph_add_parameters(b, strtab_str(w->strings, x->function),
				     strtab_str(w->strings, x->linkage));
	if (g->file && file[0] != '\0')
		buf_printf(b, " (%s)", g->base_name ? file : file_base(file));
	if (g->module && module[0] != '\0')
		buf_printf(b, " in %s",
			   w->q->grain == GRAPH_MODULES ? module : file_base(module));
}

void
graph_set_apart(struct graph_work *w)
{
	struct graph_apart a = {0};
	struct buf b = {0};

	if (w->q->merge_names)
		return;
	a.next = xcalloc(w->entries.len, sizeof *a.next);
	for (uint32_t i = 1; i < w->entries.len; i++) {
		const struct graph_entry *x = &w->entries.data[i];

		if (w->q->grain == GRAPH_FUNCTIONS) {
			graph_group_add(&a, w, x->function, i);
			continue;
		}
		buf_clear(&b);
		graph_plain_text(w->strings, w->q->grain, x, &b);
		graph_group_add(&a, w, strtab_addn(&a.texts, buf_str(&b), b.len), i);
	}
	for (size_t i = 0; i < a.groups.len; i++) {
		const struct graph_group *g = &a.groups.data[i];

		if (g->first == g->last)
			continue;
		for (uint32_t k = g->first; k != 0; k = a.next[k]) {
			graph_apart_text(w, g, &w->key_of.data[k], &b);
			w->entries.data[k].apart =
				strtab_addn(w->strings, buf_str(&b), b.len);
		}
	}
	buf_done(&b);
	free(a.next);
	vec_done(&a.groups);
	strtab_done(&a.texts);
}
