/* SPDX-License-Identifier: MIT */
/* foreign.c -- see foreign.h. */
#include "tool/session/heap/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/hiding.h"
#include "tool/target/proc/inspect.h"
#include "tool/util/file.h"

static const struct {
	uint32_t trait;
	const char *name;
} by_trait[] = {
	{INSPECT_JEMALLOC, "jemalloc"},
	{INSPECT_TCMALLOC, "tcmalloc"},
	{INSPECT_MIMALLOC, "mimalloc"},
	{INSPECT_MUSL, "musl's malloc"},
	{INSPECT_SANITIZER, "a sanitizer's malloc"},
	{INSPECT_GO, "Go's allocator"},
};

/* Messages in them, for programs without symbols. */
static const struct {
	const char *text, *name;
} by_text[] = {
	{"<jemalloc>: ", "jemalloc"},
	{"mimalloc: error: ", "mimalloc"},
	{"TCMALLOC_TRANSFER_NUM_OBJ", "tcmalloc"},
};

/* Libraries that come in the place of libc's malloc, by the beginnings of their names. */
static const struct {
	const char *file, *name;
} by_file[] = {
	{"libjemalloc", "jemalloc"},	       {"libtcmalloc", "tcmalloc"},
	{"libmimalloc", "mimalloc"},	       {"ld-musl", "musl's malloc"},
	{"libc.musl", "musl's malloc"},	       {"libasan", "AddressSanitizer's malloc"},
	{"liblsan", "LeakSanitizer's malloc"}, {"libtsan", "ThreadSanitizer's malloc"},
	{"libsnmalloc", "snmalloc"},	       {"librpmalloc", "rpmalloc"},
};

const char *
foreign_library(const struct memmap *map)
{
	for (size_t k = 0; k < map->areas.len; k++) {
		const char *slash = strrchr(map->areas.data[k].name, '/');

		for (size_t n = 0; slash != NULL && n < ARRAY_LEN(by_file); n++) {
			if (strncmp(slash + 1, by_file[n].file,
				    strlen(by_file[n].file)) == 0)
				return by_file[n].name;
		}
	}
	return NULL;
}

static const char *
find_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *name = NULL;
	void *at = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return NULL;
	for (size_t n = 0; n < ARRAY_LEN(by_text) && name == NULL; n++) {
		if (memmem(at, (size_t)st.st_size, by_text[n].text,
			   strlen(by_text[n].text)) != NULL)
			name = by_text[n].name;
	}
	munmap(at, (size_t)st.st_size);
	return name;
}

const char *
foreign_linked(const char *path)
{
	struct inspect_elf elf = {0};
	const char *name = NULL;

	if (inspect_elf(path, &elf, NULL) < 0)
		return NULL;
	for (size_t n = 0; n < ARRAY_LEN(by_trait) && name == NULL; n++) {
		if ((elf.traits & by_trait[n].trait) != 0)
			name = by_trait[n].name;
	}
	if (name == NULL)
		name = find_text(path);
	if (name == NULL && (elf.traits & INSPECT_OWN_MALLOC) != 0)
		name = "a malloc of its own";
	return name;
}

const char *
foreign_allocator(const struct image *i)
{
	const char *library = foreign_library(i->map);
	char link[64];

	if (library != NULL)
		return library;
	snprintf(link, sizeof link, "/proc/%d/exe", file_proc_task(i->pid));
	return foreign_linked(i->path == NULL || i->exe == NULL ? link : i->exe);
}

/* Traits of the executable, by its name and by what is in it. */
static uint32_t
program_traits(const struct image *i)
{
	struct inspect_elf elf = {0};
	char link[64];

	snprintf(link, sizeof link, "/proc/%d/exe", file_proc_task(i->pid));
	inspect_elf(i->path == NULL || i->exe == NULL ? link : i->exe, &elf, NULL);
	return elf.traits;
}

const char *
foreign_collects(const struct image *i)
{
	const struct runtime_info *r = NULL;

	for (size_t k = 0; i->map != NULL && k < i->map->areas.len && r == NULL; k++)
		r = runtime_collecting(runtimes_of_module(i->map->areas.data[k].name));
	if (r == NULL)
		r = runtime_collecting(inspect_runtimes(program_traits(i)) &
				       ~RUNTIME_BIT(RUNTIME_GO));
	return r != NULL ? r->name : NULL;
}

static uint32_t
all_traits(const struct image *i)
{
	uint32_t traits = 0;

	if (i->exe != NULL)
		traits |= inspect_module_traits(i->exe);
	for (size_t k = 0; i->map != NULL && k < i->map->areas.len; k++)
		traits |= inspect_module_traits(i->map->areas.data[k].name);
	/* What is in the program is looked for last: that takes reading it. */
	if (inspect_coverage(traits) == NULL)
		traits |= program_traits(i);
	return i->path == NULL ? inspect_not_redirected(traits, i->pid) : traits;
}

const char *
foreign_hides(const struct image *i)
{
	return inspect_coverage(all_traits(i));
}

const char *
foreign_objects(const struct image *i)
{
	const struct runtime_info *r = runtime_with_heap(inspect_runtimes(all_traits(i)));

	return r != NULL ? r->name : NULL;
}

void
foreign_why(const char *name, const struct heapblocks *h, char *ret, size_t size)
{
	bool version = name != NULL &&
		       (strcmp(name, "jemalloc") == 0 || strcmp(name, "tcmalloc") == 0 ||
			strcmp(name, "mimalloc") == 0);

	if (h->inconsistent || h->refused)
		snprintf(ret, size, "seep cannot read its blocks: %s", h->why);
	else if (name == NULL)
		snprintf(ret, size, "%s", h->why);
	else
		snprintf(ret, size,
			 "its memory is managed by %s%s, whose blocks seep cannot read",
			 name,
			 version ? " in a version or build that seep does not know" : "");
}

int
foreign_refuse(const struct image *i, const struct heapblocks *h, char *ret_why,
	       size_t size, struct err *e)
{
	const char *none = inspect_without_malloc(program_traits(i));
	char what[300], why[300];

	image_what(i, what, sizeof what);
	ret_why[0] = '\0';
	if (none != NULL)
		return err_set(e, -ENOTSUP, "%s is %s %d", what, none, i->pid);
	foreign_why(foreign_allocator(i), h, why, sizeof why);
	snprintf(ret_why, size, "%s", why);
	if (i->path != NULL)
		return err_set(e, -ENOTSUP, "%s: %s", what, why);
	return err_set(e, -ENOTSUP,
		       "%s: %s; try: seep watch %d (which regions grow), seep attach "
		       "%d (which code allocates)",
		       what, why, i->pid, i->pid);
}
