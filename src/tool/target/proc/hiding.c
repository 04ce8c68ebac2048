/* SPDX-License-Identifier: MIT */
/* hiding.c -- programs that keep memory where malloc's hooks do not see it, and what to
 * say.
 *
 * Runtimes are in runtimes.h, allocators that are linked in here. Nothing is refused: the
 * program runs, and the report says how much it covers. */
#include "tool/target/proc/inspect.h"

#include <stdio.h>

#include "shared/compiler.h"
#include "tool/target/proc/hiding.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"

enum { ENVIRONMENT_MAX = 1 << 20 };

/* Allocators in the program, where there is no runtime that explains more. */
static const struct {
	uint32_t trait;
	const char *text;
} hidings[] = {
	{INSPECT_JEMALLOC,
	 "jemalloc is linked into the program, so LD_PRELOAD cannot wrap it; start it "
	 "with seep run directly, or use seep attach"},
	{INSPECT_TCMALLOC,
	 "tcmalloc is linked into the program, so LD_PRELOAD cannot wrap it; start it "
	 "with seep run directly, or use seep attach"},
	{INSPECT_MIMALLOC,
	 "mimalloc is linked into the program, so LD_PRELOAD cannot wrap it; start it "
	 "with seep run directly, or use seep attach"},
	{INSPECT_OWN_MALLOC,
	 "the program has a malloc of its own linked in, so LD_PRELOAD cannot wrap it; "
	 "start it with seep run directly, or use seep attach"},
};

uint32_t
inspect_runtimes(uint32_t traits)
{
	return traits >> INSPECT_RUNTIMES;
}

const char *
inspect_coverage(uint32_t traits)
{
	const char *text = runtimes_coverage(inspect_runtimes(traits));

	for (size_t i = 0; i < ARRAY_LEN(hidings) && text == NULL; i++) {
		if ((traits & hidings[i].trait) != 0)
			text = hidings[i].text;
	}
	return text;
}

uint32_t
inspect_not_redirected(uint32_t traits, int pid)
{
	struct buf environment = {0};
	char path[64];

	if (inspect_runtimes(traits) == 0)
		return traits;
	snprintf(path, sizeof path, "/proc/%d/environ", file_proc_task(pid));
	if (file_read(path, ENVIRONMENT_MAX, &environment, NULL) == 0)
		traits &= ~(runtimes_redirected(environment.data, environment.len)
			    << INSPECT_RUNTIMES);
	buf_done(&environment);
	return traits;
}

const char *
inspect_without_malloc(uint32_t traits)
{
	if ((traits & INSPECT_GO) == 0 || (traits & INSPECT_STATIC) == 0)
		return NULL;
	return runtime_info(RUNTIME_GO)->alone;
}

uint32_t
inspect_module_traits(const char *path)
{
	return runtimes_of_module(path) << INSPECT_RUNTIMES;
}

uint32_t
inspect_program_traits(const char *path)
{
	return runtimes_of_program(path) << INSPECT_RUNTIMES;
}
