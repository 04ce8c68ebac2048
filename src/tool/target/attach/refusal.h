/* SPDX-License-Identifier: MIT */
/* refusal.h -- may a process be attached to? Asked before anything is touched.
 *
 * Facts are read first, the decision is made from facts alone: so every refusal can be
 * tested, whatever the machine at hand allows. A refusal is one line: what, why, and the
 * one thing that helps. */
#ifndef SEEP_TARGET_REFUSAL_H
#define SEEP_TARGET_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tool/util/err.h"

struct refusal_facts {
	int pid;
	bool exists;
	char comm[64];
	char state; /* as in /proc/PID/stat */
	bool kernel_thread;
	bool ourselves;
	int tracer; /* 0 = none */
	char tracer_name[64];
	uid_t uid, our_uid;	    /* real uid of it, effective uid of ours */
	bool cap_ptrace, cap_admin; /* what we have */
	/* and CAP_DAC_OVERRIDE we have not: its memory is a file of its user */
	bool no_override;
	bool container;	      /* root without some of root's capabilities */
	int64_t yama;	      /* ptrace_scope; -1 = no such thing */
	bool our_child;	      /* it descends from us or from our parent's shell */
	int access;	      /* 0, or -errno of opening its memory */
	int64_t seccomp;      /* mode; -1 = not known */
	uint32_t traits;      /* enum inspect_traits of its program */
	bool other_namespace; /* its own mounts */
	bool attached;	      /* another seep has attached to it */
	int shares_with;      /* whose memory it has (vfork); 0 = its own */
	bool attached_here;   /* and that is its own, not inherited by fork */
};

void refusal_read(int pid, struct refusal_facts *ret_facts);

/* 0 when it may be tried, else -errno with the reason and the remedy. */
int refusal_check(const struct refusal_facts *f, struct err *e);

#endif
