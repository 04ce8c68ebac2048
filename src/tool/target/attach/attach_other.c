/* SPDX-License-Identifier: MIT */
/* attach_other.c -- seep attach on processors whose instructions it does not know: it
 * says so. */
#include <errno.h>

#include "tool/target/attach/armed.h"
#include "tool/target/attach/attach.h"
#include "tool/target/attach/oldblocks.h"
#include "tool/target/run/held.h"

static int
refuse(int pid, struct err *e)
{
	return err_set(
		e, -ENOSYS,
		"%d: seep attach knows x86-64 only; start the program with seep run",
		pid);
}

int
attach_look(int pid, const struct attach_settings *s, struct attach *ret, struct err *e)
{
	(void)s, (void)ret;
	return refuse(pid, e);
}

int
attach_process(int pid, const struct attach_settings *s, struct attach *ret,
	       struct err *e)
{
	(void)s, (void)ret;
	return refuse(pid, e);
}

int
attach_keep_up(struct attach *a, struct err *e)
{
	return refuse(a->pid, e);
}

void
attach_close(struct attach *a)
{
	livefile_close(&a->live);
}

int
detach_patches(int pid, struct detached *ret, struct err *e)
{
	(void)ret;
	return refuse(pid, e);
}

int
detach_unmap(int pid, struct detached *ret, struct err *e)
{
	(void)ret;
	return refuse(pid, e);
}

int
detach_recording(int pid, struct livefile *ret, struct err *e)
{
	(void)ret;
	return refuse(pid, e);
}

bool
attach_settle(struct attach *a)
{
	(void)a;
	return true;
}

uint64_t
attach_cycles(void)
{
	return 0;
}

int
tracee_open(int pid, struct tracee *ret_tracee, struct err *e)
{
	(void)ret_tracee;
	return refuse(pid, e);
}

void
tracee_close(struct tracee *t)
{
	(void)t;
}

void
tracee_copy_end(struct tracee_copy *c, struct tracee *stopped)
{
	(void)c, (void)stopped;
}

int
tracee_read(const struct tracee *t, uint64_t at, void *ret, size_t n, struct err *e)
{
	(void)at, (void)ret, (void)n;
	return refuse(t->pid, e);
}

bool
armed_loaded(int pid)
{
	(void)pid;
	return false;
}

int
armed_switch_on(int pid, const struct attach_settings *s, struct livefile *ret,
		struct err *e)
{
	(void)s, (void)ret;
	return refuse(pid, e);
}

bool
held_possible(void)
{
	return false;
}

int
held_prepare(void)
{
	return -ENOSYS;
}

int
held_take(int pid, struct held *ret, struct err *e)
{
	(void)ret;
	return refuse(pid, e);
}

int
held_wait(const struct held *h, struct err *e)
{
	return refuse(h->pid, e);
}

int
held_release(const struct held *h, struct err *e)
{
	return refuse(h->pid, e);
}

void
oldblocks_choose(const struct procmem *m, const struct memmap *map, struct oldblocks *ret)
{
	(void)m, (void)map;
	*ret = (struct oldblocks){0};
}

int
oldblocks_watch(const struct tracee *t, uint64_t config, const struct oldblocks *o,
		struct err *e)
{
	(void)config, (void)o;
	return refuse(t->pid, e);
}

int
oldblocks_read(struct livefile *f, struct oldblocks *ret, struct err *e)
{
	(void)ret;
	return refuse(f->pid, e);
}

void
oldblocks_done(struct oldblocks *o)
{
	vec_done(&o->chosen);
}
