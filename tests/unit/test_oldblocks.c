/* SPDX-License-Identifier: MIT */
/* test_oldblocks.c -- those of a process's blocks that are watched stand for all of them,
 * whatever their number. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "tool/model/sizeclass.h"
#include "tool/session/attach/attached_old.h"

/* Blocks of one size: one and a half times what is picked of a class, less than that, and
 * many times as many. */
static const struct {
	size_t bytes;
	unsigned blocks;
} made[] = {{3000, 1537}, {11000, 211}, {24000, 2999}};

static void
child(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < 3; i++) {
		for (unsigned k = 0; k < made[i].blocks; k++)
			*(volatile char *)malloc(made[i].bytes) = 1;
	}
	if (write(ready, "x", 1) == 1)
		pause();
	_exit(0);
}

T_TEST(stand_for_all)
{
	struct oldblocks o;
	int ready[2];
	pid_t pid;
	char c;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	T_SKIP("a sanitizer's malloc is not glibc's");
#endif
	T_EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		child(ready[1]);
	T_EQ(read(ready[0], &c, 1), 1);
	attached_old_choose(pid, &o);
	T_CHECK(o.known);
	for (unsigned i = 0; i < 3; i++) {
		unsigned class = sizeclass_of_request(made[i].bytes), watched = 0;
		uint64_t all = 0;

		for (size_t k = 0; k < o.chosen.len; k++) {
			if (sizeclass_of(o.chosen.data[k].bytes) != class)
				continue;
			watched++;
			all += o.chosen.data[k].stands;
			T_CHECK(o.chosen.data[k].stands >= 1);
		}
		/* stdio may have a block or two as large. */
		T_CHECK(all >= made[i].blocks && all <= made[i].blocks + 3);
		T_CHECK(watched >= 211 && watched <= 1024);
	}
	oldblocks_done(&o);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

T_MAIN()
