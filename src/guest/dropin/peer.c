/* SPDX-License-Identifier: MIT */
/* peer.c -- which other tool's profiler is asked for, and who is told what. See peer.h.
 *
 * Memory. The recorder's page is not wiped by fork here, and its recording is private: a
 * child has a copy of all of it and goes on, as the peers' own children do. What other
 * threads were about when the process was copied is undone in the child (peer_forked):
 * their journals say how, and a lock that is taken is taken by nobody. libc calls it, as
 * the first of all handlers for a child, because libc has forks of its own that call none
 * of our hooks: daemon, forkpty.
 *
 * SIGTERM: handled while the program leaves it at its default, and shown as the default
 * (guard.c). After the peer has written its file the signal is sent again, and ends the
 * process. */
#include "guest/dropin/peer.h"

#include "guest/dropin/mtrace/mtrace.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/fork_locks.h"
#include "guest/life/guard.h"
#include "guest/record/census/census_blocks.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);

/* In the order in which they are asked. */
static const struct peer *const peers[] = {
	&peer_jemalloc,
	&peer_gperf,
};

const struct peer *peer;
bool peer_hears_forks;

void
peer_say(const char *text, const char *more)
{
	struct iovec v[4] = {
		{(void *)(uintptr_t) "<seep>: ", 8},
		{(void *)(uintptr_t)text, text_len(text)},
		{(void *)(uintptr_t)more, more == NULL ? 0 : text_len(more)},
		{(void *)(uintptr_t) "\n", 1},
	};

	if (!rt_sealed)
		SYS3(SYS_writev, 2, v, 4);
}

bool
peer_choose(struct recorder_settings *s, const char *forced)
{
	bool force = forced != NULL && forced[0] != '\0';

	if (force && text_same(forced, "mtrace")) { /* a log of its own, no recording */
		mtrace_begin();
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
		if (force && !text_same(forced, peers[i]->name))
			continue;
		if (peers[i]->wanted(s, force)) {
			s->own_memory = true;
			s->dir[0] = '\0';
			peer = peers[i];
			return true;
		}
	}
	return false;
}

/* ---- the end ---- */

static uint32_t ended_pid; /* the process that has been told */

void
peer_ending(enum peer_end how)
{
	struct recorder *r = recorder_now;
	uint32_t pid;

	if (how != PEER_EXIT)
		mtrace_leaving();
	if (peer == NULL || r->base == NULL || rt_sealed)
		return;
	pid = (uint32_t)sys_getpid();
	/* Not for a vfork child, which shares our memory. */
	if (r->head->pid != pid || (how != PEER_EXIT && !peer->ends_told()))
		return;
	if (__atomic_exchange_n(&ended_pid, pid, __ATOMIC_ACQ_REL) != pid)
		peer->ending(how);
}

static void
on_exit_handlers(void *arg)
{
	(void)arg;
	peer_ending(PEER_EXIT);
}

static void
on_term(int sig, siginfo_t *info, void *context)
{
	struct sigaction dfl;

	(void)info, (void)context;
	peer_ending(PEER_TERM);
	memset(&dfl, 0, sizeof(dfl));
	dfl.sa_handler = SIG_DFL;
	next.sigaction(sig, &dfl, NULL);
	/* Blocked until we return. */
	SYS3(SYS_tgkill, sys_getpid(), sys_gettid(), sig);
}

void
peer_handle_term(void)
{
	guard_handle(SIGTERM, on_term);
}

void
peer_began(void)
{
	if (peer == NULL)
		return;
	/* Now, so that it runs after all handlers that the program registers. */
	__cxa_atexit(on_exit_handlers, NULL, NULL);
	/* libc's own daemon and forkpty do not call the fork that we stand in front
	 * of. */
	peer_hears_forks = pthread_atfork(NULL, NULL, peer_forked) == 0;
	peer->began();
	if (peer->ends_told())
		peer_handle_term();
}

/* ---- fork ---- */

static void
page_unlock(struct recorder *r, uint32_t ref)
{
	struct rec_bucket *first = rec_at(r, ref);

	if (first->lock != 0)
		first->lock = 0;
}

static void
pages_unlock(struct recorder *r)
{
	const uint32_t *root = (const void *)(r->base + REC_ROOT_OFF);

	for (uint32_t i = 0; i < REC_ROOT_SLOTS; i++) {
		const uint32_t *mid = rec_at(r, root[i]);

		for (uint32_t k = 0; root[i] != 0 && k < REC_MID_SLOTS; k++) {
			const uint32_t *leaf = rec_at(r, mid[k]);

			for (uint32_t n = 0; mid[k] != 0 && n < REC_LEAF_SLOTS; n++)
				if (leaf[n] != 0)
					page_unlock(r, leaf[n]);
		}
	}
}

/* Calls `fn` for each object of a kind of chunk. */
static void
objects_each(struct recorder *r, enum rec_chunk_kind kind, uint32_t bytes,
	     void (*fn)(struct recorder *, void *))
{
	for (uint32_t index = r->head->chunk_lists[kind]; index != 0;) {
		struct rec_chunk *c = (void *)(r->base + REC_CHUNKS_OFF +
					       (uint64_t)(index - 1) * REC_CHUNK_BYTES);
		uint32_t used = c->used < REC_CHUNK_BYTES ? c->used : REC_CHUNK_BYTES;

		for (uint32_t at = bytes < sizeof(*c) ? sizeof(*c) : bytes;
		     at + bytes <= used; at += bytes)
			fn(r, (unsigned char *)c + at);
		index = c->next;
	}
}

static void
site_unlock(struct recorder *r, void *site)
{
	struct rec_site *s = site;

	(void)r;
	if (s->lock != 0)
		s->lock = 0;
}

/* What another thread had begun: as if it had not. */
static void
row_undo(struct recorder *r, void *row)
{
	struct rec_thread *t = row;

	if (t->journal_count == 0 || t->journal_count > REC_JOURNAL_MAX ||
	    (tls.self != NULL && tls.self->row == t))
		return;
	for (uint32_t i = t->journal_count; i-- > 0;)
		*(uint64_t *)(void *)(r->base + t->journal[i].off) = t->journal[i].old;
	t->journal_count = 0;
}

void
peer_forked(void)
{
	struct recorder *r = recorder_now;

	if (peer == NULL || r->base == NULL)
		return;
	locks_forked();
	r->head->pid = (uint32_t)sys_getpid();
	if ((r->head->flags & REC_FLAG_THREADED) != 0) {
		memset(r->head->locks, 0, sizeof(r->head->locks));
		r->idle_lock = 0;
		objects_each(r, REC_CHUNK_SITE, sizeof(struct rec_site), site_unlock);
		pages_unlock(r);
		objects_each(r, REC_CHUNK_THREAD, sizeof(struct rec_thread), row_undo);
	}
	if (peer->forked != NULL)
		peer->forked();
}

/* ---- what the gate is told ---- */

void
peer_look(bool allocations, bool every, bool frees)
{
	struct recorder *r = recorder_now;

	gate.every = every;
	gate.peer_frees = frees;
	if (frees)
		gate.filter = &sample_all;
	/* Not the short way through exact mode, which asks nobody. */
	if (allocations || frees)
		r->exact = r->hot = false;
	COMPILER_BARRIER();
	gate.peer_looks = allocations;
}
