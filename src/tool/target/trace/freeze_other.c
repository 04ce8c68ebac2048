/* SPDX-License-Identifier: MIT */
/* freeze_other.c -- processors whose threads we cannot stop yet. */
#include <errno.h>

#include "tool/target/trace/freeze.h"

int
freeze_stop(struct freeze *f, int but, struct err *e)
{
	(void)but;
	return err_set(e, -ENOSYS,
		       "%d: its threads cannot be stopped on this processor yet", f->pid);
}

int
freeze_copy(struct freeze *f, struct err *e)
{
	return err_set(e, -ENOSYS, "%d: it cannot be copied on this processor yet",
		       f->pid);
}

void
freeze_go(struct freeze *f)
{
	f->stopped = false;
}

void
freeze_late(void)
{
}
