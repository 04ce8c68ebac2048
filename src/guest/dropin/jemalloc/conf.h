/* SPDX-License-Identifier: MIT */
/* conf.h -- jemalloc's options: key:value,key:value from five sources. */
#ifndef SEEP_CONF_H
#define SEEP_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CONF_PREFIX_BYTES = 4097 }; /* PATH_MAX and a NUL, as jemalloc has it */

/* As they are after reading, with prof_leak's consequences. mallctl shows them as opt.*,
 * so their types are those that jemalloc documents. */
struct conf {
	bool abort, abort_conf, confirm_conf;
	bool prof;
	bool prof_active;
	bool prof_thread_active_init;
	bool prof_accum;
	bool prof_gdump;
	bool prof_final;
	bool prof_leak;
	bool prof_leak_error;
	bool prof_log;
	bool prof_stats;
	bool prof_sys_thread_name;
	bool prof_unbias;
	bool prof_pid_namespace;
	size_t lg_prof_sample;
	ssize_t lg_prof_interval;
	ssize_t prof_recent_alloc_max;
	unsigned prof_bt_max;  /* 0 = all frames */
	size_t prof_max_dumps; /* ours: at most so many .u files; 0 = no limit */
	uint64_t interval;     /* bytes; 0 = no interval dumps */
	const char *prof_time_resolution;
	char prof_prefix[CONF_PREFIX_BYTES];
};

/* Defaults until conf_read. */
extern struct conf conf;

/* The sources in the order in which they are read; later ones win, key by key. NULL: not
 * there. */
enum { CONF_SOURCES = 5 };
struct conf_source {
	const char *what;
	const char *text;
};

/* Read all of them into `conf`, with jemalloc's messages on stderr. true: something was
 * there. */
bool conf_read(const struct conf_source sources[CONF_SOURCES]);

/* The same from where they are: the program's strings, /etc/malloc.conf, MALLOC_CONF. */
void conf_read_all(void);

/* Is it an option of jemalloc that has nothing to do with profiling? */
bool conf_is_other(const char *key, size_t bytes);

#endif
