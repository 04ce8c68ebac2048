/* SPDX-License-Identifier: MIT */
/* jeprof_frames.c -- see jeprof_frames.h.
 *
 * A name is cut as the peer cuts it: parameters go, then what stands in <>, then a
 * leading type. Both lists of allocator functions are the peers' own; they name what
 * goes, not code. */
#include "tool/compat/jeprof/jeprof_frames.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/graph/filter.h"
#include "tool/analyze/sites/alloc_frames.h"
#include "tool/analyze/sites/skip.h"
#include "tool/util/file.h"
#include "tool/util/re.h"
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
peer_is_allocator(const char *name, bool google)
{
	const char *bare = name[0] == '_' ? name + 1 : name;

	if (strstr(name, "TCMalloc") != NULL || strncmp(name, "tcmalloc::", 10) == 0)
		return true;
	for (unsigned i = 0; i < 2; i++, name = bare) {
		if (peer_listed(peer_both, ARRAY_LEN(peer_both), name) ||
		    (!google && peer_listed(peer_jeprof, ARRAY_LEN(peer_jeprof), name)))
			return true;
	}
	return false;
}

/* ---- short names ---- */

/* Takes out every innermost pair of brackets, until there is none; behind () also "
 * const". */
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

/* Where the name begins behind a leading type: at the last word that is followed by
 * "::". */
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
jeprof_short_name(struct buf *b, const char *full)
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

/* ---- functions ---- */

static void
jeprof_set_sym(struct jeprof_frames *to, struct jeprof_sym *ret,
	       const struct prof_frame *f, uint64_t start)
{
	const char *name = prof_text(to->p, f->function);
	const char *linkage = prof_text(to->p, f->linkage);
	struct jeprof_sym y = {.line = f->line, .start = start};
	char *full = NULL;
	struct buf b = {0};

	y.file = strtab_add(&to->text, prof_text(to->p, f->file));
	if (f->linkage != 0 && to->rules.full_name != NULL)
		full = to->rules.full_name(linkage);
	y.full = strtab_add(&to->text, full != NULL ? full : name);
	if (peer_is_rust(linkage))
		buf_add_str(&b, name);
	else
		jeprof_short_name(&b, full != NULL ? full : name);
	y.func = strtab_addn(&to->text, buf_str(&b), b.len);
	/* The peer finds the address by name, and so not behind a return type. */
	y.tagged = start != 0 &&
		   strncmp(strtab_str(&to->text, y.full), buf_str(&b), b.len) == 0;
	*ret = y;
	buf_done(&b);
	free(full);
}

/* A place in a known module has a name that is the same in every run. */
static void
jeprof_set_unnamed(struct jeprof_frames *to, struct jeprof_sym *y,
		   const struct prof_loc *l, uint64_t at)
{
	const char *path = prof_text(to->p, to->p->modules[l->module].path);
	struct buf b = {0};

	if (l->module == 0 || path[0] == '\0')
		return;
	buf_printf(&b, "%s+0x%" PRIx64, file_base(path), at);
	y->func = y->full = strtab_addn(&to->text, buf_str(&b), b.len);
	buf_done(&b);
}

static void
jeprof_set_loc(struct jeprof_frames *to, uint32_t i, const uint64_t *bias)
{
	const struct prof_loc *l = &to->p->locs[i];
	struct jeprof_sym *syms = &to->syms[to->slots[i]];
	uint64_t at = l->offset - (!l->exact && l->offset > 0);

	to->locs[i].address = at + (l->module < to->p->nmodules ? bias[l->module] : 0);
	for (uint32_t k = 0; k < l->nframes; k++) {
		const struct prof_frame *f = &to->p->frames[l->frames + k];
		bool outermost = k + 1 == l->nframes;

		/* Formats that bring their names do not say where functions begin. */
		bool known = outermost && l->module != 0 && f->symbol_off != 0;

		jeprof_set_sym(to, &syms[k], f, known ? at - f->symbol_off : 0);
	}
	if (l->nframes == 0)
		jeprof_set_unnamed(to, &syms[0], l, at);
}

/* Where each module was loaded, for addresses as they were. */
static uint64_t *
jeprof_biases(const struct prof *p)
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
jeprof_find_ambiguous(struct jeprof_frames *f)
{
	struct map starts = {0};

	for (uint32_t i = 0; i < f->slots[f->p->nlocs]; i++) {
		const struct jeprof_sym *y = &f->syms[i];
		uint64_t *start;

		if (!y->tagged || y->func == 0)
			continue;
		start = map_add(&starts, y->func);
		if (*start == 0)
			*start = y->start;
		else if (*start != y->start)
			*map_add(&f->ambiguous, y->func) = 1;
	}
	map_done(&starts);
}

const struct jeprof_sym *
jeprof_function(const struct jeprof_frames *f, uint32_t loc)
{
	return &f->syms[f->slots[loc + 1] - 1];
}

/* ---- names of rows ---- */

void
jeprof_file_line(const struct jeprof_frames *f, const struct jeprof_sym *y, struct buf *b)
{
	if (y->file == 0)
		buf_add_str(b, "??:?");
	else
		buf_printf(b, "%s:%" PRIu32, strtab_str(&f->text, y->file), y->line);
}

void
jeprof_row_name(void *ctx, uint32_t loc, uint32_t inl, bool leaf, struct buf *out)
{
	const struct jeprof_frames *f = ctx;
	const struct jeprof_sym *y = &f->syms[f->slots[loc] + inl];
	/* The innermost address is that of the code, all others were one behind their
	 * calls. */
	uint64_t address = f->locs[loc].address + leaf;
	enum jeprof_grain grain = f->rules.grain;

	if (grain == JEPROF_FILES) {
		if (y->file == 0)
			buf_printf(out, "%016" PRIx64, address);
		else
			buf_add_str(out, strtab_str(&f->text, y->file));
		return;
	}
	if (grain == JEPROF_ADDRESSES)
		buf_printf(out, "%016" PRIx64 " ", address);
	if (y->func == 0)
		buf_printf(out, "0x%016" PRIx64, address);
	else
		buf_add_str(out, strtab_str(&f->text, y->func));
	if (y->func != 0 && y->tagged && map_find(&f->ambiguous, y->func) != NULL)
		buf_printf(out, "@%" PRIx64, y->start);
	if (y != jeprof_function(f, loc))
		buf_add_str(out, " (inline)");
	if (grain == JEPROF_LINES || grain == JEPROF_ADDRESSES) {
		buf_add_char(out, ' ');
		jeprof_file_line(f, y, out);
	}
	if (f->rules.show_addresses && grain != JEPROF_ADDRESSES)
		buf_printf(out, " (%016" PRIx64 ")", address);
}

/* ---- which frames are shown ---- */

/* What --focus and --ignore ask. */
static bool
jeprof_matches(const struct jeprof_frames *f, uint32_t loc, const struct re *re)
{
	struct buf b = {0};
	bool met = false;

	if (re == NULL)
		return false;
	buf_printf(&b, "%016" PRIx64, f->locs[loc].address);
	met = re_matches(re, buf_str(&b));
	for (uint32_t i = f->slots[loc]; i < f->slots[loc + 1] && !met; i++) {
		buf_clear(&b);
		jeprof_file_line(f, &f->syms[i], &b);
		met = re_matches(re, strtab_str(&f->text, f->syms[i].func)) ||
		      re_matches(re, buf_str(&b));
	}
	buf_done(&b);
	return met;
}

/* Does the real function of a location match? What --retain and --exclude ask. */
static bool
jeprof_function_matches(const struct jeprof_frames *f, uint32_t loc, const struct re *re)
{
	const struct jeprof_sym *y = jeprof_function(f, loc);
	char hex[24];

	snprintf(hex, sizeof hex, "0x%016" PRIx64, f->locs[loc].address);
	return re_matches(re, y->func != 0 ? strtab_str(&f->text, y->func) : hex);
}

static uint8_t
jeprof_flags(const struct jeprof_frames *f, uint32_t loc)
{
	const struct jeprof_loc *l = &f->locs[loc];
	const struct jeprof_rules *o = &f->rules;

	if (l->allocator)
		return FILTER_IS_HIDDEN | (o->google ? 0 : FILTER_IS_DROPPED);
	/* Beyond what user code can have: not code. */
	if (l->address >> 63 != 0 && f->p->locs[loc].nframes == 0)
		return FILTER_IS_HIDDEN;
	if ((o->retain != NULL && !jeprof_function_matches(f, loc, o->retain)) ||
	    (o->exclude != NULL && jeprof_function_matches(f, loc, o->exclude)))
		return FILTER_IS_HIDDEN;
	return (jeprof_matches(f, loc, o->focus) ? FILTER_IS_FOCUSED : 0) |
	       (jeprof_matches(f, loc, o->ignore) ? FILTER_IS_IGNORED : 0);
}

void
jeprof_frames_init(struct jeprof_frames *ret, const struct prof *p,
		   const struct jeprof_rules *o)
{
	struct jeprof_frames *f = ret;
	uint64_t *bias = jeprof_biases(p);
	bool *allocator = alloc_frames(p);

	*f = (struct jeprof_frames){.p = p, .rules = *o, .slots = filter_slots(p)};
	f->locs = xcalloc(p->nlocs, sizeof *f->locs);
	f->syms = xcalloc(f->slots[p->nlocs], sizeof *f->syms);
	f->flags = xcalloc(f->slots[p->nlocs], 1);
	for (uint32_t i = 0; i < p->nlocs; i++) {
		jeprof_set_loc(f, i, bias);
		f->locs[i].allocator =
			allocator[i] ||
			peer_is_allocator(
				strtab_str(&f->text, jeprof_function(f, i)->func),
				o->google);
		memset(f->flags + f->slots[i], jeprof_flags(f, i),
		       f->slots[i + 1] - f->slots[i]);
	}
	jeprof_find_ambiguous(f);
	free(allocator);
	free(bias);
}

void
jeprof_frames_done(struct jeprof_frames *f)
{
	strtab_done(&f->text);
	map_done(&f->ambiguous);
	free(f->slots);
	free(f->flags);
	free(f->syms);
	free(f->locs);
}
