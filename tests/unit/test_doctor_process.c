/* SPDX-License-Identifier: MIT */
/* test_doctor_process.c -- what is said when a process may not be looked into, from
 * facts. */
#include "t.h"
#include "tool/session/attach/doctor_process.h"

T_TEST(each_with_its_remedy)
{
	struct refusal_facts f = {.pid = 4711, .uid = 33, .our_uid = 1000, .yama = -1};

	T_STR(doctor_no_access(&f, false),
	      "it belongs to uid 33; run: sudo seep watch 4711");
	T_STR(doctor_no_access(&f, true),
	      "it belongs to uid 33; run: sudo seep dump 4711");
	f.uid = 1000;
	T_STR(doctor_no_access(&f, false),
	      "it protects itself (not dumpable, or it gained rights when it was started); "
	      "run: sudo seep watch 4711");
	f.yama = 1;
	T_STR(doctor_no_access(&f, true),
	      "kernel.yama.ptrace_scope=1 forbids it; run: sudo seep dump 4711");
	f.yama = 3;
	f.cap_ptrace = true;
	T_STR(doctor_no_access(&f, true),
	      "kernel.yama.ptrace_scope=3 forbids it until the next boot, also to root; use: "
	      "seep watch 4711");
	f = (struct refusal_facts){.pid = 4711, .yama = -1};
	T_STR(doctor_no_access(&f, false),
	      "CAP_SYS_PTRACE is missing here; start the container with "
	      "--cap-add=SYS_PTRACE (Kubernetes: securityContext: "
	      "{capabilities: {add: [SYS_PTRACE]}}), or run seep on the host");
	f.cap_ptrace = true;
	T_STR(doctor_no_access(&f, false),
	      "a security module (SELinux, AppArmor) or another user namespace forbids it; run "
	      "seep on the host");
}

T_MAIN()
