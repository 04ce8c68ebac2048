/* SPDX-License-Identifier: MIT */
/* pprof_file.h -- pprof's profiles written field by field, as their writers do, for the
 * tests and the fuzzer of the reader. */
#ifndef SEEP_TESTS_PPROF_FILE_H
#define SEEP_TESTS_PPROF_FILE_H

#include "tool/format/pprof/pprof_impl.h"

struct file {
	struct buf out, a, b;
	struct strtab strings;
};

static inline uint32_t
str(struct file *f, const char *text)
{
	return strtab_add(&f->strings, text);
}

static inline void
put_type(struct file *f, unsigned number, const char *type, const char *unit)
{
	buf_clear(&f->a);
	pb_put(&f->a, TYPE_TYPE, str(f, type));
	pb_put(&f->a, TYPE_UNIT, str(f, unit));
	pb_put_message(&f->out, number, &f->a);
}

static inline void
put_mapping(struct file *f, uint64_t id, uint64_t start, uint64_t limit, uint64_t off,
	    const char *path, const char *build_id)
{
	buf_clear(&f->a);
	pb_put(&f->a, MAPPING_ID, id);
	pb_put(&f->a, MAPPING_START, start);
	pb_put(&f->a, MAPPING_LIMIT, limit);
	pb_put(&f->a, MAPPING_OFFSET, off);
	pb_put(&f->a, MAPPING_FILE, str(f, path));
	pb_put(&f->a, MAPPING_BUILD_ID, str(f, build_id));
	pb_put_message(&f->out, PPROF_MAPPING, &f->a);
}

static inline void
put_function(struct file *f, uint64_t id, const char *name, const char *file)
{
	buf_clear(&f->a);
	pb_put(&f->a, FUNCTION_ID, id);
	pb_put(&f->a, FUNCTION_NAME, str(f, name));
	pb_put(&f->a, FUNCTION_FILE, str(f, file));
	pb_put_message(&f->out, PPROF_FUNCTION, &f->a);
}

/* A location with up to two lines; function 0 = none. */
static inline void
put_location(struct file *f, uint64_t id, uint64_t mapping, uint64_t address,
	     const uint64_t lines[4])
{
	buf_clear(&f->a);
	pb_put(&f->a, LOCATION_ID, id);
	pb_put(&f->a, LOCATION_MAPPING, mapping);
	pb_put(&f->a, LOCATION_ADDRESS, address);
	for (int i = 0; i < 4 && lines != NULL && lines[i] != 0; i += 2) {
		buf_clear(&f->b);
		pb_put(&f->b, LINE_FUNCTION, lines[i]);
		pb_put(&f->b, LINE_LINE, lines[i + 1]);
		pb_put_message(&f->a, LOCATION_LINE, &f->b);
	}
	pb_put_message(&f->out, PPROF_LOCATION, &f->a);
}

#define LINES(...) ((const uint64_t[4]){__VA_ARGS__})

/* A sample of `n` values on these locations, innermost first; one number a field, or
 * packed. */
static inline void
put_sample(struct file *f, bool packed, const uint64_t *locs, size_t nlocs,
	   const int64_t *values, size_t n, const char *label, int64_t number)
{
	buf_clear(&f->a);
	buf_clear(&f->b);
	for (size_t i = 0; i < nlocs; i++) {
		if (packed)
			pb_put_varint(&f->b, locs[i]);
		else
			pb_put(&f->a, SAMPLE_LOCATION, locs[i]);
	}
	if (packed)
		pb_put_message(&f->a, SAMPLE_LOCATION, &f->b);
	for (size_t i = 0; i < n; i++) {
		pb_put_varint(&f->a, SAMPLE_VALUE << 3 | PB_VARINT);
		pb_put_varint(&f->a, (uint64_t)values[i]);
	}
	if (label != NULL) {
		buf_clear(&f->b);
		pb_put(&f->b, LABEL_KEY, str(f, label));
		pb_put(&f->b, LABEL_NUM, (uint64_t)number);
		pb_put_message(&f->a, SAMPLE_LABEL, &f->b);
	}
	pb_put_message(&f->out, PPROF_SAMPLE, &f->a);
}

#define LOCS(...) (const uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8
#define VALUES(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / 8

/* Ends the file with its strings; the bytes are good until file_done. */
static inline void
file_end(struct file *f)
{
	for (uint32_t i = 0; i < strtab_count(&f->strings); i++)
		pb_put_bytes(&f->out, PPROF_STRING, strtab_str(&f->strings, i),
			     strtab_len(&f->strings, i));
}

static inline void
file_done(struct file *f)
{
	buf_done(&f->out);
	buf_done(&f->a);
	buf_done(&f->b);
	strtab_done(&f->strings);
}

/* What Go writes: four types, a mapping, names, block sizes as labels. */
static inline void
put_go(struct file *f)
{
	put_type(f, PPROF_SAMPLE_TYPE, "alloc_objects", "count");
	put_type(f, PPROF_SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(f, PPROF_SAMPLE_TYPE, "inuse_objects", "count");
	put_type(f, PPROF_SAMPLE_TYPE, "inuse_space", "bytes");
	put_sample(f, true, LOCS(1, 2), VALUES(71, 7100, 31, 3100), "bytes", 100);
	put_sample(f, true, LOCS(1, 2), VALUES(13, 2600, 11, 2200), "bytes", 200);
	put_sample(f, true, LOCS(3, 2), VALUES(5, 250, 0, 0), NULL, 0);
	put_sample(f, false, LOCS(3, 2), VALUES(2, 100, 1, 50), NULL, 0);
	put_mapping(f, 1, 0x400000, 0x600000, 0, "/no/such/server", "");
	put_location(f, 1, 1, 0x401003, LINES(1, 77, 2, 12));
	put_location(f, 2, 1, 0x402004, LINES(3, 9));
	put_location(f, 3, 1, 0x403005, LINES(1, 78));
	put_function(f, 1, "main.leak", "/src/server.go");
	put_function(f, 2, "main.handle", "/src/server.go");
	put_function(f, 3, "main.main", "/src/main.go");
	put_type(f, PPROF_PERIOD_TYPE, "space", "bytes");
	pb_put(&f->out, PPROF_PERIOD, 524288);
	pb_put(&f->out, PPROF_TIME, UINT64_C(1700000000000000000));
	pb_put(&f->out, PPROF_DROP_FRAMES, str(f, "runtime\\..*"));
	pb_put(&f->out, PPROF_KEEP_FRAMES, str(f, "runtime\\.mallocgc"));
	pb_put(&f->out, PPROF_COMMENT, str(f, "first"));
	pb_put(&f->out, PPROF_COMMENT, str(f, "second"));
	pb_put(&f->out, PPROF_DEFAULT_TYPE, str(f, "alloc_space"));
	file_end(f);
}

/* What jemalloc_pprof writes: bytes alone, mappings that span everything. */
static inline void
put_jemalloc(struct file *f)
{
	static const char id[] = "0102030405060708090a0b0c0d0e0f1011121314";

	put_type(f, PPROF_SAMPLE_TYPE, "inuse_space", "bytes");
	put_mapping(f, 1, 0, UINT64_MAX, 0, "/usr/bin/server", id);
	put_mapping(f, 2, 0, UINT64_MAX, 0, "/usr/lib/libother.so (deleted)", "");
	put_location(f, 1, 1, 0x5001, NULL);
	put_location(f, 2, 2, 0x5001, NULL);
	put_sample(f, true, LOCS(1, 2), VALUES(4099), NULL, 0);
	file_end(f);
}

/* What async-profiler writes: names without addresses. */
static inline void
put_async(struct file *f)
{
	put_type(f, PPROF_SAMPLE_TYPE, "allocations", "bytes");
	put_sample(f, false, LOCS(1, 2), VALUES(1009), NULL, 0);
	put_sample(f, false, LOCS(3, 2), VALUES(37), NULL, 0);
	put_mapping(f, 1, 0, INT64_MAX, 0, "async-profiler", "");
	put_location(f, 1, 0, 0, LINES(1, 5));
	put_location(f, 2, 0, 0, LINES(2, 6));
	put_location(f, 3, 0, 0, LINES(1, 5)); /* the same again */
	put_function(f, 1, "java.lang.String[]", "");
	put_function(f, 2, "Main.run", "");
	file_end(f);
}

#endif
