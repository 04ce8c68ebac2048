/* SPDX-License-Identifier: MIT */
/* conf_sources.c -- where jemalloc's options come from: the program, a link in /etc, the
 * environment. And how a real jemalloc behind us is kept from reading them, when we are
 * forced. */
#include "guest/dropin/jemalloc/conf.h"

#include "guest/dropin/peer.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <stdlib.h>
#include <sys/auxv.h>

/* A string of the program's, if it has one: the reference makes a program that is linked
 * with us export it. */
#define PROGRAMS_STRING(name)                                                            \
	extern const char *name __attribute__((weak, visibility("default")))
PROGRAMS_STRING(malloc_conf);
PROGRAMS_STRING(malloc_conf_2_conf_harder);
PROGRAMS_STRING(_rjem_malloc_conf);

static const char *
string_at(const char *const *at)
{
	return at == NULL ? NULL : *at;
}

/* The name that the link /etc/malloc.conf points to. */
static const char *
link_name(void)
{
	static char name[CONF_PREFIX_BYTES];
	long n = SYS4(SYS_readlinkat, -100, "/etc/malloc.conf", name, sizeof(name) - 1);

	name[n > 0 ? n : 0] = '\0';
	return name;
}

void
conf_read_all(void)
{
	const char *program = string_at(&malloc_conf);
	struct conf_source sources[CONF_SOURCES] = {
		{"string specified via --with-malloc-conf", NULL},
		{"string pointed to by the global variable malloc_conf",
		 program != NULL ? program : string_at(&_rjem_malloc_conf)},
		{"\"name\" of the file referenced by the symbolic link named /etc/malloc.conf",
		 NULL},
		{"value of the environment variable MALLOC_CONF",
		 proc_variable("MALLOC_CONF")},
		{"string pointed to by the global variable malloc_conf_2_conf_harder",
		 string_at(&malloc_conf_2_conf_harder)},
	};

	sources[2].text = link_name();
	conf_read(sources);
}

/* ---- a real one behind us that must not act ---- */

/* Does the SEEP variable force us? Asked before we have begun. */
static bool
is_forced(void)
{
	static const char key[] = "compat=jemalloc";
	const char *s = proc_variable("SEEP");

	while (s != NULL && *s != '\0') {
		size_t i = 0;

		while (i < sizeof(key) - 1 && s[i] == key[i])
			i++;
		if (i == sizeof(key) - 1 && (s[i] == '\0' || s[i] == ','))
			return true;
		while (*s != '\0' && *s++ != ',')
			;
	}
	return false;
}

static bool
speaks_of_prof(const char *s)
{
	for (; s != NULL && *s != '\0'; s++)
		if (s[0] == 'p' && s[1] == 'r' && s[2] == 'o' && s[3] == 'f')
			return true;
	return false;
}

/* How jemalloc reads MALLOC_CONF. If we are forced over a real one, that one does not see
 * it: it would profile too, into files of the same names. */
SEEP_EXPORT char *
secure_getenv(const char *name)
{
	static char off[] = "prof:false,prof_leak:false,prof_leak_error:false";

	if (getauxval(AT_SECURE) != 0)
		return NULL;
	if (text_same(name, "MALLOC_CONF") && is_forced())
		return speaks_of_prof(string_at(&malloc_conf)) ? off : NULL;
	return (char *)(uintptr_t)proc_variable(name);
}
