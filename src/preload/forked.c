/* SPDX-License-Identifier: MIT */
/* forked.c -- see forked.h. Locks in the recording are another matter: a child begins one of its own, or its peer's
 * profiler frees them (peer.c). */
#include "preload/forked.h"

#include "preload/fence.h"
#include "preload/gate.h"
#include "preload/inside.h"
#include "preload/jit.h"
#include "preload/spare.h"
#include "preload/wrong_align.h"
#include "preload/zone_queue.h"

void
locks_forked(void)
{
	struct recorder *r = recorder_now;

	queue_forked();
	fence_forked();
	jit_forked();
	inside_forked();
	spare_forked();
	wrong_align_forked();
	/* On the recorder's page, which may have been kept. */
	if (r->base != NULL)
		lock_once_forked(&r->errors_lock, tls.self != NULL ? tls.self->me : 0);
}
