/* SPDX-License-Identifier: MIT */
/* attached_beat.c -- see attached_beat.h.
 *
 * A timer whose signal does nothing but count up. Calls that wait begin again after
 * it. */
#include "tool/session/attach/attached_beat.h"

#include <signal.h>
#include <sys/time.h>

static VEC(uint64_t *) words; /* not changed while the timer runs */

static void
on_alarm(int sig)
{
	(void)sig;
	for (size_t i = 0; i < words.len; i++)
		__atomic_fetch_add(words.data[i], 1, __ATOMIC_RELAXED);
}

void
attached_beat_begin(const struct attached_sessions *ss)
{
	struct itimerval every = {.it_interval = {.tv_sec = 1},
				  .it_value = {.tv_sec = 1}};
	struct sigaction act = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < ss->len; i++) {
		const struct session *s = ss->data[i];

		if (!s->armed && !s->ended && s->attach.control != NULL)
			vec_push(&words, &s->attach.control->heartbeat);
	}
	if (words.len == 0)
		return;
	on_alarm(SIGALRM);
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

/* The handler stays: a last signal may be on its way, and finds nothing to do. */
void
attached_beat_end(void)
{
	struct itimerval none = {0};

	if (words.len == 0)
		return;
	setitimer(ITIMER_REAL, &none, NULL);
	vec_done(&words);
}
