/* SPDX-License-Identifier: MIT */
/* pprof_read.c -- a pprof profile becomes a profile of ours.
 *
 * The file is one message, held in memory as bytes and walked several times
 * (pprof_tables.c); samples come last, each decoded where it lies. Stacks of neighbouring
 * samples share their outer part in most files, so that part is not looked up again. A
 * sample is a site; samples with the same stack and no labels are one.
 *
 * What a sample or a table refers to and the file does not have is left out and counted.
 * Values are what their writer estimated them to be: nothing is scaled here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pprof.h"
#include "pprof_impl.h"
#include "shared/compiler.h"
#include "tool/format/format.h"
#include "tool/format/format_save.h"
#include "tool/format/input.h"
#include "tool/util/buf.h"
#include "tool/util/x.h"

/* ---- what it looks like ---- */

/* Kinds that a field of the outer message can be, one bit each. */
static const uint8_t pprof_kinds[PPROF_DOC_URL + 1] = {
	[PPROF_SAMPLE_TYPE] = 1 << PB_BYTES,
	[PPROF_SAMPLE] = 1 << PB_BYTES,
	[PPROF_MAPPING] = 1 << PB_BYTES,
	[PPROF_LOCATION] = 1 << PB_BYTES,
	[PPROF_FUNCTION] = 1 << PB_BYTES,
	[PPROF_STRING] = 1 << PB_BYTES,
	[PPROF_DROP_FRAMES] = 1 << PB_VARINT,
	[PPROF_KEEP_FRAMES] = 1 << PB_VARINT,
	[PPROF_TIME] = 1 << PB_VARINT,
	[PPROF_DURATION] = 1 << PB_VARINT,
	[PPROF_PERIOD_TYPE] = 1 << PB_BYTES,
	[PPROF_PERIOD] = 1 << PB_VARINT,
	[PPROF_COMMENT] = 1 << PB_VARINT | 1 << PB_BYTES,
	[PPROF_DEFAULT_TYPE] = 1 << PB_VARINT,
	[PPROF_DOC_URL] = 1 << PB_VARINT,
};

/* How many fields the inner messages have, all numbered from 1. */
static const uint8_t pprof_inner[PPROF_DOC_URL + 1] = {
	[PPROF_SAMPLE_TYPE] = 2, [PPROF_SAMPLE] = 3,   [PPROF_MAPPING] = 10,
	[PPROF_LOCATION] = 5,	 [PPROF_FUNCTION] = 5, [PPROF_PERIOD_TYPE] = 2,
};

static bool
pprof_looks_inner(const struct pb_field *f)
{
	struct cur c = pb_message(f);
	struct pb_field x;

	while (pb_next(&c, &x)) {
		if (x.number > pprof_inner[f->number])
			return false;
	}
	return cur_ok(&c);
}

bool
pprof_detect(const void *head, size_t bytes)
{
	struct cur c = cur_init(head, bytes);
	struct pb_field f;
	bool some = false;

	while (pb_next(&c, &f)) {
		if (f.number > PPROF_DOC_URL ||
		    (pprof_kinds[f.number] & 1u << f.kind) == 0)
			return false;
		if (pprof_inner[f.number] == 0)
			continue;
		if (!pprof_looks_inner(&f))
			return false;
		some = some || (f.number == PPROF_SAMPLE_TYPE && f.bytes > 0);
	}
	/* The last field may go on behind these bytes. */
	return some && (cur_ok(&c) || strcmp(c.why, "ends too soon") == 0 ||
			strcmp(c.why, "number that does not end") == 0);
}

/* ---- sample types ---- */

struct pprof_samples {
	struct pprof_in *in;
	VEC(const struct pprof_type *) types; /* NULL = of no use to us */
	VEC(uint32_t) stack; /* locations of a sample, outermost last, as in the file */
	VEC(int64_t) values;
	VEC(uint32_t) last;	    /* the sample before, outermost first */
	VEC(uint32_t) nodes;	    /* and its nodes */
	VEC(uint32_t) site_of_node; /* of samples without labels; 0 = none */
	uint64_t bad_samples, bad_locations, bad_values;
	uint32_t nlabels; /* of the sample */
};

/* A sample type's name and unit, as strings of the profile. */
static void
pprof_type_words(struct pprof_in *in, const struct pb_field *f, uint32_t *ret_name,
		 uint32_t *ret_unit)
{
	struct cur c = pb_message(f);
	struct pb_field x;

	*ret_name = *ret_unit = 0;
	while (pb_next(&c, &x)) {
		if (x.number == TYPE_TYPE && x.kind == PB_VARINT)
			*ret_name = pprof_string(in, x.value);
		else if (x.number == TYPE_UNIT && x.kind == PB_VARINT)
			*ret_unit = pprof_string(in, x.value);
	}
}

/* Reads the types; refuses a profile that has none of memory's and says what it has. */
static int
pprof_read_types(struct pprof_in *in, struct pprof_samples *s, struct err *e)
{
	struct cur c = cur_init(in->data, in->bytes);
	struct buf found = {0};
	struct pb_field f;
	int columns = 0, r = 0;

	while (pb_next(&c, &f)) {
		const struct pprof_type *t;
		uint32_t name, unit;

		if (f.number != PPROF_SAMPLE_TYPE || f.kind != PB_BYTES)
			continue;
		pprof_type_words(in, &f, &name, &unit);
		t = pprof_type_find(prof_text(in->p, name), prof_text(in->p, unit));
		vec_push(&s->types, t);
		if (t != NULL)
			columns |= t->has;
		if (found.len < 300)
			buf_printf(&found, "%s%s/%s", found.len > 0 ? ", " : "",
				   prof_text(in->p, name), prof_text(in->p, unit));
	}
	if (s->types.len == 0)
		r = err_set(e, -EINVAL, "pprof profile without sample types");
	else if (columns == 0)
		r = err_set(e, -EINVAL, "pprof profile, but not of memory: it has %s",
			    buf_str(&found));
	in->p->columns = columns;
	buf_done(&found);
	return r;
}

/* ---- samples ---- */

static void
pprof_sample_location(struct pprof_samples *s, uint64_t id)
{
	uint32_t row = pprof_ids_find(&s->in->location_ids, id);

	if (row == UINT32_MAX)
		s->bad_locations++;
	else
		vec_push(&s->stack, s->in->locations[row]);
}

/* Locations and values, packed or one by one; false when the bytes make no sample. */
static bool
pprof_sample_read(struct pprof_samples *s, const struct pb_field *f)
{
	struct cur c = pb_message(f);
	struct pb_field x;

	s->stack.len = s->values.len = s->nlabels = 0;
	while (pb_next(&c, &x)) {
		struct cur list = pb_message(&x);

		if (x.number == SAMPLE_LABEL && x.kind == PB_BYTES) {
			s->nlabels++;
		} else if (x.number != SAMPLE_LOCATION && x.number != SAMPLE_VALUE) {
			continue;
		} else if (x.kind == PB_VARINT && x.number == SAMPLE_LOCATION) {
			pprof_sample_location(s, x.value);
		} else if (x.kind == PB_VARINT) {
			vec_push(&s->values, (int64_t)x.value);
		} else if (x.kind != PB_BYTES) {
			return false;
		} else if (x.number == SAMPLE_LOCATION) {
			vec_reserve(&s->stack, s->stack.len + x.bytes);
			while (cur_left(&list) > 0)
				pprof_sample_location(s, pb_varint(&list));
		} else {
			while (cur_left(&list) > 0)
				vec_push(&s->values, (int64_t)pb_varint(&list));
		}
		if (!cur_ok(&list))
			return false;
	}
	return cur_ok(&c) && s->values.len == s->types.len;
}

/* Node of the stack that was read. */
static uint32_t
pprof_sample_node(struct pprof_samples *s)
{
	size_t n = s->stack.len;
	size_t same = 0;
	uint32_t node = 0;

	while (same < n && same < s->last.len &&
	       s->last.data[same] == s->stack.data[n - 1 - same])
		same++;
	if (same > 0)
		node = s->nodes.data[same - 1];
	s->last.len = s->nodes.len = same;
	for (size_t i = same; i < n; i++) {
		uint32_t loc = s->stack.data[n - 1 - i];

		node = prof_node(s->in->p, node, loc);
		vec_push(&s->last, loc);
		vec_push(&s->nodes, node);
	}
	return node;
}

/* Some writers repeat a label for every frame. */
enum { PPROF_LABELS_COMPARED = 8 };

static bool
pprof_label_known(const struct prof *p, const struct prof_label *x, uint32_t first)
{
	for (uint32_t i = p->nlabels; i > first && p->nlabels - i < PPROF_LABELS_COMPARED;
	     i--) {
		const struct prof_label *y = &p->labels[i - 1];

		if (x->key == y->key && x->text == y->text && x->number == y->number &&
		    x->unit == y->unit)
			return true;
	}
	return false;
}

static void
pprof_label(struct pprof_in *in, const struct pb_field *f, uint32_t site, uint32_t first)
{
	struct cur c = pb_message(f);
	struct prof_label x = {.site = site};
	struct pb_field v;
	uint32_t row;

	while (pb_next(&c, &v)) {
		if (v.kind != PB_VARINT)
			in->bad_fields++;
		else if (v.number == LABEL_KEY)
			x.key = pprof_string(in, v.value);
		else if (v.number == LABEL_STR)
			x.text = pprof_string(in, v.value);
		else if (v.number == LABEL_NUM)
			x.number = (int64_t)v.value;
		else if (v.number == LABEL_UNIT)
			x.unit = pprof_string(in, v.value);
	}
	if (!cur_ok(&c) || x.key == 0) {
		in->bad_fields++;
		return;
	}
	if (x.text == 0 && x.unit == 0 && pprof_label_in_bytes(prof_text(in->p, x.key)))
		x.unit = prof_str(in->p, "bytes");
	if (pprof_label_known(in->p, &x, first))
		return;
	row = prof_add_label(in->p);
	in->p->labels[row] = x;
}

static void
pprof_labels(struct pprof_in *in, const struct pb_field *f, uint32_t site)
{
	struct cur c = pb_message(f);
	uint32_t first = in->p->nlabels;
	struct pb_field x;

	while (pb_next(&c, &x)) {
		if (x.number == SAMPLE_LABEL && x.kind == PB_BYTES)
			pprof_label(in, &x, site, first);
	}
}

/* The site for a stack without labels: there is one. */
static uint32_t *
pprof_site_of(struct pprof_samples *s, uint32_t node)
{
	while (s->site_of_node.len <= node) {
		vec_reserve(&s->site_of_node, (size_t)node + 1);
		memset(s->site_of_node.data + s->site_of_node.len, 0,
		       (s->site_of_node.cap - s->site_of_node.len) *
			       sizeof *s->site_of_node.data);
		s->site_of_node.len = s->site_of_node.cap;
	}
	return &s->site_of_node.data[node];
}

/* Go writes stacks that have nothing any more. */
static bool
pprof_sample_is_empty(const struct pprof_samples *s)
{
	for (size_t i = 0; i < s->types.len; i++) {
		if (s->types.data[i] != NULL && s->values.data[i] != 0)
			return false;
	}
	return true;
}

static void
pprof_sample(struct pprof_samples *s, const struct pb_field *f)
{
	struct prof *p = s->in->p;
	uint32_t node, site = 0, *known = NULL;

	if (f->kind != PB_BYTES || !pprof_sample_read(s, f)) {
		s->bad_samples++;
		return;
	}
	if (pprof_sample_is_empty(s))
		return;
	node = pprof_sample_node(s);
	if (s->nlabels == 0) {
		known = pprof_site_of(s, node);
		site = *known;
	}
	if (site == 0) {
		site = prof_add_site(p);
		p->sites[site].process = 1;
		p->sites[site].node = node;
		if (known != NULL)
			*known = site;
	}
	for (size_t i = 0; i < s->types.len; i++) {
		if (s->types.data[i] != NULL &&
		    !pprof_type_add(s->types.data[i], &p->sites[site], s->values.data[i]))
			s->bad_values++;
	}
	if (s->nlabels > 0)
		pprof_labels(s->in, f, site);
}

static void
pprof_read_samples(struct pprof_in *in, struct pprof_samples *s)
{
	struct cur c = cur_init(in->data, in->bytes);
	struct pb_field f;

	while (pb_next(&c, &f)) {
		if (f.number == PPROF_SAMPLE)
			pprof_sample(s, &f);
	}
}

/* ---- the rest ---- */

static void
pprof_comment(struct pprof_in *in, struct buf *all, uint64_t index)
{
	const char *text = prof_text(in->p, pprof_string(in, index));

	/* A few bytes can name one text very often. */
	if (*text == '\0' || all->len > in->bytes)
		return;
	if (all->len > 0)
		buf_add_char(all, '\n');
	buf_add_str(all, text);
}

/* The mean distance of samples, where the period is one of bytes. */
static void
pprof_period(struct pprof_in *in, uint64_t period, const char *unit)
{
	struct prof_process *pr = &in->p->processes[1];

	if (period == 0 || period > INT64_MAX || strncmp(unit, "byte", 4) != 0)
		return; /* sampled or not: the file does not say */
	pr->mode = period > 1 ? PROF_SAMPLED : PROF_EXACT;
	pr->rate_bytes = period > 1 ? period : 0;
}

static void
pprof_read_rest(struct pprof_in *in)
{
	struct cur c = cur_init(in->data, in->bytes);
	struct prof *p = in->p;
	uint32_t name, unit = 0;
	struct buf comments = {0};
	uint64_t period = 0;
	struct pb_field f;

	while (pb_next(&c, &f)) {
		if (f.number == PPROF_TIME)
			p->time_ns = f.value <= INT64_MAX ? f.value : 0;
		else if (f.number == PPROF_DURATION && f.value <= INT64_MAX)
			p->processes[1].duration_ms = f.value / 1000000;
		else if (f.number == PPROF_DROP_FRAMES)
			p->drop_frames = pprof_string(in, f.value);
		else if (f.number == PPROF_KEEP_FRAMES)
			p->keep_frames = pprof_string(in, f.value);
		else if (f.number == PPROF_DEFAULT_TYPE)
			p->default_type = pprof_string(in, f.value);
		else if (f.number == PPROF_PERIOD)
			period = f.value;
		else if (f.number == PPROF_PERIOD_TYPE && f.kind == PB_BYTES)
			pprof_type_words(in, &f, &name, &unit);
		else if (f.number == PPROF_COMMENT && f.kind == PB_VARINT)
			pprof_comment(in, &comments, f.value);
		else if (f.number == PPROF_COMMENT && f.kind == PB_BYTES) {
			struct cur list = pb_message(&f);

			while (cur_left(&list) > 0)
				pprof_comment(in, &comments, pb_varint(&list));
		}
	}
	p->comments = prof_strn(p, buf_str(&comments), comments.len);
	pprof_period(in, period, prof_text(p, unit));
	buf_done(&comments);
}

/* Counts the fields; false when the file ends inside one. */
static int
pprof_count(struct pprof_in *in, struct err *e)
{
	struct cur c = cur_init(in->data, in->bytes);
	struct pb_field f;

	while (pb_next(&c, &f)) {
		if (f.number <= PPROF_DOC_URL)
			in->counts[f.number]++;
	}
	if (in->counts[PPROF_TIME] > 1)
		return err_set(e, -EINVAL,
			       "two pprof profiles one behind the other, not one");
	if (!cur_ok(&c) && in->counts[PPROF_SAMPLE] > 0 && in->counts[PPROF_STRING] > 0) {
		/* What lies before is whole. */
		in->bytes = c.fail_off;
		prof_add_damage(in->p, "pprof profile that breaks off", 1);
		return 0;
	}
	if (!cur_ok(&c))
		return err_set(e, -EINVAL, "pprof profile, but byte %zu %s", c.fail_off,
			       c.why);
	return 0;
}

/* Totals of the one process, and what could not be read. */
static void
pprof_finish(struct pprof_in *in, const struct pprof_samples *s)
{
	struct prof *p = in->p;
	struct prof_process *pr = &p->processes[1];

	for (uint32_t i = 1; i < p->nsites; i++) {
		pr->live_bytes = emit_sum(pr->live_bytes, p->sites[i].live_bytes);
		pr->peak_bytes = emit_sum(pr->peak_bytes, p->sites[i].at_peak_bytes);
		p->sites[i].peak_bytes = p->sites[i].at_peak_bytes;
	}
	pr->start_ns = p->time_ns;
	if (in->nmappings > 0)
		pr->exe = p->modules[in->mappings[0].module].path;
	p->has_names = !in->nameless;
	p->format = prof_str(p, "pprof");
	prof_add_damage(p, "samples that do not fit their types", s->bad_samples);
	prof_add_damage(p, "frames that are not in the file", s->bad_locations);
	prof_add_damage(p, "values out of range", s->bad_values);
	prof_add_damage(p, "strings that are not in the file", in->bad_strings);
	prof_add_damage(p, "ids that are missing or taken", in->bad_ids);
	prof_add_damage(p, "fields of the wrong kind", in->bad_fields);
}

int
pprof_load(const void *data, size_t bytes, struct prof *p, struct err *e)
{
	struct pprof_in in = {.data = data, .bytes = bytes, .p = p};
	struct pprof_samples s = {.in = &in};
	int r;

	if (bytes > UINT32_MAX)
		return err_set(e, -EFBIG, "pprof profile of more than 4 GiB");
	r = pprof_count(&in, e);
	if (r == 0) {
		prof_add_process(p);
		pprof_read_strings(&in);
		r = pprof_read_types(&in, &s, e);
	}
	if (r == 0) {
		pprof_read_tables(&in);
		pprof_read_samples(&in, &s);
		pprof_read_rest(&in);
		pprof_finish(&in, &s);
	}
	vec_done(&s.types);
	vec_done(&s.stack);
	vec_done(&s.values);
	vec_done(&s.last);
	vec_done(&s.nodes);
	vec_done(&s.site_of_node);
	pprof_in_done(&in);
	return r;
}

/* The program that the user named stands for the main binary, which is the first
 * mapping. */
static void
pprof_name_program(struct prof *p, const char *exe)
{
	for (uint32_t i = 1; i < p->nmodules; i++) {
		if (p->modules[i].path == p->processes[1].exe &&
		    p->modules[i].build_id_bytes == 0) {
			p->modules[i].path = prof_str(p, exe);
			p->processes[1].exe = p->modules[i].path;
			return;
		}
	}
}

static int
pprof_parse(struct input *in, const struct format_opts *o, struct prof *p, struct err *e)
{
	int r = pprof_load(in->data, in->bytes, p, e);

	if (r == 0 && o->exe != NULL)
		pprof_name_program(p, o->exe);
	return r;
}

const struct format format_pprof = {
	.name = "pprof",
	.what = "pprof protobuf profile",
	.detect = pprof_detect,
	.parse = pprof_parse,
};
