/* SPDX-License-Identifier: MIT */
/* gperf_files.c -- names of heap profiles, and what becomes of old ones.
 *
 * PREFIX.0001.heap and so on; in programs started by a profiled one
 * PREFIX_<pid>.0001.heap, which gperftools tells them by HEAPPROFILE_USE_PID in their
 * environment, up to 2.10 by the highest bit of HEAPPROFILE's first character. Both are
 * understood. */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/dropin/peer.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <fcntl.h>
#include <string.h>

enum { ENTRIES_BYTES = 32 << 10 };

bool
gperf_prefix_from(const char *value, char *ret, size_t cap)
{
	struct text t = text_on(ret, cap);
	static const char *const ranks[] = {"PMIX_RANK", "PMI_RANK"};
	bool by_pid = proc_variable("HEAPPROFILE_USE_PID") != NULL;
	const char *slurm = proc_variable("SLURM_JOB_ID");
	char first;

	if (value == NULL || *value == '\0')
		return false;
	/* A byte of 0x80 and above may also be the beginning of a name in UTF-8. */
	if ((*value & 0x80) != 0 && value[1] != '\0' && (value[1] & 0x80) == 0)
		by_pid = true;
	first = by_pid ? (char)(*value & 0x7f) : *value;
	text_addn(&t, &first, 1);
	text_add(&t, value + 1);
	if (by_pid) {
		text_add(&t, "_");
		text_dec(&t, (uint64_t)sys_getpid());
	}
	for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
		const char *rank = proc_variable(ranks[i]);

		if (rank == NULL || *rank == '\0')
			continue;
		text_add(&t, ".rank-");
		text_add(&t, rank);
		if (slurm != NULL && *slurm != '\0') {
			text_add(&t, ".slurmid-");
			text_add(&t, slurm);
		}
		break;
	}
	return !t.cut;
}

/* Is it NAME.….heap? */
static bool
is_profile(const char *s, const char *name)
{
	static const char ext[] = ".heap";
	size_t n = text_len(s), head = text_len(name), tail = sizeof(ext) - 1;

	return n >= head + 1 + tail && memcmp(s, name, head) == 0 && s[head] == '.' &&
	       memcmp(s + n - tail, ext, tail) == 0;
}

static void
remove_in(int dir, const char *folder, const char *name, char *entries)
{
	long got;

	while ((got = SYS3(SYS_getdents64, dir, entries, ENTRIES_BYTES)) > 0) {
		for (long at = 0; at < got;) {
			const struct proc_dirent *e = (const void *)(entries + at);
			char path[GPERF_PATH_MAX];
			struct text t = text_on(path, sizeof(path));

			at += e->bytes;
			if (!is_profile(e->name, name))
				continue;
			text_add(&t, folder);
			text_add(&t, e->name);
			gperf_say(GPERF_MUCH, "Removing old heap profile ", path);
			SYS3(SYS_unlinkat, dir, e->name, 0);
		}
	}
}

void
gperf_cleanup(const char *prefix)
{
	char folder[GPERF_PATH_MAX];
	struct text t = text_on(folder, sizeof(folder));
	const char *name = prefix;
	char *entries = rt_map(ENTRIES_BYTES);
	long dir;

	for (const char *s = prefix; *s != '\0'; s++)
		if (*s == '/')
			name = s + 1;
	text_addn(&t, prefix, (size_t)(name - prefix));
	dir = sys_open(*folder == '\0' ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		       0);
	if (dir >= 0 && entries != NULL)
		remove_in((int)dir, folder, name, entries);
	if (dir >= 0)
		sys_close((int)dir);
	if (entries != NULL)
		rt_unmap(entries, ENTRIES_BYTES);
}
