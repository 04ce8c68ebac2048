/* SPDX-License-Identifier: MIT */
/* exec_env.c -- see exec_env.h.
 *
 * LD_PRELOAD and SEEP are inherited by everything that is started with the environment of
 * the process. A program that makes another one (execle, env -i, clearenv) would start
 * what nobody records. The two are therefore kept from the beginning, out of reach of
 * whoever writes over the environment (setproctitle does), and added to the one that is
 * passed on: at its front, and with a word in SEEP that says so. The recorder in the new
 * program takes them out again before main: it moves `environ` past them, so that nothing
 * is written and the auxiliary vector stays where the kernel put it.
 *
 * All of it may run in the child of a vfork, on the parent's memory, in a signal handler,
 * and between fork and exec of a threaded program: only raw system calls, and memory that
 * the caller gives. */
#include "guest/life/exec_env.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD="
#define SEEP "SEEP="
#define HIDDEN ",hidden=1"

enum {
	PRELOAD_LEN = sizeof(PRELOAD) - 1,
	KEPT_MOST = 2048, /* of each variable, with its name */
};

static struct {
	bool follows, adds;
	char preload[KEPT_MOST], seep[KEPT_MOST];
	char library[KEPT_MOST]; /* the first in `preload` */
} kept;

static bool
is_variable(const char *entry, const char *name)
{
	return entry != NULL && strncmp(entry, name, text_len(name)) == 0;
}

static bool
ends_with(const char *s, size_t n, const char *end)
{
	size_t len = text_len(end);

	return n >= len && memcmp(s + n - len, end, len) == 0;
}

/* ---- lists of libraries ---- */

static bool
names_us(const char *s, size_t n)
{
	return ends_with(s, n, "libseep.so") || ends_with(s, n, "libseep_copy.so");
}

/* Length of the name that a list of libraries begins with; 0: it begins with a separator,
 * or is at its end. */
static size_t
name_len(const char *s)
{
	size_t n = 0;

	while (s[n] != '\0' && s[n] != ':' && s[n] != ' ')
		n++;
	return n;
}

/* Appends those libraries of a list that are ours, or those that are not. */
static void
add_libraries(struct text *t, const char *list, bool ours)
{
	size_t head = t->len;

	for (const char *s = list; *s != '\0'; s += name_len(s), s += *s != '\0') {
		size_t n = name_len(s);

		if (n == 0 || names_us(s, n) != ours)
			continue;
		if (t->len > head)
			text_add(t, ":");
		text_addn(t, s, n);
	}
}

static bool
lists_us(const char *list)
{
	for (const char *s = list; *s != '\0'; s += name_len(s), s += *s != '\0')
		if (names_us(s, name_len(s)))
			return true;
	return false;
}

/* ---- what is kept ---- */

void
exec_env_keep(bool add)
{
	struct text seep = text_on(kept.seep, sizeof(kept.seep));
	struct text preload = text_on(kept.preload, sizeof(kept.preload));
	struct text library = text_on(kept.library, sizeof(kept.library));
	const char *s = proc_variable("SEEP"), *p = proc_variable("LD_PRELOAD");
	size_t n = s != NULL ? text_len(s) : 0;

	kept.follows = true;
	if (!add || s == NULL || p == NULL)
		return;
	text_add(&seep, SEEP);
	text_addn(&seep, s, ends_with(s, n, HIDDEN) ? n - sizeof(HIDDEN) + 1 : n);
	text_add(&seep, HIDDEN);
	text_add(&preload, PRELOAD);
	add_libraries(&preload, p, true);
	text_addn(&library, kept.preload + PRELOAD_LEN,
		  name_len(kept.preload + PRELOAD_LEN));
	kept.adds = !seep.cut && !preload.cut && library.len > 0;
}

bool
exec_env_follows(void)
{
	return kept.follows;
}

static bool
is_hidden(const char *entry)
{
	return is_variable(entry, SEEP) && ends_with(entry, text_len(entry), HIDDEN);
}

void
exec_env_hide(void)
{
	char **e = environ;
	char *rest;

	if (e == NULL || e[0] == NULL)
		return;
	if (is_hidden(e[0])) {
		environ = e + 1;
		return;
	}
	if (!is_variable(e[0], PRELOAD) || !is_hidden(e[1]))
		return;
	/* Ours come first; the name of the variable is put in front of those that
	 * follow. */
	rest = e[0] + PRELOAD_LEN;
	while (*rest != '\0' && names_us(rest, name_len(rest)))
		rest += name_len(rest), rest += *rest != '\0';
	if (*rest == '\0') {
		environ = e + 2;
		return;
	}
	e[1] = memcpy(rest - PRELOAD_LEN, PRELOAD, PRELOAD_LEN);
	environ = e + 1;
}

/* ---- other environments ---- */

static const char *
find(char *const *env, const char *name)
{
	for (; env != NULL && *env != NULL; env++)
		if (is_variable(*env, name))
			return *env;
	return NULL;
}

bool
exec_env_is_whole(char *const *env)
{
	const char *preload = find(env, PRELOAD);

	return preload != NULL && lists_us(preload + PRELOAD_LEN) &&
	       find(env, SEEP) != NULL;
}

enum rec_unseen_why
exec_env_cannot_add(void)
{
	long fd;

	if (!kept.adds || rt_sealed)
		return REC_UNSEEN_ENVIRONMENT;
	/* The loader of a program that may not read it would complain. */
	fd = sys_open(kept.library, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return REC_UNSEEN_LIBRARY;
	sys_close((int)fd);
	return REC_UNSEEN_NONE;
}

static size_t
count(char *const *env)
{
	size_t n = 0;

	while (env != NULL && env[n] != NULL)
		n++;
	return n;
}

/* All entries, two of ours and the last one; then texts of LD_PRELOAD. */
size_t
exec_env_bytes(char *const *env)
{
	size_t n = count(env), text = text_len(kept.preload) + 1;

	for (size_t i = 0; i < n; i++)
		if (is_variable(env[i], PRELOAD))
			text += text_len(env[i]) + 1;
	return (n + 3) * sizeof(char *) + text;
}

char *const *
exec_env_without(char *const *env, void *room)
{
	char **at = room, *text = (char *)(at + count(env) + 3);
	size_t k = 0;

	for (; env != NULL && *env != NULL; env++) {
		if (is_variable(*env, SEEP))
			continue;
		if (!is_variable(*env, PRELOAD)) {
			at[k++] = *env;
			continue;
		}
		struct text t = text_on(text, text_len(*env) + 1);

		text_add(&t, PRELOAD);
		add_libraries(&t, *env + PRELOAD_LEN, false);
		if (t.len > PRELOAD_LEN)
			at[k++] = text;
		text += t.cap;
	}
	at[k] = NULL;
	return at;
}

char *const *
exec_env_with(char *const *env, void *room)
{
	const char *preload = find(env, PRELOAD);
	bool listed = preload != NULL && lists_us(preload + PRELOAD_LEN);
	char **at = room, *text = (char *)(at + count(env) + 3);
	size_t k = 0;

	if (preload == NULL) {
		at[k++] = kept.preload;
	} else if (!listed) {
		struct text t =
			text_on(text, text_len(kept.preload) + 1 + text_len(preload) + 1);

		text_add(&t, kept.preload);
		text_add(&t, ":");
		add_libraries(&t, preload + PRELOAD_LEN, false);
		at[k++] = text;
	}
	if (find(env, SEEP) == NULL)
		at[k++] = kept.seep;
	for (; env != NULL && *env != NULL; env++)
		if (listed || !is_variable(*env, PRELOAD))
			at[k++] = *env;
	at[k] = NULL;
	return at;
}
