/* SPDX-License-Identifier: MIT */
/* peer_heapcheck.c -- see peer_heapcheck.h.
 *
 * Modes: minimal, normal, strict and as-is differ in what of the program's beginning and
 * end they look at; here each looks when everything has run, as strict does, because what
 * is freed by then is no leak. draconian also calls lost what is still reachable. local
 * looks only where the program says so (HeapLeakChecker in compat's heap-checker.h). The
 * report is seep's; the last line and the exit status are gperftools'.
 *
 * The recording is a file in shared memory for as long as the process lives, so that the
 * tool finds it. */
#include "guest/dropin/peer_heapcheck.h"

#include "guest/dropin/peer.h"
#include "guest/hooks/gate.h"
#include "guest/life/hold.h"
#include "guest/life/inside.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>

#include "seep/seep.h"

struct _IO_FILE;
extern int fflush(struct _IO_FILE *file);

enum { LEAK_STATUS = 1, MAPS_BYTES = 8192, WRITABLE = 2 /* W_OK */ };

static enum { OFF, LOCAL, GLOBAL, DRACONIAN } mode;

/* gperftools itself is there, in a version that still has one. */
static bool
has_real_one(void)
{
	bool there = dlsym(RTLD_NEXT, "_ZN15HeapLeakChecker8IsActiveEv") != NULL;

	/* The message, if it is not: told at the first call and freed by the second. Else
	 * it would be freed later, as a block that nobody has seen. */
	if (!there) {
		dlerror();
		dlerror();
	}
	return there;
}

bool
heapcheck_wanted(struct recorder_settings *s)
{
	static const char *const global[] = {"minimal", "normal", "strict", "as-is"};
	const char *value = proc_variable("HEAPCHECK");
	struct text dir = text_on(s->dir, sizeof(s->dir));

	mode = OFF;
	if (value == NULL || value[0] == '\0' || has_real_one())
		return false;
	for (size_t i = 0; i < ARRAY_LEN(global); i++) {
		if (text_same(value, global[i]))
			mode = GLOBAL;
	}
	if (text_same(value, "draconian"))
		mode = DRACONIAN;
	else if (text_same(value, "local"))
		mode = LOCAL;
	if (mode == OFF) {
		peer_say("HEAPCHECK: minimal, normal, strict, draconian, as-is or local, "
			 "not: ",
			 value);
		return false;
	}
	s->mode = REC_MODE_EXACT;
	text_add(&dir, SYS3(SYS_faccessat, -100, "/dev/shm", WRITABLE) == 0 ? "/dev/shm"
									    : "/tmp");
	return true;
}

bool
heapcheck_on(void)
{
	return mode != OFF && recorder_now->base != NULL;
}

/* The name of our recording, which is mapped at `base`, into `to`; "" when it is not
 * found. */
static void
recording_name(const unsigned char *base, char *to, size_t cap)
{
	static char text[MAPS_BYTES];
	char start[20];
	struct text key = text_on(start, sizeof(start)), name = text_on(to, cap);
	long fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), n;
	size_t have = 0;

	text_hex(&key, (uintptr_t)base, 12);
	while (fd >= 0 &&
	       (n = sys_read((int)fd, text + have, MAPS_BYTES - 1 - have)) > 0) {
		char *line = text, *end;

		have += (size_t)n;
		text[have] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
			char *path = memchr(line, '/', (size_t)(end - line));

			if (memcmp(line, start, key.len) == 0 && line[key.len] == '-' &&
			    path != NULL)
				text_addn(&name, path, (size_t)(end - path));
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
	}
	if (fd >= 0)
		sys_close((int)fd);
	if (name.cut)
		to[0] = '\0';
}

static void
remove_recording(void)
{
	char path[600];

	recording_name(recorder_now->base, path, sizeof(path));
	if (path[0] != '\0')
		sys_unlink(path);
}

void
heapcheck_ending(uintptr_t sp)
{
	int found = 0;

	if (mode == OFF || recorder_now->base == NULL || rt_sealed)
		return;
	if (mode != LOCAL)
		found = inside_look(mode == DRACONIAN ? INSIDE_DRACONIAN : INSIDE_ALL,
				    hold_exit_sp(sp));
	remove_recording();
	mode = OFF;
	if (found == 0)
		return;
	if (found < 0) /* a gate that cannot look must not let everything through */
		peer_say(
			"HEAPCHECK: could not look for leaks, exiting with an error; is there "
			"a program seep beside libseep.so, or in PATH?",
			NULL);
	else
		peer_say("Exiting with error code (instead of crashing) because of "
			 "whole-program memory leaks",
			 NULL);
	fflush(NULL); /* exit would have done that after us */
	for (;;)
		SYS1(SYS_exit_group, LEAK_STATUS);
}

SEEP_EXPORT void
seep_leak_cancel(void)
{
	hold_wanted(0);
	if (mode != OFF)
		mode = LOCAL;
}
