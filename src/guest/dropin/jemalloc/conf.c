/* SPDX-License-Identifier: MIT */
/* conf.c -- jemalloc's options. See conf.h.
 *
 * The grammar is jemalloc's, and so are its oddities, because scripts look for its
 * messages: the strings are read twice, the first time only for confirm_conf, so that a
 * fault of the grammar is reported twice; a fault ends its string, but what stood before
 * it counts; integers are octal, decimal or hexadecimal by their prefix. Options of other
 * parts of jemalloc are known by name and passed over. */
#include "guest/dropin/jemalloc/conf.h"

#include "guest/dropin/peer.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <signal.h>
#include <string.h>

enum { LG_MAX = 63 };

struct conf conf = {
	.prof_active = true,
	.prof_thread_active_init = true,
	.prof_unbias = true,
	.lg_prof_sample = 19,
	.lg_prof_interval = -1,
	.prof_time_resolution = "default",
	.prof_prefix = "jeprof",
};

enum type {
	TYPE_BOOL,
	TYPE_SIZE,
	TYPE_UNSIGNED,
	TYPE_SSIZE,
	TYPE_TEXT,
	TYPE_RESOLUTION,
};

static const struct option {
	const char *name;
	enum type type;
	bool clip; /* out of range: take the nearest, without a word */
	void *at;
	int64_t min, max;
} options[] = {
	{"abort", TYPE_BOOL, false, &conf.abort, 0, 0},
	{"abort_conf", TYPE_BOOL, false, &conf.abort_conf, 0, 0},
	{"prof", TYPE_BOOL, false, &conf.prof, 0, 0},
	{"prof_active", TYPE_BOOL, false, &conf.prof_active, 0, 0},
	{"prof_thread_active_init", TYPE_BOOL, false, &conf.prof_thread_active_init, 0,
	 0},
	{"prof_accum", TYPE_BOOL, false, &conf.prof_accum, 0, 0},
	{"prof_gdump", TYPE_BOOL, false, &conf.prof_gdump, 0, 0},
	{"prof_final", TYPE_BOOL, false, &conf.prof_final, 0, 0},
	{"prof_leak", TYPE_BOOL, false, &conf.prof_leak, 0, 0},
	{"prof_leak_error", TYPE_BOOL, false, &conf.prof_leak_error, 0, 0},
	{"prof_log", TYPE_BOOL, false, &conf.prof_log, 0, 0},
	{"prof_stats", TYPE_BOOL, false, &conf.prof_stats, 0, 0},
	{"prof_sys_thread_name", TYPE_BOOL, false, &conf.prof_sys_thread_name, 0, 0},
	{"prof_unbias", TYPE_BOOL, false, &conf.prof_unbias, 0, 0},
	{"prof_pid_namespace", TYPE_BOOL, false, &conf.prof_pid_namespace, 0, 0},
	{"lg_prof_sample", TYPE_SIZE, true, &conf.lg_prof_sample, 0, LG_MAX},
	{"lg_prof_interval", TYPE_SSIZE, false, &conf.lg_prof_interval, -1, LG_MAX},
	{"prof_recent_alloc_max", TYPE_SSIZE, false, &conf.prof_recent_alloc_max, -1,
	 INT64_MAX},
	{"prof_bt_max", TYPE_UNSIGNED, true, &conf.prof_bt_max, 1, 1 << 16},
	{"prof_max_dumps", TYPE_SIZE, true, &conf.prof_max_dumps, 0, 1 << 16},
	{"prof_prefix", TYPE_TEXT, false, conf.prof_prefix, 0, 0},
	{"prof_time_resolution", TYPE_RESOLUTION, false, &conf.prof_time_resolution, 0,
	 0},
};

/* One key:value of a string. */
struct pair {
	const char *key, *value;
	size_t key_bytes, value_bytes;
};

static bool had_error;

static void
say(const char *message)
{
	peer_say(message, NULL);
	had_error = true;
}

static void
say_pair(const char *message, const struct pair *p)
{
	static const char experimental[] = "experimental_";
	char line[1024];
	struct text t = text_on(line, sizeof(line));

	text_add(&t, message);
	text_addn(&t, p->key, p->key_bytes);
	text_add(&t, ":");
	text_addn(&t, p->value, p->value_bytes);
	peer_say(line, NULL);
	if (p->key_bytes < sizeof(experimental) - 1 ||
	    memcmp(p->key, experimental, sizeof(experimental) - 1) != 0)
		had_error = true;
}

/* ---- the grammar ---- */

static bool
is_key(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

/* The next pair at *at. false: there is none, and the rest, if any, is faulty. */
static bool
next_pair(const char **at, struct pair *ret)
{
	const char *s = *at;

	if (*s == '\0')
		return false;
	ret->key = s;
	while (is_key(*s))
		s++;
	if (*s != ':') {
		say(*s == '\0' ? "Conf string ends with key" : "Malformed conf string");
		return false;
	}
	ret->key_bytes = (size_t)(s - ret->key);
	ret->value = ++s;
	while (*s != '\0' && *s != ',')
		s++;
	ret->value_bytes = (size_t)(s - ret->value);
	if (*s == ',' && *++s == '\0')
		say("Conf string ends with comma");
	*at = s;
	return true;
}

static bool
word_is(const char *at, size_t bytes, const char *word)
{
	return text_len(word) == bytes && memcmp(at, word, bytes) == 0;
}

/* An integer as C writes it, of the whole value. */
static bool
read_number(const struct pair *p, bool *ret_negative, uint64_t *ret)
{
	const char *s = p->value, *end = s + p->value_bytes, *first;
	uint64_t n = 0;
	unsigned base = 10;

	while (s < end && (*s == ' ' || (*s >= '\t' && *s <= '\r')))
		s++;
	*ret_negative = s < end && *s == '-';
	if (s < end && (*s == '-' || *s == '+'))
		s++;
	if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	} else if (end - s > 1 && s[0] == '0') {
		base = 8;
		s++;
	}
	for (first = s; s < end; s++) {
		unsigned d = *s >= '0' && *s <= '9'   ? (unsigned)(*s - '0')
			     : *s >= 'a' && *s <= 'f' ? (unsigned)(*s - 'a' + 10)
			     : *s >= 'A' && *s <= 'F' ? (unsigned)(*s - 'A' + 10)
						      : 16u;

		if (d >= base || __builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, d, &n))
			return false;
	}
	*ret = n;
	return s > first;
}

static bool
set_number(const struct option *o, const struct pair *p)
{
	bool negative;
	uint64_t n;
	int64_t v;

	if (!read_number(p, &negative, &n)) {
		say_pair("Invalid conf value: ", p);
		return false;
	}
	/* Unsigned ones take a minus as strtoumax does: the value wraps and is large. */
	if (o->type != TYPE_SSIZE && negative)
		n = 0 - n, negative = false;
	v = n > INT64_MAX ? INT64_MAX : (int64_t)n;
	if (negative)
		v = -v;
	if (v < o->min || v > o->max) {
		if (!o->clip) {
			say_pair("Out-of-range conf value: ", p);
			return false;
		}
		v = v < o->min ? o->min : o->max;
	}
	if (o->type == TYPE_SIZE)
		*(size_t *)o->at = (size_t)v;
	else if (o->type == TYPE_UNSIGNED)
		*(unsigned *)o->at = (unsigned)v;
	else
		*(ssize_t *)o->at = (ssize_t)v;
	return true;
}

static bool
set_bool(bool *at, const struct pair *p)
{
	bool yes = word_is(p->value, p->value_bytes, "true");

	if (!yes && !word_is(p->value, p->value_bytes, "false"))
		return false;
	*at = yes;
	return true;
}

static bool
set_option(const struct option *o, const struct pair *p)
{
	bool fine = true;
	struct text t;

	switch (o->type) {
	case TYPE_BOOL:
		fine = set_bool(o->at, p);
		break;
	case TYPE_SIZE:
	case TYPE_UNSIGNED:
	case TYPE_SSIZE:
		return set_number(o, p);
	case TYPE_TEXT:
		t = text_on(o->at, CONF_PREFIX_BYTES);
		text_addn(&t, p->value, p->value_bytes);
		break;
	case TYPE_RESOLUTION:
		if (word_is(p->value, p->value_bytes, "default"))
			conf.prof_time_resolution = "default";
		else if (word_is(p->value, p->value_bytes, "high"))
			conf.prof_time_resolution = "high";
		else
			fine = false;
		break;
	}
	if (!fine)
		say_pair("Invalid conf value: ", p);
	return fine;
}

/* true: it is set, or belongs to another part of jemalloc. */
static bool
set_pair(const struct pair *p)
{
	if (word_is(p->key, p->key_bytes, "confirm_conf")) {
		if (set_bool(&conf.confirm_conf, p))
			return true;
		say_pair("Invalid conf value: ", p);
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (word_is(p->key, p->key_bytes, options[i].name))
			return set_option(&options[i], p);
	if (conf_is_other(p->key, p->key_bytes))
		return true;
	/* jemalloc takes an empty key for the first option that it compares by its
	 * length. */
	if (p->key_bytes == 0) {
		if (p->value_bytes != 0)
			say_pair("Invalid conf value: ", p);
		return p->value_bytes == 0;
	}
	say_pair("Invalid conf pair: ", p);
	return false;
}

static void
read_source(const struct conf_source *source, unsigned number)
{
	static char line[CONF_PREFIX_BYTES + 256]; /* read once, by one thread */
	const char *at = source->text == NULL ? "" : source->text;
	struct text t = text_on(line, sizeof(line));
	struct pair p;

	if (conf.confirm_conf) {
		text_add(&t, "malloc_conf #");
		text_dec(&t, number);
		text_add(&t, " (");
		text_add(&t, source->what);
		text_add(&t, "): \"");
		text_add(&t, at);
		text_add(&t, "\"");
		peer_say(line, NULL);
	}
	while (next_pair(&at, &p)) {
		if (!set_pair(&p) || !conf.confirm_conf)
			continue;
		t = text_on(line, sizeof(line));
		text_add(&t, "-- Set conf value: ");
		text_addn(&t, p.key, p.key_bytes);
		text_add(&t, ":");
		text_addn(&t, p.value, p.value_bytes);
		peer_say(line, NULL);
	}
}

/* The first time through: is each step to be confirmed? */
static void
read_confirm(const struct conf_source *source)
{
	const char *at = source->text == NULL ? "" : source->text;
	struct pair p;

	while (next_pair(&at, &p))
		if (word_is(p.key, p.key_bytes, "confirm_conf"))
			set_bool(&conf.confirm_conf, &p);
}

static void
abort_if_asked(void)
{
	if (!had_error || !conf.abort_conf)
		return;
	peer_say("Abort (abort_conf:true) on invalid conf value (see above).", NULL);
	SYS3(SYS_tgkill, sys_getpid(), sys_gettid(), SIGABRT);
}

static void
consequences(void)
{
	if (conf.prof_leak_error)
		conf.prof_leak = true;
	if (conf.prof) {
		if (conf.lg_prof_interval >= 0)
			conf.interval = UINT64_C(1) << conf.lg_prof_interval;
	} else if (conf.prof_leak) {
		/* On, but nothing is dumped by itself. */
		conf.prof = true;
		conf.prof_gdump = false;
	}
}

bool
conf_read(const struct conf_source sources[CONF_SOURCES])
{
	bool any = false;

	for (unsigned i = 0; i < CONF_SOURCES; i++) {
		any |= sources[i].text != NULL && sources[i].text[0] != '\0';
		read_confirm(&sources[i]);
	}
	for (unsigned i = 0; i < CONF_SOURCES; i++) {
		read_source(&sources[i], i + 1);
		abort_if_asked();
	}
	if (conf.prof_leak_error && !conf.prof_final) {
		peer_say("prof_leak_error is set w/o prof_final.", NULL);
		had_error = true;
		abort_if_asked();
	}
	consequences();
	return any;
}
