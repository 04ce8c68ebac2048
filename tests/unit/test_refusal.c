/* SPDX-License-Identifier: MIT */
/* test_refusal.c -- every reason not to attach, and what it says: why, and the one thing
 * that helps. */
#include <errno.h>

#include "t.h"
#include "tool/target/attach/refusal.h"
#include "tool/target/proc/inspect.h"

static struct refusal_facts
fine(void)
{
	return (struct refusal_facts){
		.pid = 4711,
		.exists = true,
		.comm = "api",
		.state = 'S',
		.uid = 1000,
		.our_uid = 1000,
		.yama = -1,
		.seccomp = 0,
	};
}

static void
refused(const struct refusal_facts *f, int code, const char *why, const char *remedy)
{
	struct err e = {0};
	int r = refusal_check(f, &e);

	T_EQ(r, code);
	T_CHECK(strstr(e.msg, "4711") != NULL);
	T_CHECK(strstr(e.msg, why) != NULL);
	T_CHECK(strstr(e.msg, remedy) != NULL);
	if (strstr(e.msg, why) == NULL || strstr(e.msg, remedy) == NULL)
		printf("    %s\n", e.msg);
	T_CHECK(strchr(e.msg, '\n') == NULL);
}

T_TEST(nothing_stands_in_the_way)
{
	struct refusal_facts f = fine();
	struct err e = {0};

	T_EQ(refusal_check(&f, &e), 0);
	f.our_uid = 0;
	f.cap_ptrace = f.cap_admin = true;
	f.seccomp = 2;
	f.other_namespace = true;
	f.yama = 1;
	T_EQ(refusal_check(&f, &e), 0);
	f.attached = true; /* inherited by fork: that is cleaned up first */
	T_EQ(refusal_check(&f, &e), 0);
}

T_TEST(no_process)
{
	struct refusal_facts f = fine();

	f.exists = false;
	refused(&f, -ESRCH, "no such process", "");
	f = fine();
	f.state = 'Z';
	refused(&f, -ESRCH, "has ended", "nothing left to attach to");
	f = fine();
	f.kernel_thread = true;
	refused(&f, -EINVAL, "kernel thread", "");
	f = fine();
	f.ourselves = true;
	refused(&f, -EINVAL, "seep itself", "");
}

T_TEST(somebody_else_has_it)
{
	struct refusal_facts f = fine();

	f.tracer = 812;
	snprintf(f.tracer_name, sizeof f.tracer_name, "gdb");
	refused(&f, -EBUSY, "traced by 812 (gdb)", "detach that first");
	f = fine();
	f.state = 'T';
	refused(&f, -EBUSY, "is stopped", "kill -CONT 4711");
	f = fine();
	f.attached = f.attached_here = true;
	refused(&f, -EBUSY, "attached to already", "seep detach 4711");
}

T_TEST(rights)
{
	struct refusal_facts f = fine();

	f.uid = 33;
	f.access = -EACCES;
	refused(&f, -EPERM, "belongs to uid 33", "sudo seep attach 4711");
	f = fine();
	f.access = -EACCES;
	refused(&f, -EPERM, "protects itself", "sudo seep attach 4711");
	f.yama = 1;
	refused(&f, -EPERM, "ptrace_scope=1", "sudo seep attach 4711");
	f.yama = 2;
	refused(&f, -EPERM, "ptrace_scope=2", "sudo seep attach 4711");
	f.yama = 3;
	refused(&f, -EPERM, "ptrace_scope=3", "seep watch 4711");
	f = fine();
	f.our_uid = 0;
	f.container = true;
	f.access = -EPERM;
	refused(&f, -EPERM, "CAP_SYS_PTRACE", "--cap-add=SYS_PTRACE");
	f.cap_ptrace = true;
	refused(&f, -EPERM, "security module", "on the host as root");
	f.no_override = true;
	f.uid = 33;
	refused(&f, -EPERM, "belongs to uid 33, and CAP_DAC_OVERRIDE",
		"--cap-add=DAC_OVERRIDE");
}

T_TEST(yama_lets_children_pass)
{
	struct refusal_facts f = fine();
	struct err e = {0};

	f.yama = 1;
	T_EQ(refusal_check(&f, &e), 0); /* its memory could be opened: it is a child */
}

T_TEST(seccomp)
{
	struct refusal_facts f = fine();

	f.seccomp = 2;
	refused(&f, -EPERM, "seccomp", "sudo seep attach 4711");
	f.seccomp = 1;
	f.cap_admin = f.cap_ptrace = true;
	refused(&f, -ENOTSUP, "strict seccomp", "seep watch 4711");
}

T_TEST(programs)
{
	struct refusal_facts f = fine();

	f.traits = INSPECT_CLASS32;
	refused(&f, -ENOTSUP, "32-bit", "seep watch 4711");
	f.traits = INSPECT_SANITIZER;
	refused(&f, -ENOTSUP, "sanitizer", "use a build without it");
	f.traits = INSPECT_GO | INSPECT_STATIC;
	refused(&f, -ENOTSUP, "Go", "net/http/pprof");
}

T_MAIN()
