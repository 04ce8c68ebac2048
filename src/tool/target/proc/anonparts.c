/* SPDX-License-Identifier: MIT */
/* anonparts.c -- see anonparts.h.
 *
 * The recorder's mappings have a kernel flag of their own (not in core dumps), so the
 * kernel never joins one with a mapping of the program: each row of smaps is the
 * recorder's or is not. */
#include "tool/target/proc/anonparts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/target/proc/procfs.h"
#include "tool/target/proc/procmem.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/buf.h"
#include "tool/util/x.h"

enum {
	OWN_MAX = 65536,
	STACK_MOST_KIB = 8 << 10, /* the kernel joins a stack with a mapping behind it */
};

struct area {
	uint64_t start, end;
	bool file, shared, own, stack, bss;
};

static bool
overlaps(const struct area *a, const struct anonparts_range *own, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (own[i].start != 0 && own[i].start < a->end &&
		    own[i].start + own[i].bytes > a->start)
			return true;
	}
	return false;
}

static bool
holds_one(const struct area *a, const uint64_t *stacks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (stacks[i] >= a->start && stacks[i] < a->end)
			return true;
	}
	return false;
}

static bool
is_ours(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && strncmp(slash + 1, "libseep", 7) == 0;
}

/* "START-END PERMS OFFSET DEV INODE PATH": true when it is one. */
static bool
read_header(const char *line, const struct area *before, struct area *ret)
{
	uint64_t inode = 0;
	char perms[8];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*s %" SCNu64 " %n",
		   &ret->start, &ret->end, perms, &inode, &path) < 4)
		return false;
	ret->file = inode != 0;
	ret->shared = perms[3] == 's';
	ret->own = ret->file && path > 0 && is_ours(line + path);
	ret->stack = path > 0 && strncmp(line + path, "[stack", 6) == 0;
	/* The zeroed data of a file's last segment comes right behind it. */
	ret->bss = !ret->file && !ret->stack && before->file && !before->shared &&
		   ret->start == before->end && perms[1] == 'w' &&
		   (path == 0 || line[path] == '\0');
	if (ret->bss)
		ret->own = before->own;
	return true;
}

void
anonparts_add_up(char *smaps, const struct anonparts_range *own, size_t nown,
		 const uint64_t *stacks, size_t nstacks, struct anonparts *ret)
{
	struct area a = {0}, before = {0};
	char *line, *rest = smaps;

	*ret = (struct anonparts){0};
	while ((line = strsep(&rest, "\n")) != NULL) {
		uint64_t kib;

		if (*line >= 'A' && *line <= 'Z') {
			if (sscanf(line, "Anonymous: %" SCNu64, &kib) != 1 || kib == 0)
				continue;
			if (a.own)
				ret->own_kib += kib;
			else if (a.stack) {
				ret->stack_kib += kib;
				if (kib > STACK_MOST_KIB)
					ret->heap_kib += kib - STACK_MOST_KIB;
			} else if (a.file || a.bss)
				ret->static_kib += kib;
			else
				ret->heap_kib += kib;
			continue;
		}
		before = a;
		if (!read_header(line, &before, &a))
			continue;
		a.own = a.own || overlaps(&a, own, nown);
		a.stack = a.stack || (!a.file && holds_one(&a, stacks, nstacks));
	}
}

uint32_t
anonparts_own(const struct livefile *f, const struct procmem *m,
	      struct anonparts_range **ret_own)
{
	const struct rec_hold *hold =
		(const void *)((const char *)f->head + REC_HOLD_OFF);
	uint32_t n = hold->maps_max < OWN_MAX ? hold->maps_max : OWN_MAX, used = 1;
	struct anonparts_range *own = xcalloc(n + 1, sizeof *own);

	if (procmem_read(m, hold->maps, own + 1, n * sizeof *own) < 0)
		n = 0;
	if (hold->data_start < hold->data_end)
		own[0] = (struct anonparts_range){hold->data_start,
						  hold->data_end - hold->data_start};
	for (uint32_t i = 1; i <= n; i++) {
		if (own[i].start != 0 && own[i].bytes < UINT64_C(1) << 40)
			own[used++] = own[i];
	}
	*ret_own = own;
	return used;
}

/* `f`: its recording, or NULL. */
static int
read_parts(int pid, struct livefile *f, struct anonparts *ret)
{
	struct procmem m = PROCMEM_NONE;
	struct procmem_words stacks = {0};
	struct anonparts_range *own = NULL;
	struct buf text = {0};
	uint32_t n = 0;
	int r = procmem_open(pid, &m, NULL);

	if (r == 0 && f != NULL)
		r = livefile_map_all(f, NULL);
	if (r == 0)
		r = procmem_smaps(&m, &text, NULL);
	if (r == 0 && f != NULL)
		n = anonparts_own(f, &m, &own) - 1;
	if (r == 0) {
		procmem_stacks(&m, &stacks);
		buf_add_char(&text, '\0');
		anonparts_add_up(text.data, own != NULL ? own + 1 : NULL, n, stacks.data,
				 stacks.len, ret);
	}
	free(own);
	vec_done(&stacks);
	buf_done(&text);
	procmem_close(&m);
	return r;
}

int
anonparts_read(struct livefile *f, struct anonparts *ret)
{
	return read_parts(f->pid, f, ret);
}

int
anonparts_read_plain(int pid, struct anonparts *ret)
{
	return read_parts(pid, NULL, ret);
}
