/* SPDX-License-Identifier: MIT */
/* test_json_read.c -- reading JSON: values, strings with everything in them, and what is
 * refused where. */
#include "tool/util/json_read.h"

#include <string.h>

#include "t.h"
#include "tool/util/buf.h"
#include "tool/util/json.h"

static struct json_tree t;
static struct err e;

static int
load(const char *text)
{
	json_tree_done(&t);
	e = (struct err){0};
	return json_read(&t, text, strlen(text), &e);
}

T_TEST(values)
{
	const struct json_value *top, *list;

	T_EQ(load(" {\"a\": [1, -2.5e1, true, false, null], \"b\": {\"c\": \"x\"}, \"n\": 9007199254740993} "),
	     0);
	top = &t.values.data[0];
	T_EQ(top->type, JSON_OBJECT);
	T_EQ(top->count, 3);
	list = json_get(&t, top, "a");
	T_EQ(list->count, 5);
	list = json_first(&t, list);
	T_EQ(json_u64_of(list), 1);
	list = json_next(&t, list);
	T_CHECK(list->number == -25);
	T_EQ(json_u64_of(list), 0);
	T_EQ(json_next(&t, list)->type, JSON_TRUE);
	T_STR(json_text_of(json_get(&t, json_get(&t, top, "b"), "c")), "x");
	T_CHECK(json_get(&t, top, "z") == NULL);
	T_CHECK(json_get(&t, NULL, "z") == NULL);
	T_EQ(json_u64_of(NULL), 0);
	T_CHECK(json_text_of(json_get(&t, top, "n")) == NULL);
}

T_TEST(strings)
{
	T_EQ(load("\"\\u00e9\\n\\\"\\\\\\/\\ud83d\\ude00 \xc3\xa9\""), 0);
	T_STR(t.values.data[0].text, "\xc3\xa9\n\"\\/\xf0\x9f\x98\x80 \xc3\xa9");
	T_EQ(load("\"\\ud800x\""), 0);
	T_STR(t.values.data[0].text, "\xef\xbf\xbdx");
	T_EQ(load("\"\\ud800\\u0041\""), 0);
	T_STR(t.values.data[0].text, "\xef\xbf\xbd"
				     "A");
}

static void
refused(const char *text, const char *message)
{
	T_CHECK(load(text) < 0);
	T_STR(e.msg, message);
}

T_TEST(what_is_wrong)
{
	char deep[200];

	refused("", "byte 1: want a value");
	refused("[1,]", "byte 4: want a value");
	refused("[1 2]", "byte 4: want , or ]");
	refused("{\"a\" 1}", "byte 6: want a colon");
	refused("{a:1}", "byte 2: want a name in quotes");
	refused("{\"a\":1;}", "byte 7: want , or }");
	refused("\"a", "byte 3: a string without an end");
	refused("\"a\n\"", "byte 3: a string without an end");
	refused("\"\\x\"", "byte 3: a wrong escape");
	refused("\"\\u12g4\"", "byte 6: a wrong escape");
	refused("1-2", "byte 1: a wrong number");
	refused("1 2", "byte 3: more behind the end");
	memset(deep, '[', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	refused(deep, "byte 66: nested too deep");
}

/* What json.h writes. */
T_TEST(our_own)
{
	struct buf b = {0};
	struct json j;

	json_init(&j, &b);
	json_obj(&j);
	json_key(&j, "k\x01\"");
	json_str(&j, "a\tb\xff");
	json_key(&j, "n");
	json_u64(&j, 1234567890123);
	json_obj_end(&j);
	T_EQ(load(buf_str(&b)), 0);
	T_STR(json_text_of(json_get(&t, &t.values.data[0], "k\x01\"")),
	      "a\tb\xef\xbf\xbd");
	T_EQ(json_u64_of(json_get(&t, &t.values.data[0], "n")), 1234567890123);
	buf_done(&b);
}

T_MAIN()
