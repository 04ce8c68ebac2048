/* SPDX-License-Identifier: MIT */
/* armed.c -- see armed.h.
 *
 * The library exports a page with room for settings and a word (shared/inject.h). Both
 * are written from outside; a thread that has allocated a megabyte since it last looked
 * finds the word and begins. Where we are not root the recording is made in a folder of
 * ours: a nameless one could not be opened. */
#include "tool/target/attach/armed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/target/proc/objects.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/control.h"
#include "tool/target/run/find.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/clock.h"

enum {
	WAIT_MS = 5000,
	NAP_MS = 10,
};

static bool
is_libseep(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash != NULL ? slash + 1 : path, "libseep.so") == 0;
}

bool
armed_loaded(int pid)
{
	struct procfs_maps maps;
	struct procfs_map m;
	bool found = false;

	procfs_maps_open(&maps, pid, NULL);
	while (!found && procfs_maps_next(&maps, &m))
		found = is_libseep(m.path);
	procfs_maps_close(&maps);
	return found;
}

static void
see_switch(void *ctx, const struct object_symbol *s)
{
	if (s->exported && strcmp(s->name, "seep_switch") == 0 &&
	    s->bytes == sizeof(struct life_switch))
		*(uint64_t *)ctx = s->addr;
}

static int
find_switch(const struct tracee *t, uint64_t *ret_at, struct err *e)
{
	struct objects os = {0};
	struct life_switch sw = {0};
	int r = objects_read(t, &os, e);

	*ret_at = 0;
	for (size_t i = 0; r == 0 && i < os.all.len && *ret_at == 0; i++) {
		if (is_libseep(os.all.data[i].path))
			object_symbols(t, &os.all.data[i], see_switch, ret_at, NULL);
	}
	objects_done(&os);
	if (r == 0 && (*ret_at == 0 || tracee_read(t, *ret_at, &sw, sizeof sw, e) < 0 ||
		       sw.bytes != sizeof sw))
		r = err_set(
			e, -EPROTO,
			"%d: it was started with another version of libseep.so; use the seep of that version",
			t->pid);
	return r;
}

/* Waits for the recording to be there. */
static int
await(int pid, struct livefile *ret, struct err *e)
{

	for (int ms = 0; ms < WAIT_MS; ms += NAP_MS) {
		if (target_find_pid(pid, ret, NULL) == 0)
			return 0;
		clock_nap(NAP_MS * 1000000);
	}
	return err_set(
		e, -EAGAIN,
		"%d: switched on; recording begins with its next allocations: seep "
		"report %d",
		pid, pid);
}

static int
write_switch(const struct tracee *t, uint64_t at, const struct attach_settings *s,
	     const char *dir, struct err *e)
{
	char text[LIFE_SWITCH_BYTES] = "";
	uint32_t word = LIFE_SWITCH_ON;
	int r;

	snprintf(text, sizeof text, "mode=%s,max=%llu%s%s",
		 s->mode == REC_MODE_EXACT ? "exact" : "sample",
		 (unsigned long long)s->max_bytes, *dir != '\0' ? ",dir=" : "", dir);
	if (s->mode == REC_MODE_SAMPLE)
		snprintf(text + strlen(text), sizeof text - strlen(text), ",rate=%llu",
			 (unsigned long long)s->rate_bytes);
	r = tracee_write(t, at + offsetof(struct life_switch, settings), text,
			 sizeof text, e);
	if (r == 0)
		r = tracee_write(t, at + offsetof(struct life_switch, word), &word,
				 sizeof word, e);
	return r;
}

int
armed_switch_on(int pid, const struct attach_settings *s, struct livefile *ret,
		struct err *e)
{
	struct tracee t = TRACEE_NONE;
	char dir[64] = "";
	uint64_t at;
	int r;

	if (target_find_pid(pid, ret, NULL) == 0) {
		if (ret->head->paused != 1 || ret->copied) {
			livefile_close(ret);
			return err_set(e, -EBUSY,
				       "%d: it is being recorded already; see: seep "
				       "report %d",
				       pid, pid);
		}
		control_pause(ret, false);
		return 0;
	}
	if (geteuid() != 0) {
		snprintf(dir, sizeof dir, "/tmp/seep.XXXXXX");
		if (mkdtemp(dir) == NULL)
			return err_sys(e, -errno, "/tmp: cannot make a folder");
	}
	r = tracee_open(pid, &t, e);
	if (r == 0)
		r = find_switch(&t, &at, e);
	if (r == 0)
		r = write_switch(&t, at, s, dir, e);
	tracee_close(&t);
	if (r == 0)
		r = await(pid, ret, e);
	return r;
}
