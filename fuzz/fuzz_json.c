/* SPDX-License-Identifier: MIT */
/* fuzz_json.c -- the reader of JSON under arbitrary bytes.
 *
 * A tree has every value once, children come after their parents, counts are right, and
 * members of objects have names. */
#include "fuzz.h"

#include "fuzz_check.h"
#include "tool/util/json_read.h"

static const char *const seeds[] = {
	("{\"seep_json\":1,\"frames\":[{\"linkage\":\"main\"}],\"sites\":[{\"stack\":[0,1],"
	 "\"shown_from\":0,\"shown\":1,\"leaks\":{\"done\":true,\"definite_bytes\":12}}]}"),
	"[1,-2.5e3,true,false,null,\"\\u00e9\\ud83d\\ude00\\n\\\\\",{},[]]",
	"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
	" \t\r\n\"a\" ",
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct json_tree t;
	struct err e = {0};
	size_t seen = 1;

	if (json_read(&t, data, bytes, &e) == 0) {
		FUZZ_CHECK(t.values.len >= 1 && t.values.len <= bytes);
		for (uint32_t i = 0; i < t.values.len; i++) {
			const struct json_value *v = &t.values.data[i], *at;
			uint32_t count = 0;

			for (at = json_first(&t, v); at != NULL; at = json_next(&t, at)) {
				FUZZ_CHECK(at > v);
				FUZZ_CHECK((at->key != NULL) == (v->type == JSON_OBJECT));
				FUZZ_CHECK(at->key == NULL ||
					   json_get(&t, v, at->key) != NULL);
				count++;
				if (count > 100 && v->type == JSON_OBJECT)
					break; /* looking each up takes their square */
			}
			if (at == NULL)
				FUZZ_CHECK(count == v->count);
			seen += v->count;
			FUZZ_CHECK((json_text_of(v) != NULL) == (v->type == JSON_STRING));
			json_u64_of(v);
		}
		FUZZ_CHECK(seen == t.values.len);
	} else {
		FUZZ_CHECK(strncmp(e.msg, "byte ", 5) == 0);
	}
	json_tree_done(&t);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	return n < ARRAY_LEN(seeds) ? fuzz_text_seed(seeds[n], to, room) : 0;
}
