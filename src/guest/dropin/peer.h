/* SPDX-License-Identifier: MIT */
/* peer.h -- profilers of other tools that libseep.so stands in for, by their own
 * settings.
 *
 * At most one of them is on in a process. It acts only when the SEEP variable is unset
 * and the process has no such profiler of its own, or when SEEP=compat=NAME forces it. It
 * records into private memory, which a forked child has a copy of and goes on with; the
 * only files are those that the peer itself would write.
 *
 * A peer is one row of the table in peer.c: the functions below. All of them run in the
 * target: nothing allocates, nothing waits, errno is kept by the caller. */
#ifndef SEEP_PEER_H
#define SEEP_PEER_H

#include "guest/record/file/recorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How the process ends. Each is told, once: the first one only. */
enum peer_end {
	PEER_EXIT, /* exit handlers run, or main returned; after those registered later */
	PEER_LEAVE, /* _exit. May be inside a signal handler */
	/* SIGTERM, which the program has left at its default. Inside the handler */
	PEER_TERM,
};

struct peer {
	const char *name;  /* as in SEEP=compat=NAME */
	bool wants_usable; /* of events, the usable sizes; else they are 0 */
	/* Are its settings there? Reads them, and says in `s` how to record (mode,
	 * rate_bytes); the rest of `s` is set already. Called once, before anything is
	 * recorded. */
	bool (*wanted)(struct recorder_settings *s, bool forced);
	/* Recording has begun. */
	void (*began)(void);
	/* A thread has attached: set its `silent`. May be NULL. */
	void (*thread)(struct thread *t);
	/* Events, while gate.peer_looks is set (peer_look). Called outside the recorder,
	 * so that it may take its time: a dump, for one. `passed`: bytes that this thread
	 * has allocated since it was told so last; 0 when neither sampled nor exact
	 * recording looked at this block. `recorded`: it is in the recording now. */
	void (*allocated)(size_t usable_bytes, size_t bytes, uint64_t passed,
			  bool recorded);
	/* May be NULL. */
	void (*freed)(size_t usable_bytes);
	void (*ending)(enum peer_end how);
	/* Does it want to be told of SIGTERM and _exit? Asked after `began`. */
	bool (*ends_told)(void);
	/* This is a forked child now. May be NULL. */
	void (*forked)(void);
};

extern const struct peer peer_jemalloc, peer_gperf;

/* The one that is on; NULL: none. */
extern SEEP_OWN const struct peer *peer;

/* For life.c. peer_choose: with SEEP unset (`forced` NULL or "") or SEEP=compat=forced;
 * true: `s` is complete and says to record. */
bool peer_choose(struct recorder_settings *s, const char *forced);
void peer_began(void);
/* This is a forked child now. Called once: by libc if peer_hears_forks, but for _Fork,
 * which tells nobody. */
void peer_forked(void);
extern SEEP_OWN bool peer_hears_forks;
void peer_ending(enum peer_end how);
/* Be told of SIGTERM, while the program leaves it at its default. Also for mtrace, which
 * is none of the peers here: it may be on besides. */
void peer_handle_term(void);

/* For a peer. Look at every allocation (`every`: in sampled mode too, not only at
 * samples) and, with `frees`, at every free. */
void peer_look(bool allocations, bool every, bool frees);

/* One line to stderr, `text` first; without a newline in it. */
void peer_say(const char *text, const char *more);

#endif
