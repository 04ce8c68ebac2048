/* SPDX-License-Identifier: MIT */
/* pprof_write.c -- a profile as pprof's protobuf.
 *
 * Tables come before the samples, so a file that was cut off still has its names. Every
 * module is one mapping that spans all addresses, with the ELF's own virtual addresses
 * inside: all pprofs take those as they are, whatever the layout of the file, and
 * processes that had the same code at different addresses need no more than one.
 * Addresses lie inside the call, not behind it, as profile.proto wants them.
 *
 * Written are the columns that the profile has. Those of seep alone (peak, temporary)
 * come first: a reader that is told nothing shows the last, which is what is live. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "pprof.h"
#include "pprof_impl.h"
#include "tool/format/emit_frame.h"
#include "tool/format/format_save.h"
#include "tool/model/named.h"
#include "tool/util/x.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

#define PPROF_REMARK "# written by seep "

enum {
	PPROF_PIECE_BYTES = 1 << 16,
	PPROF_TYPES_MAX = 8,
	PPROF_DEFLATE_LEVEL = 4, /* a third of the time of 6 for a twentieth more bytes */
	PPROF_GZIP_BITS = 15 + 16,
};

/* A function of the file, told apart by all three. */
struct pprof_fn {
	uint32_t name, system, file; /* strings of the file */
};

struct pprof_out {
	const struct prof *p;
	const struct format_save_opts *o;
	struct emit_out *to;
	struct err *e;
	struct strtab strings;	 /* the file's: ids are its indexes */
	uint32_t *known_strings; /* string of the profile -> of the file, 0 = not yet */
	struct strtab functions; /* of struct pprof_fn, as bytes: ids are the file's */
	const struct pprof_type *types[PPROF_TYPES_MAX];
	unsigned ntypes;
	uint32_t *mapping_ids;	       /* of modules; 0 = not written */
	uint32_t *location_ids;	       /* of locations; 0 = not written */
	uint64_t *block_bytes;	       /* of sites: the one size; 0 = not known */
	bool *has_names, *has_inlines; /* of modules */
	uint32_t process_key, bytes_key, type_key; /* strings of the file */
	struct buf tables;			   /* mappings, functions, locations */
	struct buf piece;			   /* on its way to the file */
	struct buf a, b;			   /* one message, one inside it */
	z_stream z;
	bool plain;
	int r;
};

/* ---- out ---- */

/* Compresses what has gathered. */
static void
pprof_deflate(struct pprof_out *w, bool last)
{
	int flush = last ? Z_FINISH : Z_NO_FLUSH;

	w->z.next_in = (unsigned char *)w->piece.data;
	w->z.avail_in = (unsigned)w->piece.len;
	do {
		w->z.next_out = (unsigned char *)buf_room(w->to->buf, PPROF_PIECE_BYTES);
		w->z.avail_out = PPROF_PIECE_BYTES;
		deflate(&w->z, flush);
		w->to->buf->len += PPROF_PIECE_BYTES - w->z.avail_out;
		w->to->buf->data[w->to->buf->len] = '\0';
	} while (w->z.avail_out == 0);
}

static void
pprof_flush(struct pprof_out *w, bool last)
{
	if (w->piece.len < PPROF_PIECE_BYTES && !last)
		return;
	if (w->plain)
		buf_add(w->to->buf, buf_str(&w->piece), w->piece.len);
	else
		pprof_deflate(w, last);
	buf_clear(&w->piece);
	if (w->r == 0)
		w->r = emit_flush(w->to, false, w->e);
}

/* ---- strings and functions ---- */

static uint32_t
pprof_put_string(struct pprof_out *w, uint32_t id)
{
	if (id == 0)
		return 0;
	if (w->known_strings[id] == 0)
		w->known_strings[id] =
			strtab_addn(&w->strings, strtab_str(w->p->strings, id),
				    strtab_len(w->p->strings, id));
	return w->known_strings[id];
}

static uint32_t
pprof_put_function(struct pprof_out *w, uint32_t name, uint32_t system, uint32_t file)
{
	struct pprof_fn fn = {name, system, file};

	return strtab_addn(&w->functions, &fn, sizeof fn);
}

/* ---- tables ---- */

/* A line of a location that has only words, or a name that is not known. */
static void
pprof_put_unnamed(struct pprof_out *w, const struct prof_loc *l, uint32_t line,
		  uint32_t file)
{
	struct buf text = {0};
	uint32_t name;

	emit_frame_unnamed(w->p, l, &text);
	name = strtab_addn(&w->strings, text.data, text.len);
	buf_clear(&w->b);
	pb_put(&w->b, LINE_FUNCTION, pprof_put_function(w, name, 0, file));
	pb_put(&w->b, LINE_LINE, line);
	pb_put_message(&w->a, LOCATION_LINE, &w->b);
	buf_done(&text);
}

static void
pprof_put_lines(struct pprof_out *w, const struct prof_loc *l)
{
	for (uint32_t i = 0; i < l->nframes; i++) {
		const struct prof_frame *f = &w->p->frames[l->frames + i];
		uint32_t file = pprof_put_string(w, f->file), name;

		if (f->function == 0) {
			pprof_put_unnamed(w, l, f->line, file);
			continue;
		}
		/* Without a name of the symbol table the system's stays empty: where both
		 * are the same, pprof takes it for a mangled one and cuts it. */
		name = pprof_put_string(w, f->function);
		buf_clear(&w->b);
		pb_put(&w->b, LINE_FUNCTION,
		       pprof_put_function(w, name, pprof_put_string(w, f->linkage),
					  file));
		pb_put(&w->b, LINE_LINE, f->line);
		pb_put_message(&w->a, LOCATION_LINE, &w->b);
		w->has_inlines[l->module] |= f->inlined;
	}
	if (l->nframes > 0)
		w->has_names[l->module] = true;
	else if (l->kind != PROF_LOC_CODE)
		pprof_put_unnamed(w, l, 0, 0);
}

static void
pprof_put_location(struct pprof_out *w, uint32_t loc)
{
	const struct prof_loc *l = &w->p->locs[loc];
	uint64_t address = 0;

	if (l->kind == PROF_LOC_CODE && !named_is(w->p, loc))
		address = l->offset - (!l->exact && l->offset > 0 ? 1 : 0);
	buf_clear(&w->a);
	pb_put(&w->a, LOCATION_ID, w->location_ids[loc]);
	pb_put(&w->a, LOCATION_MAPPING, w->mapping_ids[l->module]);
	pb_put(&w->a, LOCATION_ADDRESS, address);
	pprof_put_lines(w, l);
	pb_put_message(&w->tables, PPROF_LOCATION, &w->a);
}

static void
pprof_put_functions(struct pprof_out *w)
{
	for (uint32_t i = 1; i < strtab_count(&w->functions); i++) {
		struct pprof_fn fn;

		memcpy(&fn, strtab_str(&w->functions, i), sizeof fn);
		buf_clear(&w->a);
		pb_put(&w->a, FUNCTION_ID, i);
		pb_put(&w->a, FUNCTION_NAME, fn.name);
		pb_put(&w->a, FUNCTION_SYSTEM, fn.system);
		pb_put(&w->a, FUNCTION_FILE, fn.file);
		pb_put_message(&w->tables, PPROF_FUNCTION, &w->a);
	}
}

/* pprof takes names for granted only where all three are said to be there, and would look
 * for others of its own otherwise. */
static void
pprof_put_mapping(struct pprof_out *w, uint32_t module)
{
	const struct prof_module *m = &w->p->modules[module];
	struct buf hex = {0};

	for (unsigned i = 0; i < m->build_id_bytes; i++)
		buf_printf(&hex, "%02x", m->build_id[i]);
	buf_add_str(&hex, prof_text(w->p, m->other_id));
	buf_clear(&w->a);
	pb_put(&w->a, MAPPING_ID, w->mapping_ids[module]);
	pb_put(&w->a, MAPPING_LIMIT, UINT64_MAX);
	pb_put(&w->a, MAPPING_FILE, pprof_put_string(w, m->path));
	if (hex.len > 0)
		pb_put(&w->a, MAPPING_BUILD_ID,
		       strtab_addn(&w->strings, hex.data, hex.len));
	pb_put(&w->a, MAPPING_HAS_FUNCTIONS, w->has_names[module]);
	pb_put(&w->a, MAPPING_HAS_FILES, w->has_names[module]);
	pb_put(&w->a, MAPPING_HAS_LINES, w->has_names[module]);
	pb_put(&w->a, MAPPING_HAS_INLINES, w->has_inlines[module]);
	pb_put_message(&w->tables, PPROF_MAPPING, &w->a);
	buf_done(&hex);
}

/* The main program's module, which readers expect first; 0 = not known. */
static uint32_t
pprof_program(const struct prof *p)
{
	for (uint32_t k = 1; k < p->nprocesses; k++) {
		for (uint32_t i = 1; p->processes[k].exe != 0 && i < p->nmodules; i++) {
			if (p->modules[i].path == p->processes[k].exe)
				return i;
		}
	}
	return 0;
}

/* Numbers the locations that are part of a stack, and their modules. */
static void
pprof_number(struct pprof_out *w)
{
	const struct prof *p = w->p;
	bool *used = xcalloc(p->nnodes, sizeof *used);
	uint32_t nlocations = 0, nmappings = 0;
	uint32_t program = pprof_program(p);

	if (program != 0)
		w->mapping_ids[program] = ++nmappings;
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t node = emit_start_of(p, w->o, i).node;

		for (; node != 0 && !used[node]; node = emit_caller(p, w->o, node)) {
			uint32_t loc = p->nodes[node].loc;
			uint32_t module = p->locs[loc].module;

			used[node] = true;
			if (w->location_ids[loc] == 0)
				w->location_ids[loc] = ++nlocations;
			if (module != 0 && w->mapping_ids[module] == 0)
				w->mapping_ids[module] = ++nmappings;
		}
	}
	free(used);
}

static void
pprof_put_tables(struct pprof_out *w)
{
	const struct prof *p = w->p;
	uint32_t *order = xcalloc((size_t)p->nmodules + 1, sizeof *order);

	pprof_number(w);
	for (uint32_t i = 0; i < p->nlocs; i++) {
		if (w->location_ids[i] != 0)
			pprof_put_location(w, i);
	}
	pprof_put_functions(w);
	for (uint32_t i = 1; i < p->nmodules; i++)
		order[w->mapping_ids[i]] = i;
	for (uint32_t i = 1; i <= p->nmodules && order[i] != 0; i++)
		pprof_put_mapping(w, order[i]);
	free(order);
}

/* ---- samples ---- */

/* Sizes of blocks where they are one and the same: every live block is known, and all
 * that were allocated add up to it. */
static void
pprof_block_sizes(struct pprof_out *w)
{
	const struct prof *p = w->p;
	int64_t *seen = xcalloc(p->nsites, sizeof *seen);

	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *b = &p->blocks[i];
		uint64_t *bytes = &w->block_bytes[b->site];

		*bytes = seen[b->site] == 0 || *bytes == b->bytes ? b->bytes : 0;
		seen[b->site]++;
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];

		if (seen[i] != s->live_blocks || s->allocs == 0 ||
		    s->alloc_bytes / s->allocs != w->block_bytes[i] ||
		    s->alloc_bytes % s->allocs != 0)
			w->block_bytes[i] = 0;
	}
	free(seen);
}

static void
pprof_put_label(struct pprof_out *w, uint32_t key, uint32_t text, int64_t number,
		uint32_t unit)
{
	buf_clear(&w->b);
	pb_put(&w->b, LABEL_KEY, key);
	pb_put(&w->b, LABEL_STR, text);
	pb_put(&w->b, LABEL_NUM, (uint64_t)number);
	pb_put(&w->b, LABEL_UNIT, unit);
	pb_put_message(&w->a, SAMPLE_LABEL, &w->b);
}

/* "name 4711": which of several processes it was. */
static uint32_t
pprof_process_text(struct pprof_out *w, uint32_t process)
{
	const struct prof_process *pr = &w->p->processes[process];
	const char *exe = prof_text(w->p, pr->exe);
	const char *slash = strrchr(exe, '/');
	struct buf text = {0};
	uint32_t id;

	buf_printf(&text, "%s %u", slash != NULL ? slash + 1 : exe, pr->pid);
	id = strtab_addn(&w->strings, text.data, text.len);
	buf_done(&text);
	return id;
}

/* Labels of a site: a list that begins at first[site]. Units that every reader knows are
 * not written, as nobody does. */
static void
pprof_put_labels(struct pprof_out *w, uint32_t site, const uint32_t *first,
		 const uint32_t *next)
{
	const struct prof *p = w->p;
	bool has_bytes = false;

	for (uint32_t i = first[site]; i != 0; i = next[i]) {
		const struct prof_label *x = &p->labels[i - 1];
		bool plain = pprof_label_in_bytes(prof_text(p, x->key));

		pprof_put_label(w, pprof_put_string(w, x->key),
				pprof_put_string(w, x->text), x->number,
				plain ? 0 : pprof_put_string(w, x->unit));
		has_bytes = has_bytes || pprof_put_string(w, x->key) == w->bytes_key;
	}
	if (p->sites[site].type != 0)
		pprof_put_label(w, w->type_key, pprof_put_string(w, p->sites[site].type),
				0, 0);
	if (!has_bytes && w->block_bytes[site] != 0)
		pprof_put_label(w, w->bytes_key, 0, (int64_t)w->block_bytes[site], 0);
	if (w->process_key != 0 && p->sites[site].process != 0)
		pprof_put_label(w, w->process_key,
				pprof_process_text(w, p->sites[site].process), 0, 0);
}

/* Values of a site into w->b; false when all are 0. */
static bool
pprof_put_values(struct pprof_out *w, const struct prof_site *s)
{
	bool some = false;

	buf_clear(&w->b);
	for (unsigned i = 0; i < w->ntypes; i++) {
		int64_t v = pprof_type_get(w->types[i], s);

		some = some || v != 0;
		pb_put_varint(&w->b, (uint64_t)v);
	}
	return some;
}

static void
pprof_put_sample(struct pprof_out *w, uint32_t site, const uint32_t *first,
		 const uint32_t *next)
{
	const struct prof *p = w->p;
	uint32_t node = emit_start_of(p, w->o, site).node;

	if (!pprof_put_values(w, &p->sites[site]))
		return;
	buf_clear(&w->a);
	pb_put_message(&w->a, SAMPLE_VALUE, &w->b);
	buf_clear(&w->b);
	for (; node != 0; node = emit_caller(p, w->o, node))
		pb_put_varint(&w->b, w->location_ids[p->nodes[node].loc]);
	if (w->b.len > 0)
		pb_put_message(&w->a, SAMPLE_LOCATION, &w->b);
	pprof_put_labels(w, site, first, next);
	pb_put_message(&w->piece, PPROF_SAMPLE, &w->a);
	pprof_flush(w, false);
}

/* Strings that only samples use must be in the table before it is written. */
static void
pprof_sample_strings(struct pprof_out *w)
{
	const struct prof *p = w->p;

	w->bytes_key = strtab_add(&w->strings, "bytes");
	for (uint32_t i = 0; i < p->nlabels; i++) {
		pprof_put_string(w, p->labels[i].key);
		pprof_put_string(w, p->labels[i].text);
		pprof_put_string(w, p->labels[i].unit);
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (pprof_put_string(w, p->sites[i].type) != 0 && w->type_key == 0)
			w->type_key = strtab_add(&w->strings, "type");
	}
	if (p->nprocesses <= 2)
		return;
	w->process_key = strtab_add(&w->strings, "process");
	for (uint32_t i = 1; i < p->nprocesses; i++)
		pprof_process_text(w, i);
}

static void
pprof_put_samples(struct pprof_out *w)
{
	const struct prof *p = w->p;
	uint32_t *first = xcalloc(p->nsites, sizeof *first);
	uint32_t *next = xcalloc((size_t)p->nlabels + 1, sizeof *next);

	for (uint32_t i = p->nlabels; i > 0; i--) {
		uint32_t site = p->labels[i - 1].site;

		next[i] = first[site];
		first[site] = i;
	}
	for (uint32_t i = 1; i < p->nsites && w->r == 0; i++)
		pprof_put_sample(w, i, first, next);
	free(first);
	free(next);
}

/* ---- the rest ---- */

static void
pprof_put_type(struct pprof_out *w, unsigned number, const char *name, const char *unit)
{
	buf_clear(&w->a);
	pb_put(&w->a, TYPE_TYPE, strtab_add(&w->strings, name));
	pb_put(&w->a, TYPE_UNIT, strtab_add(&w->strings, unit));
	pb_put_message(&w->piece, number, &w->a);
}

static void
pprof_put_types(struct pprof_out *w)
{
	for (const struct pprof_type *t = pprof_types; t->name != NULL; t++) {
		if (t->column == NULL || (w->p->columns & t->has) == 0)
			continue;
		w->types[w->ntypes++] = t;
		pprof_put_type(w, PPROF_SAMPLE_TYPE, t->name,
			       t->bytes ? "bytes" : "count");
	}
}

/* What a reader shows first: what was asked for, else what the profile was made to show,
 * else the last, as ever. */
static uint32_t
pprof_default_type(struct pprof_out *w)
{
	enum prof_value value = emit_choose(w->p, w->o);
	static const char *const names[][2] = {
		[PROF_LIVE] = {"inuse_space", "inuse_objects"},
		[PROF_PEAK] = {"peak_space", "peak_objects"},
		[PROF_ALLOCATED] = {"alloc_space", "alloc_objects"},
		[PROF_TEMPORARY] = {"temporary_space", "temporary_objects"},
	};

	return strtab_add(&w->strings, names[value][w->o->objects]);
}

/* One comment a line, without what an earlier conversion remarked. */
static void
pprof_put_comments(struct pprof_out *w)
{
	const char *line = prof_text(w->p, w->p->comments);

	while (*line != '\0') {
		size_t n = strcspn(line, "\n");

		if (n > 0 && strncmp(line, PPROF_REMARK, sizeof PPROF_REMARK - 1) != 0)
			pb_put(&w->piece, PPROF_COMMENT,
			       strtab_addn(&w->strings, line, n));
		line += n + (line[n] == '\n');
	}
	pb_put(&w->piece, PPROF_COMMENT,
	       strtab_add(&w->strings, PPROF_REMARK SEEP_VERSION));
}

/* Distance of samples: 1 says that every allocation counted. Left out where it is not
 * known. */
static uint64_t
pprof_period(const struct prof *p)
{
	uint64_t period = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].mode == PROF_SAMPLED &&
		    p->processes[i].rate_bytes > period)
			period = p->processes[i].rate_bytes;
		else if (p->processes[i].mode == PROF_EXACT && period == 0)
			period = 1;
	}
	return period;
}

static uint64_t
pprof_time(const struct prof *p)
{
	const struct prof_process *pr = &p->processes[p->nprocesses > 1 ? 1 : 0];

	if (p->time_ns != 0)
		return p->time_ns;
	return pr->start_ns != 0 ? pr->start_ns + pr->duration_ms * 1000000 : 0;
}

/* All but the samples. Every string must be in its table by the end of this. */
static void
pprof_put_head(struct pprof_out *w)
{
	uint64_t period = pprof_period(w->p);

	pprof_put_types(w);
	pb_put(&w->piece, PPROF_DROP_FRAMES, pprof_put_string(w, w->p->drop_frames));
	pb_put(&w->piece, PPROF_KEEP_FRAMES, pprof_put_string(w, w->p->keep_frames));
	pb_put(&w->piece, PPROF_TIME, pprof_time(w->p));
	if (period != 0) {
		pprof_put_type(w, PPROF_PERIOD_TYPE, "space", "bytes");
		pb_put(&w->piece, PPROF_PERIOD, period);
	}
	pprof_put_comments(w);
	pb_put(&w->piece, PPROF_DEFAULT_TYPE, pprof_default_type(w));
	pprof_put_tables(w);
	pprof_sample_strings(w);
	for (uint32_t i = 0; i < strtab_count(&w->strings); i++) {
		pb_put_bytes(&w->piece, PPROF_STRING, strtab_str(&w->strings, i),
			     strtab_len(&w->strings, i));
		pprof_flush(w, false);
	}
	buf_add(&w->piece, buf_str(&w->tables), w->tables.len);
	pprof_flush(w, false);
}

static void
pprof_out_done(struct pprof_out *w)
{
	strtab_done(&w->strings);
	strtab_done(&w->functions);
	free(w->known_strings);
	free(w->mapping_ids);
	free(w->location_ids);
	free(w->block_bytes);
	free(w->has_names);
	free(w->has_inlines);
	buf_done(&w->tables);
	buf_done(&w->piece);
	buf_done(&w->a);
	buf_done(&w->b);
}

int
pprof_write(const struct prof *p, const struct format_save_opts *o, bool plain,
	    struct emit_out *out, struct err *e)
{
	struct pprof_out w = {.p = p, .o = o, .to = out, .e = e, .plain = plain};

	if (!plain && deflateInit2(&w.z, PPROF_DEFLATE_LEVEL, Z_DEFLATED, PPROF_GZIP_BITS,
				   8, Z_DEFAULT_STRATEGY) != Z_OK)
		return err_set(e, -ENOMEM, "cannot set up compression");
	w.known_strings = xcalloc(strtab_count(p->strings), sizeof *w.known_strings);
	w.mapping_ids = xcalloc(p->nmodules, sizeof *w.mapping_ids);
	w.location_ids = xcalloc(p->nlocs, sizeof *w.location_ids);
	w.block_bytes = xcalloc(p->nsites, sizeof *w.block_bytes);
	w.has_names = xcalloc(p->nmodules, sizeof *w.has_names);
	w.has_inlines = xcalloc(p->nmodules, sizeof *w.has_inlines);
	pprof_block_sizes(&w);
	pprof_put_head(&w);
	pprof_put_samples(&w);
	pprof_flush(&w, true);
	if (!plain)
		deflateEnd(&w.z);
	pprof_out_done(&w);
	return w.r;
}
