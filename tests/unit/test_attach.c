/* SPDX-License-Identifier: MIT */
/* test_attach.c -- two who want the same process: who comes second, or cannot get at it,
 * leaves what the first has put in as it is. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "t.h"
#include "tool/target/attach/attach_impl.h"

static const struct attach_settings settings = {
	.mode = REC_MODE_SAMPLE,
	.rate_bytes = 32 << 10,
	.max_bytes = 16 << 20,
	.stay = true,
};

/* A child that is another program than we are, and has begun: it has passed a byte on. */
static int
start(void)
{
	int in[2], out[2], pid;
	char c;

	if (pipe(in) < 0 || pipe(out) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		close(in[1]);
		execlp("cat", "cat", "-u", NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	T_EQ(write(in[1], "x", 1), 1);
	T_EQ(read(out[0], &c, 1), 1);
	return pid;
}

static void
end(int pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

T_TEST(the_second_leaves_the_first_alone)
{
	struct attach first = ATTACH_NOTHING, second = ATTACH_NOTHING;
	struct err e = {0};
	int pid = start();

	if (attach_process(pid, &settings, &first, &e) < 0) {
		end(pid);
		T_SKIP("not allowed to trace processes here");
	}
	T_EQ(attach_process(pid, &settings, &second, &e), -EBUSY);
	T_EQ(first.control->state, ATTACH_ON);
	T_EQ(first.control->off, 0);
	attach_close(&second);
	attach_close(&first);
	end(pid);
}

T_TEST(who_cannot_take_it_out_leaves_it_on)
{
	struct attach a = ATTACH_NOTHING;
	struct err e = {0};
	int pid = start(), other, told[2];
	char c;

	if (attach_process(pid, &settings, &a, &e) < 0 || pipe(told) < 0) {
		end(pid);
		T_SKIP("not allowed to trace processes here");
	}
	other = fork();
	if (other == 0) { /* a debugger */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 ||
		    write(told[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(told[1]);
	T_EQ(read(told[0], &c, 1), 1);
	close(told[0]);
	T_EQ(detach_patches(pid, NULL, &e), -EPERM);
	T_EQ(a.control->state, ATTACH_ON);
	T_EQ(a.control->off, 0);
	end(other);
	attach_close(&a);
	end(pid);
}

/* A thread pointer less than 2 KiB from the end of its memory: that of a small static
 * program. */
T_TEST(thread_id_at_the_end_of_memory)
{
	enum { BEFORE_END = 1024, ID_OFF = 720 };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char *tp = page + 4096 - BEFORE_END;
	uint32_t id = (uint32_t)getpid();
	struct tracee t = TRACEE_NONE;

	T_CHECK(page != MAP_FAILED);
	T_EQ(munmap(page + 4096, 4096), 0);
	memcpy(tp + ID_OFF, &id, sizeof id);
	T_EQ(tracee_open(getpid(), &t, NULL), 0);
	vec_push(&t.threads,
		 (struct tracee_thread){.tid = getpid(), .tp = (uintptr_t)tp});
	T_EQ(attach_tid_off(&t), ID_OFF);
	t.threads.data[0].tp = (uintptr_t)page + 4096;
	T_EQ(attach_tid_off(&t), 0);
	vec_done(&t.threads);
	tracee_close(&t);
	munmap(page, 4096);
}

T_MAIN()
