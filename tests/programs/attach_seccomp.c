/* SPDX-License-Identifier: MIT */
/* attach_seccomp.c -- as attach_steps.c under a seccomp filter that kills for every system call but
 * those that it makes itself. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "truth.h"

#define ALLOW(nr)                                                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                   \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *volatile kept[4096]; /* or the compiler drops it all */
static unsigned nkept;
static struct tally confined = {.name = "make_confined"};

TRUTH_NOINLINE static void
make_confined(void)
{
	for (int i = 0; i < 29; i++) {
		kept[nkept++ % 4096] = malloc(59);
		tally_alloc(&confined, 59);
	}
	for (int i = 0; i < 19; i++) {
		void *volatile p = malloc(97);

		tally_alloc(&confined, 97);
		free(p);
		tally_free(&confined, 97);
	}
}

int
main(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_brk),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_restart_syscall),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
	char line;

	kept[nkept++] = malloc(3);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		return 95;
	truth_say("ready\n");
	while (read(0, &line, 1) == 1) {
		if (line == '\n') {
			make_confined();
			truth_say("done\n");
		}
	}
	truth_tell(&confined);
	_exit(0);
}
