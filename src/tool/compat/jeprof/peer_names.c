/* SPDX-License-Identifier: MIT */
/* peer_names.c -- see peer_names.h.
 *
 * A name is cut as the peer cuts it: parameters go, then what stands in <>, then a leading type.
 * Both lists of allocator functions are the peers' own; they name what goes, not code. */
#include "tool/compat/jeprof/peer_names.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/alloc_frames.h"
#include "tool/analyze/sites/skip.h"
#include "tool/compat/jeprof/peer_stacks.h"
#include "tool/util/x.h"

/* Functions of allocators that both drop, and those that jeprof alone knows. */
static const char *const peer_both[] = {
	"calloc",
	"cfree",
	"malloc",
	"free",
	"memalign",
	"posix_memalign",
	"pvalloc",
	"valloc",
	"realloc",
	"tc_calloc",
	"tc_cfree",
	"tc_malloc",
	"tc_free",
	"tc_memalign",
	"tc_posix_memalign",
	"tc_pvalloc",
	"tc_valloc",
	"tc_realloc",
	"tc_new",
	"tc_delete",
	"tc_newarray",
	"tc_deletearray",
	"tc_new_nothrow",
	"tc_newarray_nothrow",
	"do_malloc",
	"::do_malloc",
	"::do_malloc_or_cpp_alloc",
	"DoSampledAllocation",
	"simple_alloc::allocate",
	"__malloc_alloc_template::allocate",
	"__builtin_delete",
	"__builtin_new",
	"__builtin_vec_delete",
	"__builtin_vec_new",
	"operator new",
	"operator new[]",
	"malloc_zone_malloc",
	"malloc_zone_calloc",
	"malloc_zone_valloc",
	"malloc_zone_realloc",
	"malloc_zone_memalign",
	"malloc_zone_free",
	"__start_google_malloc",
	"__stop_google_malloc",
	"__start_malloc_hook",
	"__stop_malloc_hook",
};
static const char *const peer_jeprof[] = {
	"newImpl", "void* newImpl", "aligned_alloc", "mallocx",		 "rallocx",
	"xallocx", "dallocx",	    "sdallocx",	     "sdallocx_noflags",
};

static bool
peer_listed(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i], name) == 0)
			return true;
	}
	return false;
}

static bool
peer_is_allocator(const char *name, bool jeprof)
{
	const char *bare = name[0] == '_' ? name + 1 : name;

	if (strstr(name, "TCMalloc") != NULL || strncmp(name, "tcmalloc::", 10) == 0)
		return true;
	for (unsigned i = 0; i < 2; i++, name = bare) {
		if (peer_listed(peer_both, ARRAY_LEN(peer_both), name) ||
		    (jeprof && peer_listed(peer_jeprof, ARRAY_LEN(peer_jeprof), name)))
			return true;
	}
	return false;
}

/* ---- short names ---- */

/* Takes out every innermost pair of brackets, until there is none; behind () also " const". */
static void
peer_cut_pairs(char *s, char open, char close)
{
	size_t n = strlen(s);
	char *at = s;

	while ((at = strchr(at, close)) != NULL) {
		char *from = at, *to = at + 1;

		while (from > s && *from != open)
			from--;
		if (*from != open) {
			at++; /* closes nothing: operator-> */
			continue;
		}
		if (open == '(') {
			char *word = to + strspn(to, " ");

			if (strncmp(word, "const", 5) == 0)
				to = word + 5;
		}
		memmove(from, to, n - (size_t)(to - s) + 1);
		n -= (size_t)(to - from);
		at = from;
	}
}

/* Where the name begins behind a leading type: at the last word that is followed by "::". */
static const char *
peer_behind_type(const char *s)
{
	const char *found = s;

	for (const char *at = s; *at != '\0'; at++) {
		const char *word = at + 1;
		size_t n = 0;

		if (!isspace((unsigned char)*at))
			continue;
		while (isalnum((unsigned char)word[n]) || word[n] == '_')
			n++;
		if (n > 0 && word[n] == ':' && word[n + 1] == ':')
			found = word;
	}
	return found;
}

void
peer_short_name(struct buf *b, const char *full)
{
	char *copy = xstrdup(full);
	const char *name, *gap;

	peer_cut_pairs(copy, '(', ')');
	peer_cut_pairs(copy, '<', '>');
	name = peer_behind_type(copy);
	gap = strstr(name, "::::");
	/* "main::<lambda()>::operator()" has nothing else to tell it by. */
	if (gap != NULL)
		buf_printf(b, "%.*s::<lambda>%s", (int)(gap - name), name, gap + 2);
	else
		buf_add_str(b, name);
	free(copy);
}

static bool
peer_is_rust(const char *linkage)
{
	size_t n = strlen(linkage);

	if (strncmp(linkage, "_R", 2) == 0)
		return true;
	/* …17h0123456789abcdefE */
	return n > 24 && strncmp(linkage, "_ZN", 3) == 0 && linkage[n - 1] == 'E' &&
	       strncmp(linkage + n - 20, "17h", 3) == 0 &&
	       strspn(linkage + n - 17, "0123456789abcdef") == 16;
}

/* ---- locations ---- */

static void
peer_add_sym(struct peer_stacks *s, const struct peer_opts_stacks *o,
	     const struct prof_frame *f, uint64_t start)
{
	const struct prof *p = s->p;
	const char *name = prof_text(p, f->function);
	const char *linkage = prof_text(p, f->linkage);
	struct peer_sym y = {.line = f->line, .start = start};
	char *full = NULL;
	struct buf b = {0};

	y.file = strtab_add(&s->text, prof_text(p, f->file));
	if (f->linkage != 0 && o->full_name != NULL)
		full = o->full_name(linkage);
	y.full = strtab_add(&s->text, full != NULL ? full : name);
	if (peer_is_rust(linkage))
		buf_add_str(&b, name);
	else
		peer_short_name(&b, full != NULL ? full : name);
	y.func = strtab_addn(&s->text, buf_str(&b), b.len);
	/* The peer finds the address by name, and so not behind a return type. */
	y.tagged = start != 0 &&
		   strncmp(strtab_str(&s->text, y.full), buf_str(&b), b.len) == 0;
	vec_push(&s->syms, y);
	buf_done(&b);
	free(full);
}

/* A place in a known module has a name that is the same in every run. */
static void
peer_add_unnamed(struct peer_stacks *s, const struct prof_loc *l, uint64_t at)
{
	const char *path = prof_text(s->p, s->p->modules[l->module].path);
	struct peer_sym *y = vec_add(&s->syms);
	struct buf b = {0};

	if (l->module == 0 || path[0] == '\0')
		return;
	buf_printf(&b, "%s+0x%" PRIx64, skip_basename(path), at);
	y->func = y->full = strtab_addn(&s->text, buf_str(&b), b.len);
	buf_done(&b);
}

static void
peer_add_loc(struct peer_stacks *s, const struct peer_opts_stacks *o, uint32_t i,
	     const uint64_t *bias)
{
	const struct prof_loc *l = &s->p->locs[i];
	struct peer_loc *to = &s->locs[i];
	uint64_t at = l->offset - (!l->exact && l->offset > 0);

	to->syms = (uint32_t)s->syms.len;
	to->address = at + (l->module < s->p->nmodules ? bias[l->module] : 0);
	to->above = to->address >> 63 != 0 && l->nframes == 0;
	for (uint32_t k = 0; k < l->nframes; k++) {
		const struct prof_frame *f = &s->p->frames[l->frames + k];
		bool outermost = k + 1 == l->nframes;

		/* Formats that bring their names do not say where functions begin. */
		bool known = outermost && l->module != 0 && f->symbol_off != 0;

		peer_add_sym(s, o, f, known ? at - f->symbol_off : 0);
	}
	if (l->nframes == 0)
		peer_add_unnamed(s, l, at);
	to->nsyms = (uint32_t)s->syms.len - to->syms;
}

/* Where each module was loaded, for addresses as they were. */
static uint64_t *
peer_biases(const struct prof *p)
{
	uint64_t *bias = xcalloc(p->nmodules, sizeof *bias);
	bool *known = xcalloc(p->nmodules, sizeof *known);

	for (uint32_t i = 0; i < p->nranges; i++) {
		uint32_t m = p->ranges[i].module;

		if (m < p->nmodules && !known[m]) {
			bias[m] = p->ranges[i].bias;
			known[m] = true;
		}
	}
	free(known);
	return bias;
}

/* Two functions of one short name: the peer tells them apart by where they begin. */
static void
peer_find_ambiguous(struct peer_stacks *s)
{
	struct map starts = {0};

	for (size_t i = 0; i < s->syms.len; i++) {
		const struct peer_sym *y = &s->syms.data[i];
		uint64_t *start;

		if (!y->tagged || y->func == 0)
			continue;
		start = map_add(&starts, y->func);
		if (*start == 0)
			*start = y->start;
		else if (*start != y->start)
			*map_add(&s->ambiguous, y->func) = 1;
	}
	map_done(&starts);
}

void
peer_names(struct peer_stacks *s, const struct peer_opts_stacks *o)
{
	uint64_t *bias = peer_biases(s->p);
	bool *allocator = alloc_frames(s->p);

	s->locs = xcalloc(s->p->nlocs, sizeof *s->locs);
	for (uint32_t i = 0; i < s->p->nlocs; i++) {
		struct peer_loc *l = &s->locs[i];

		peer_add_loc(s, o, i, bias);
		l->allocator =
			allocator[i] ||
			peer_is_allocator(
				strtab_str(&s->text,
					   s->syms.data[l->syms + l->nsyms - 1].func),
				o->jeprof);
	}
	peer_find_ambiguous(s);
	free(allocator);
	free(bias);
}
