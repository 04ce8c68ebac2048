/* SPDX-License-Identifier: MIT */
/* pprof_impl.h -- what the reader and the writer of pprof's profiles share: field numbers
 * of profile.proto, the names of sample types, and the tables of a file being read. */
#ifndef SEEP_FORMAT_PPROF_IMPL_H
#define SEEP_FORMAT_PPROF_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pprof_wire.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

enum { /* Profile */
       PPROF_SAMPLE_TYPE = 1,
       PPROF_SAMPLE = 2,
       PPROF_MAPPING = 3,
       PPROF_LOCATION = 4,
       PPROF_FUNCTION = 5,
       PPROF_STRING = 6,
       PPROF_DROP_FRAMES = 7,
       PPROF_KEEP_FRAMES = 8,
       PPROF_TIME = 9,
       PPROF_DURATION = 10,
       PPROF_PERIOD_TYPE = 11,
       PPROF_PERIOD = 12,
       PPROF_COMMENT = 13,
       PPROF_DEFAULT_TYPE = 14,
       PPROF_DOC_URL = 15,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_UNIT = 4 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINES = 10,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM = 3, FUNCTION_FILE = 4 };

/* ---- sample types: pprof_types.c ---- */

/* A column of a site, as pprof names it. */
struct pprof_type {
	const char *name;   /* lower case, with _ for other characters than letters */
	const char *column; /* for people; NULL: read, never written */
	size_t off;	    /* of the field in struct prof_site */
	bool bytes;	    /* else a number of blocks */
	bool is_signed;	    /* the field is int64_t */
	int has;	    /* enum prof_columns */
	bool ours;	    /* only seep's own recordings have it */
};

extern const struct pprof_type pprof_types[]; /* ends with a NULL name */

/* The row for a sample type of a file, or NULL when it is none of memory's. */
const struct pprof_type *pprof_type_find(const char *name, const char *unit);

/* Whether numbers under this label are bytes without saying so. */
bool pprof_label_in_bytes(const char *key);

/* A site's figure, and its sum with `v`; figures that cannot be below 0 stay at 0 and
 * make it return false. */
int64_t pprof_type_get(const struct pprof_type *t, const struct prof_site *s);
bool pprof_type_add(const struct pprof_type *t, struct prof_site *s, int64_t v);

/* ---- a file being read ---- */

struct pprof_str {
	const unsigned char *at;
	uint32_t bytes;
	uint32_t id; /* in the profile; UINT32_MAX = not there yet */
};

/* Ids are 1 … n nearly always, and anything in principle. Values are rows + 1. */
struct pprof_ids {
	uint32_t *dense;
	uint32_t ndense;
	struct map sparse;
};

struct pprof_function {
	uint32_t name, system, file; /* strings of the profile */
	uint8_t lang;
};

struct pprof_mapping {
	uint64_t start, limit, offset;
	uint32_t module;
	bool everywhere; /* it spans all addresses: they are the file's own already */
	struct elfload *loads;
	uint32_t nloads;
};

struct pprof_in {
	const unsigned char *data;
	size_t bytes;
	struct prof *p;
	struct pprof_str *strings;
	uint32_t nstrings;
	struct pprof_mapping *mappings;
	uint32_t nmappings;
	struct pprof_function *functions;
	uint32_t nfunctions;
	uint32_t *locations; /* rows of prof.locs */
	uint32_t nlocations;
	struct pprof_ids mapping_ids, function_ids, location_ids;
	VEC(struct prof_frame) frames;	    /* scratch of one location */
	uint64_t counts[PPROF_DOC_URL + 1]; /* fields of each number */
	uint64_t bad_strings, bad_ids, bad_fields;
	bool nameless; /* some location has no names */
};

/* Calls `each` for every field of that number in the file. */
typedef void pprof_each(struct pprof_in *in, const struct pb_field *f);
void pprof_walk(struct pprof_in *in, unsigned number, pprof_each *each);

/* String `index` of the file as one of the profile; one that is not there is counted. */
uint32_t pprof_string(struct pprof_in *in, uint64_t index);

void pprof_ids_init(struct pprof_ids *ids, uint64_t count);
void pprof_ids_done(struct pprof_ids *ids);
/* False when the id is taken or 0. */
bool pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint32_t row);
/* The row, or UINT32_MAX. */
uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id);

/* Fills strings, then mappings, functions and locations, in this order;
 * pprof_tables.c. */
void pprof_read_strings(struct pprof_in *in);
void pprof_read_tables(struct pprof_in *in);
void pprof_in_done(struct pprof_in *in);

#endif
