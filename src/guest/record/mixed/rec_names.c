/* SPDX-License-Identifier: MIT */
/* rec_names.c -- names of frames and types in the recording, each once.
 *
 * Two open-addressed tables in private memory, one of strings and one of names, lead from
 * a hash to the object in the recording, whose content is compared. A place is taken with
 * one compare-and-swap; a thread that loses takes the winner's object if it says the
 * same, and its own stays behind unused. Nothing is removed. Asked only when a frame is
 * met for the first time, or again after it was forgotten. */
#include "guest/record/mixed/rec_names.h"

#include "guest/record/file/space.h"
#include "guest/rt/rt_text.h"
#include "shared/hash.h"

#include <string.h>

enum {
	NAMES_PLACES = 1 << REC_NAMES_BITS,
	NAMES_PROBES = 64,
};

/* A place: the upper half of the hash | ref; 0 = free. */
#define NAMES_TAG UINT64_C(0xffffffff00000000)

size_t
rec_names_bytes(void)
{
	return (size_t)2 * NAMES_PLACES * sizeof(uint64_t);
}

/* One question: is the object at `ref` what is looked for? Else it is made. */
struct names_ask {
	const char *text;
	size_t bytes;
	struct rec_name name;
	uint32_t me;
	bool (*same)(const struct recorder *r, const struct names_ask *q, uint32_t ref);
	uint32_t (*make)(struct recorder *r, const struct names_ask *q);
};

static uint32_t
names_find(struct recorder *r, uint64_t *table, uint64_t hash, const struct names_ask *q)
{
	uint32_t made = 0;

	for (unsigned i = 0; i < NAMES_PROBES; i++) {
		uint64_t *place = &table[(hash + i) & (NAMES_PLACES - 1)];
		uint64_t found = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		if (found == 0) {
			if (made == 0)
				made = q->make(r, q);
			if (made == 0 ||
			    __atomic_compare_exchange_n(
				    place, &found, (hash & NAMES_TAG) | made, false,
				    __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
				return made;
		}
		if (((found ^ hash) & NAMES_TAG) == 0 && q->same(r, q, (uint32_t)found))
			return (uint32_t)found;
	}
	return made;
}

static bool
names_same_text(const struct recorder *r, const struct names_ask *q, uint32_t ref)
{
	const struct rec_string *s = rec_checked(r, ref, sizeof(*s) + q->bytes);

	return s != NULL && s->bytes == q->bytes &&
	       memcmp(s->text, q->text, q->bytes) == 0;
}

static uint32_t
names_make_text(struct recorder *r, const struct names_ask *q)
{
	struct rec_string *s =
		space_alloc(r, REC_CHUNK_STRING,
			    (uint32_t)ALIGN_UP(sizeof(*s) + q->bytes + 1, 8ul), q->me);

	if (s == NULL)
		return 0;
	memcpy(s->text, q->text, q->bytes);
	s->bytes = (uint32_t)q->bytes;
	return rec_ref(r, s);
}

static bool
names_same(const struct recorder *r, const struct names_ask *q, uint32_t ref)
{
	const struct rec_name *n = rec_checked(r, ref, sizeof(*n));

	return n != NULL && memcmp(n, &q->name, sizeof(*n)) == 0;
}

static uint32_t
names_make(struct recorder *r, const struct names_ask *q)
{
	struct rec_name *n = space_alloc(r, REC_CHUNK_NAME, sizeof(*n), q->me);

	if (n == NULL)
		return 0;
	*n = q->name;
	return rec_ref(r, n);
}

uint32_t
rec_name_text(struct recorder *r, const char *text, uint32_t me)
{
	struct names_ask q = {.text = text,
			      .bytes = text_len(text),
			      .me = me,
			      .same = names_same_text,
			      .make = names_make_text};

	if (q.bytes > REC_NAME_MAX)
		q.bytes = REC_NAME_MAX;
	if (q.bytes == 0)
		return 0;
	return names_find(r, r->names, hash_bytes(text, q.bytes, 0), &q);
}

uint32_t
rec_name(struct recorder *r, const char *function, const char *file, uint32_t line,
	 enum rec_language language, uint32_t me)
{
	struct names_ask q = {.me = me, .same = names_same, .make = names_make};
	uint32_t ref;

	q.name = (struct rec_name){.function = rec_name_text(r, function, me),
				   .file = rec_name_text(r, file, me),
				   .line = line,
				   .language = language};
	ref = names_find(r, r->names + NAMES_PLACES,
			 hash_bytes(&q.name, sizeof(q.name), 0), &q);
	if (ref == 0 || (q.name.function == 0 && function[0] != '\0'))
		rec_lost(r, REC_LOST_NAME);
	return ref;
}
