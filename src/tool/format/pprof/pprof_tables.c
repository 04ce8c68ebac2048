/* SPDX-License-Identifier: MIT */
/* pprof_tables.c -- strings, mappings, functions and locations of a pprof profile.
 *
 * Writers put the tables in any order, mostly behind the samples, so the file is walked
 * once for each of them; a step of that is one message, not one byte. Tables are as large
 * as the number of messages found, never as a number in the file says. */
#include <stdlib.h>
#include <string.h>

#include "pprof_impl.h"
#include "shared/compiler.h"
#include "tool/format/elfload.h"
#include "tool/model/named.h"
#include "tool/util/x.h"

/* Without position-independent code, Linux puts x86-64 programs here. */
#define PPROF_EXE_START UINT64_C(0x400000)

/* Mappings whose files are looked into and that addresses are looked up in: programs have
 * hundreds, and a file may say anything. */
enum { PPROF_MAPPINGS_USED = 4096 };

void
pprof_walk(struct pprof_in *in, unsigned number, pprof_each *each)
{
	struct cur c = cur_init(in->data, in->bytes);
	struct pb_field f;

	while (pb_next(&c, &f)) {
		if (f.number == number)
			each(in, &f);
	}
}

/* ---- ids ---- */

void
pprof_ids_init(struct pprof_ids *ids, uint64_t count)
{
	ids->ndense = (uint32_t)count + 1;
	ids->dense = xcalloc(ids->ndense, sizeof *ids->dense);
}

void
pprof_ids_done(struct pprof_ids *ids)
{
	free(ids->dense);
	map_done(&ids->sparse);
}

bool
pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t row)
{
	uint64_t *at;

	if (id == 0)
		return false;
	if (id < ids->ndense) {
		if (ids->dense[id] != 0)
			return false;
		ids->dense[id] = row + 1;
		return true;
	}
	at = map_add(&ids->sparse, id);
	if (*at != 0)
		return false;
	*at = (uint64_t)row + 1;
	return true;
}

uint32_t
pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	uint64_t *at;

	if (id < ids->ndense)
		return ids->dense[id] - 1;
	at = map_find(&ids->sparse, id);
	return at != NULL ? (uint32_t)(*at - 1) : UINT32_MAX;
}

/* ---- strings ---- */

static void
pprof_string_row(struct pprof_in *in, const struct pb_field *f)
{
	if (f->kind != PB_BYTES || f->bytes > UINT32_MAX / 2) {
		in->bad_fields++;
		return;
	}
	in->strings[in->nstrings++] =
		(struct pprof_str){f->data, (uint32_t)f->bytes, UINT32_MAX};
}

uint32_t
pprof_string(struct pprof_in *in, uint64_t index)
{
	struct pprof_str *s;

	if (index == 0)
		return 0;
	if (index >= in->nstrings) {
		in->bad_strings++;
		return 0;
	}
	s = &in->strings[index];
	if (s->id == UINT32_MAX) {
		/* As C strings: a NUL would end them for everyone else. */
		size_t n = s->bytes;

		if (n > 0 && memchr(s->at, '\0', n) != NULL)
			n = (size_t)((const unsigned char *)memchr(s->at, '\0', n) -
				     s->at);
		s->id = prof_strn(in->p, (const char *)s->at, n);
	}
	return s->id;
}

void
pprof_read_strings(struct pprof_in *in)
{
	in->strings = xcalloc(in->counts[PPROF_STRING], sizeof *in->strings);
	pprof_walk(in, PPROF_STRING, pprof_string_row);
}

/* ---- mappings ---- */

static unsigned
pprof_hex(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* A build-id in hexadecimal; Go has others, which name no file that we could find and are
 * only shown. */
static size_t
pprof_build_id(const char *text, uint8_t *to)
{
	size_t n = strlen(text);

	if (n % 2 != 0 || n / 2 > PROF_BUILD_ID_MAX)
		return 0;
	for (size_t i = 0; i < n / 2; i++) {
		unsigned high = pprof_hex(text[2 * i]), low = pprof_hex(text[2 * i + 1]);

		if (high > 15 || low > 15)
			return 0;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return n / 2;
}

static uint32_t
pprof_module(struct pprof_in *in, uint32_t file, uint32_t build_id)
{
	static const char gone[] = " (deleted)";
	const char *path = prof_text(in->p, file);
	uint8_t id[PROF_BUILD_ID_MAX];
	size_t id_bytes = pprof_build_id(prof_text(in->p, build_id), id);
	size_t n = strlen(path);
	uint32_t row;
	char *copy;

	if (n == 0 && prof_text(in->p, build_id)[0] == '\0')
		return 0;
	if (n > sizeof gone - 1 && strcmp(path + n - (sizeof gone - 1), gone) == 0)
		n -= sizeof gone - 1;
	copy = xmemdup0(path, n);
	row = prof_module(in->p, copy, id, id_bytes);
	if (id_bytes == 0)
		in->p->modules[row].other_id = build_id;
	free(copy);
	return row;
}

/* Where the range of a mapping lies; those that span everything lie nowhere. */
static void
pprof_add_range(struct pprof_in *in, const struct pprof_mapping *m)
{
	uint64_t vaddr = m->offset;
	struct prof_range *r;
	uint32_t row;

	if (m->everywhere || m->module == 0 || m->limit <= m->start)
		return;
	if (!elfload_vaddr(m->loads, m->nloads, m->offset, &vaddr) &&
	    m->start - m->offset == PPROF_EXE_START)
		vaddr = m->start;
	row = prof_add_range(in->p);
	r = &in->p->ranges[row];
	r->process = 1;
	r->module = m->module;
	r->start = m->start;
	r->end = m->limit;
	r->bias = m->start - vaddr;
}

static void
pprof_mapping_row(struct pprof_in *in, const struct pb_field *f)
{
	struct cur c = pb_message(f);
	struct pprof_mapping *m = &in->mappings[in->nmappings];
	uint64_t id = 0, file = 0, build_id = 0;
	struct pb_field x;

	memset(m, 0, sizeof *m);
	while (pb_next(&c, &x)) {
		if (x.kind != PB_VARINT)
			in->bad_fields++;
		else if (x.number == MAPPING_ID)
			id = x.value;
		else if (x.number == MAPPING_START)
			m->start = x.value;
		else if (x.number == MAPPING_LIMIT)
			m->limit = x.value;
		else if (x.number == MAPPING_OFFSET)
			m->offset = x.value;
		else if (x.number == MAPPING_FILE)
			file = x.value;
		else if (x.number == MAPPING_BUILD_ID)
			build_id = x.value;
	}
	if (!cur_ok(&c) || !pprof_ids_add(&in->mapping_ids, id, in->nmappings)) {
		in->bad_ids++;
		return;
	}
	in->nmappings++;
	m->module = pprof_module(in, pprof_string(in, file), pprof_string(in, build_id));
	m->everywhere = m->start == 0 && m->offset == 0 &&
			(m->limit == 0 || m->limit >= INT64_MAX);
	if (!m->everywhere && m->module != 0 && in->nmappings <= PPROF_MAPPINGS_USED)
		elfload_read(prof_text(in->p, in->p->modules[m->module].path), &m->loads,
			     &m->nloads);
	pprof_add_range(in, m);
}

/* ---- functions ---- */

static uint8_t
pprof_lang(const char *file)
{
	static const struct {
		const char *ending;
		uint8_t lang;
	} endings[] = {
		{".go", PROF_GO},     {".java", PROF_JAVA}, {".kt", PROF_JAVA},
		{".py", PROF_PYTHON}, {".js", PROF_JS},	    {".ts", PROF_JS},
	};
	const char *dot = strrchr(file, '.');

	for (size_t i = 0; dot != NULL && i < ARRAY_LEN(endings); i++) {
		if (strcmp(dot, endings[i].ending) == 0)
			return endings[i].lang;
	}
	return PROF_NATIVE;
}

static void
pprof_function_row(struct pprof_in *in, const struct pb_field *f)
{
	struct cur c = pb_message(f);
	struct pprof_function *fn = &in->functions[in->nfunctions];
	uint64_t id = 0, name = 0, system = 0, file = 0;
	struct pb_field x;

	while (pb_next(&c, &x)) {
		if (x.kind != PB_VARINT)
			in->bad_fields++;
		else if (x.number == FUNCTION_ID)
			id = x.value;
		else if (x.number == FUNCTION_NAME)
			name = x.value;
		else if (x.number == FUNCTION_SYSTEM)
			system = x.value;
		else if (x.number == FUNCTION_FILE)
			file = x.value;
	}
	if (!cur_ok(&c) || !pprof_ids_add(&in->function_ids, id, in->nfunctions)) {
		in->bad_ids++;
		return;
	}
	in->nfunctions++;
	fn->name = pprof_string(in, name != 0 ? name : system);
	fn->system = pprof_string(in, system);
	if (fn->system == fn->name)
		fn->system = 0;
	fn->file = pprof_string(in, file);
	fn->lang = pprof_lang(prof_text(in->p, fn->file));
}

/* ---- locations ---- */

static void
pprof_line(struct pprof_in *in, const struct pb_field *f)
{
	struct cur c = pb_message(f);
	struct prof_frame *frame;
	uint64_t function = 0, line = 0;
	struct pb_field x;
	uint32_t row;

	while (pb_next(&c, &x)) {
		if (x.number == LINE_FUNCTION && x.kind == PB_VARINT)
			function = x.value;
		else if (x.number == LINE_LINE && x.kind == PB_VARINT)
			line = x.value;
	}
	row = pprof_ids_find(&in->function_ids, function);
	if (!cur_ok(&c) || (function != 0 && row == UINT32_MAX)) {
		in->bad_ids++;
		return;
	}
	frame = vec_add(&in->frames);
	if (row != UINT32_MAX) {
		const struct pprof_function *fn = &in->functions[row];

		frame->function = fn->name;
		frame->linkage = fn->system;
		frame->file = fn->file;
		frame->lang = fn->lang;
	}
	frame->line = line <= INT32_MAX ? (uint32_t)line : 0;
}

/* The mapping of an address that names none; not one that spans everything. */
static uint32_t
pprof_mapping_at(const struct pprof_in *in, uint64_t address)
{
	for (uint32_t i = 0; i < in->nmappings && i < PPROF_MAPPINGS_USED; i++) {
		const struct pprof_mapping *m = &in->mappings[i];

		if (!m->everywhere && address >= m->start && address < m->limit)
			return i;
	}
	return UINT32_MAX;
}

/* The ELF's own address, by which symbols are found. */
static uint64_t
pprof_vaddr(const struct pprof_mapping *m, uint64_t address)
{
	uint64_t off = address - m->start + m->offset;
	uint64_t vaddr = off;

	if (m->everywhere || address < m->start)
		return address;
	if (!elfload_vaddr(m->loads, m->nloads, off, &vaddr) &&
	    m->start - m->offset == PPROF_EXE_START)
		return address;
	return vaddr;
}

/* Makes the row of a location whose lines are in in->frames. An address that has other
 * names already (code that was replaced, addresses left out) is told by its names. */
static uint32_t
pprof_loc(struct pprof_in *in, uint32_t mapping, uint64_t address)
{
	const struct pprof_mapping *m =
		mapping != UINT32_MAX ? &in->mappings[mapping] : NULL;
	uint32_t module = m != NULL ? m->module : 0;
	uint32_t n = (uint32_t)in->frames.len;
	uint32_t loc;

	for (uint32_t i = 0; i + 1 < n; i++)
		in->frames.data[i].inlined = 1;
	if (address == 0 && n > 0)
		return named_loc(in->p, module, in->frames.data, n);
	loc = prof_loc(in->p, module, m != NULL ? pprof_vaddr(m, address) : address,
		       PROF_LOC_CODE, true);
	if (n == 0) {
		in->nameless = true;
		return loc;
	}
	if (in->p->locs[loc].nframes == 0)
		named_set(in->p, loc, in->frames.data, n);
	else if (!named_same(in->p, loc, in->frames.data, n))
		return named_loc(in->p, module, in->frames.data, n);
	return loc;
}

static void
pprof_location_row(struct pprof_in *in, const struct pb_field *f)
{
	struct cur c = pb_message(f);
	uint64_t id = 0, mapping_id = 0, address = 0;
	uint32_t mapping;
	struct pb_field x;

	in->frames.len = 0;
	while (pb_next(&c, &x)) {
		if (x.number == LOCATION_LINE && x.kind == PB_BYTES)
			pprof_line(in, &x);
		else if (x.kind != PB_VARINT)
			in->bad_fields++;
		else if (x.number == LOCATION_ID)
			id = x.value;
		else if (x.number == LOCATION_MAPPING)
			mapping_id = x.value;
		else if (x.number == LOCATION_ADDRESS)
			address = x.value;
	}
	if (!cur_ok(&c) || !pprof_ids_add(&in->location_ids, id, in->nlocations)) {
		in->bad_ids++;
		return;
	}
	mapping = pprof_ids_find(&in->mapping_ids, mapping_id);
	if (mapping_id != 0 && mapping == UINT32_MAX)
		in->bad_ids++;
	else if (mapping_id == 0 && address != 0)
		mapping = pprof_mapping_at(in, address);
	in->locations[in->nlocations++] = pprof_loc(in, mapping, address);
}

void
pprof_read_tables(struct pprof_in *in)
{
	in->mappings = xcalloc(in->counts[PPROF_MAPPING], sizeof *in->mappings);
	in->functions = xcalloc(in->counts[PPROF_FUNCTION], sizeof *in->functions);
	in->locations = xcalloc(in->counts[PPROF_LOCATION], sizeof *in->locations);
	pprof_ids_init(&in->mapping_ids, in->counts[PPROF_MAPPING]);
	pprof_ids_init(&in->function_ids, in->counts[PPROF_FUNCTION]);
	pprof_ids_init(&in->location_ids, in->counts[PPROF_LOCATION]);
	pprof_walk(in, PPROF_MAPPING, pprof_mapping_row);
	pprof_walk(in, PPROF_FUNCTION, pprof_function_row);
	pprof_walk(in, PPROF_LOCATION, pprof_location_row);
}

void
pprof_in_done(struct pprof_in *in)
{
	for (uint32_t i = 0; i < in->nmappings; i++)
		free(in->mappings[i].loads);
	free(in->strings);
	free(in->mappings);
	free(in->functions);
	free(in->locations);
	pprof_ids_done(&in->mapping_ids);
	pprof_ids_done(&in->function_ids);
	pprof_ids_done(&in->location_ids);
	vec_done(&in->frames);
}
