/* SPDX-License-Identifier: MIT */
/* attach_config.c -- what the injected code is told of the process, beside its hooks. See
 * attach_plan.h. */
#include "tool/target/attach/attach_plan_impl.h"

#include <string.h>

#include "tool/target/trace/detour.h"

/* The code that calls main: stacks end there. glibc calls main from a function right in
 * front of __libc_start_main; before 2.34 from that itself. */
static void
find_root(const struct tracee *t, struct plan *p)
{
	struct blob_config *c = plan_config(p);
	uint64_t at = p->allocators.start_main, n = p->allocators.start_main_bytes;
	uint8_t code[PLAN_FUNCTION_MAX];

	if (at == 0 || n == 0 || n > sizeof code || tracee_read(t, at, code, n, NULL) < 0)
		return;
	c->root_start = at;
	c->root_end = at + n;
	for (uint64_t before = 16; before <= 512; before += 16) {
		if (detour_calls(code, n, at, at - before))
			c->root_start = at - before;
	}
}

/* The unwinder begins at .eh_frame_hdr, which static programs lack: eight bytes that lead
 * to .eh_frame, without the table that others have there, will do. They go to the end of
 * its constants. */
static void
make_eh_header(const struct tracee *t, struct plan *p, struct object *o)
{
	enum { EH_PCREL_SDATA4 = 0x1b, EH_OMIT = 0xff };
	uint8_t hdr[8] = {1, EH_PCREL_SDATA4, EH_OMIT, EH_OMIT}, zeros[8] = {0};
	uint64_t frame = o->eh_hdr == 0 && o->spare != 0 ? object_eh_frame(t, o) : 0;
	int32_t distance = (int32_t)(frame - (o->spare + 4));

	if (frame == 0 || o->end - o->start > PLAN_REACH)
		return;
	memcpy(hdr + 4, &distance, sizeof distance);
	plan_add_patch(p, o->spare, zeros, hdr, sizeof hdr);
	o->eh_hdr = o->spare;
}

void
plan_fill_config(const struct tracee *t, struct plan *p)
{
	struct blob_config *c = plan_config(p);

	c->arena = p->data.start;
	c->arena_bytes = p->data.bytes;
	c->clock_gettime = p->allocators.clock_gettime;
	c->loader_state = p->objects.loader_state;
	c->dl_find_object = p->allocators.dl_find_object;
	c->stack_end = p->objects.stack_end;
	for (size_t i = 0; i < p->objects.all.len; i++) {
		struct object *o = &p->objects.all.data[i];

		if (!o->program)
			continue;
		c->program_start = o->start;
		c->program_end = o->end;
		if (c->dl_find_object == 0)
			make_eh_header(t, p, o);
	}
	find_root(t, p);
}
