/* SPDX-License-Identifier: MIT */
/* peer_massif.h -- massif's command line, read into the options of a run, and what it
 * writes at its end. */
#ifndef SEEP_COMPAT_PEER_MASSIF_H
#define SEEP_COMPAT_PEER_MASSIF_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/compat/leaks/leak_opts.h"
#include "tool/format/text/massif_save.h"
#include "tool/session/run/run_impl.h"
#include "tool/util/buf.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/vec.h"

struct peer_massif_names VEC_BODY(const char *);

/* What one run of it has beside the options of the run. */
struct peer_massif {
	struct massif_opts opts;
	const char *out;		/* pattern of the file's name */
	struct peer_massif_names alloc; /* functions that only allocate for others */
	struct buf desc;
	enum leak_only only; /* which processes */
	bool quiet;
};

/* For the help text. */
extern const struct opt peer_massif_opts[];

/* Reads the words up to the program, which is argv[*ret_at]; messages are those of `cmd`.
 * True: fills the structs; to be freed with peer_massif_done in any case. False: nothing
 * is to be run, exit with *ret_status. */
bool peer_massif_read(const struct cmd *cmd, int argc, char **argv,
		      struct run_opts *ret_run, struct peer_massif *ret, int *ret_at,
		      int *ret_status);
void peer_massif_done(struct peer_massif *m);

/* Writes the files of a run whose names are in place: `ctx` is a struct peer_massif. What
 * was written is told. */
int peer_massif_write(void *ctx, struct prof *p, uint32_t pid, struct err *e);

#endif
