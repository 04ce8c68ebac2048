/* SPDX-License-Identifier: MIT */
/* settings.c -- the SEEP variable. One row a key; what is not understood switches us
 * off. */
#include "guest/life/settings.h"

#include "guest/record/file/keep.h"
#include "guest/rt/rt_text.h"

#include <string.h>

enum {
	RATE_DEFAULT = 512 << 10,
	RATE_MAX = 1 << 30,
	REDZONE_MAX = 4096,
};

#define QUARANTINE_MAX (UINT64_C(1) << 40)

struct word {
	const char *at, *end;
};

static bool
word_is(struct word w, const char *s)
{
	size_t n = text_len(s);

	return (size_t)(w.end - w.at) == n && memcmp(w.at, s, n) == 0;
}

static bool
yes_no(struct word w, bool *ret)
{
	*ret = word_is(w, "1") || word_is(w, "on") || word_is(w, "yes");
	return *ret || word_is(w, "0") || word_is(w, "off") || word_is(w, "no");
}

static bool
set_mode(struct settings *s, struct word w)
{
	s->recorder.mode = word_is(w, "exact")	  ? REC_MODE_EXACT
			   : word_is(w, "sample") ? REC_MODE_SAMPLE
						  : REC_MODE_OFF;
	return s->recorder.mode != REC_MODE_OFF || word_is(w, "off");
}

static bool
set_rate(struct settings *s, struct word w)
{
	return text_size(w.at, w.end, &s->recorder.rate_bytes) &&
	       s->recorder.rate_bytes >= 1 && s->recorder.rate_bytes <= RATE_MAX;
}

static bool
set_max(struct settings *s, struct word w)
{
	return text_size(w.at, w.end, &s->recorder.max_bytes);
}

static bool
set_dir(struct settings *s, struct word w)
{
	struct text t = text_on(s->recorder.dir, sizeof(s->recorder.dir));

	text_addn(&t, w.at, (size_t)(w.end - w.at));
	return !t.cut && s->recorder.dir[0] == '/';
}

static bool
set_name(struct settings *s, struct word w)
{
	struct text t = text_on(s->recorder.name, sizeof(s->recorder.name));

	text_addn(&t, w.at, (size_t)(w.end - w.at));
	return !t.cut && naming_valid(s->recorder.name);
}

static bool
set_keep(struct settings *s, struct word w)
{
	uint64_t n;

	if (!text_size(w.at, w.end, &n) || n >= KEEP_ALL)
		return false;
	s->recorder.keep = (uint32_t)n;
	return true;
}

static bool
set_run(struct settings *s, struct word w)
{
	return text_hex_u64(w.at, w.end, &s->recorder.run_id);
}

static bool
set_pid(struct word w, uint32_t *ret_pid)
{
	uint64_t n;

	if (!text_size(w.at, w.end, &n) || n > UINT32_MAX)
		return false;
	*ret_pid = (uint32_t)n;
	return true;
}

static bool
set_parent(struct settings *s, struct word w)
{
	return set_pid(w, &s->parent);
}

static bool
set_hold(struct settings *s, struct word w)
{
	return set_pid(w, &s->hold);
}

static bool
set_lsan(struct settings *s, struct word w)
{
	return yes_no(w, &s->lsan);
}

static bool
set_keep_going(struct settings *s, struct word w)
{
	return yes_no(w, &s->keep_going);
}

static bool
set_free_stacks(struct settings *s, struct word w)
{
	return yes_no(w, &s->free_stacks);
}

static bool
set_redzone(struct settings *s, struct word w)
{
	return text_size(w.at, w.end, &s->redzone) && s->redzone <= REDZONE_MAX;
}

static bool
set_quarantine(struct settings *s, struct word w)
{
	return text_size(w.at, w.end, &s->quarantine) && s->quarantine <= QUARANTINE_MAX;
}

static bool
set_guard(struct settings *s, struct word w)
{
	return text_size(w.at, w.end, &s->guard) && s->guard <= UINT32_MAX;
}

static bool
set_mmap(struct settings *s, struct word w)
{
	return yes_no(w, &s->recorder.mmap_class);
}

static bool
set_children(struct settings *s, struct word w)
{
	return yes_no(w, &s->recorder.children);
}

/* Added to an environment that lacked it (exec_env.c): nothing to be set. */
static bool
set_hidden(struct settings *s, struct word w)
{
	bool hidden;

	(void)s;
	return yes_no(w, &hidden);
}

static bool
set_compat(struct settings *s, struct word w)
{
	static const char *const names[] = {"jemalloc", "gperftools", "mtrace"};
	struct text t = text_on(s->compat, sizeof(s->compat));

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (word_is(w, names[i]))
			text_add(&t, names[i]);
	return s->compat[0] != '\0' || word_is(w, "none");
}

static const struct key {
	const char *name;
	bool (*set)(struct settings *, struct word);
} keys[] = {
	{"mode", set_mode},
	{"sample", set_rate}, /* as the tool's options are called */
	{"max-size", set_max},
	{"rate", set_rate}, /* names of earlier versions */
	{"max", set_max},
	{"dir", set_dir},
	{"name", set_name},
	{"keep", set_keep},
	{"run", set_run},
	{"parent", set_parent},
	{"mmap", set_mmap},
	{"children", set_children},
	{"compat", set_compat},
	{"hold", set_hold},
	{"lsan", set_lsan},
	{"keep-going", set_keep_going},
	{"free-stacks", set_free_stacks},
	{"redzone", set_redzone},
	{"quarantine", set_quarantine},
	{"guard", set_guard},
	{"hidden", set_hidden},
};

static bool
set_one(struct settings *s, struct word w)
{
	const char *eq = w.at;

	while (eq < w.end && *eq != '=')
		eq++;
	if (eq == w.end)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (word_is((struct word){w.at, eq}, keys[i].name))
			return keys[i].set(s, (struct word){eq + 1, w.end});
	return false;
}

bool
settings_parse(const char *text, struct settings *ret, const char **ret_bad)
{
	memset(ret, 0, sizeof(*ret));
	ret->recorder.rate_bytes = RATE_DEFAULT;
	ret->recorder.max_bytes = UINT64_C(1) << 30;
	ret->recorder.children = true;
	ret->recorder.keep = KEEP_ALL;
	*ret_bad = NULL;
	while (text != NULL && *text != '\0') {
		struct word w = {text, text};

		while (*w.end != '\0' && *w.end != ',')
			w.end++;
		if (!set_one(ret, w)) {
			*ret_bad = w.at;
			ret->recorder.mode = REC_MODE_OFF;
			return false;
		}
		text = *w.end == ',' ? w.end + 1 : w.end;
	}
	return true;
}
