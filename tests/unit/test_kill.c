/* SPDX-License-Identifier: MIT */
/* test_kill.c -- the block table and the totals agree in every process that was killed.
 *
 * The test starts itself again as the target, with libseep.so in front: four threads that
 * take each other's blocks out of shared slots, resize them and free them, some threads
 * ending all the time. It is killed after some random time, the live recording is read,
 * and place by place the blocks in the table must be what the totals say is live; nothing
 * lost, nothing damaged. What the totals themselves should be is
 * tests/e2e/kill_moments.sh's. */
/* libs: pthread */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/recording.h"
#include "t.h"
#include "tool/format/live/live_load.h"
#include "tool/model/prof.h"
#include "tool/model/series.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

enum {
	SLOTS = 127,
	THREADS = 4,
	CALLS_OF_A_SHORT_LIFE = 67,
};

/* ---- the target ---- */

static void *slots[SLOTS];

static __attribute__((noinline)) void *
at_malloc(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static __attribute__((noinline)) void *
at_realloc(void *q, size_t n)
{
	void *p = realloc(q, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *
churn(void *arg)
{
	uint64_t x = (uintptr_t)arg;
	bool short_life = x % 2 == 1;

	for (unsigned calls = 0; !short_life || calls < CALLS_OF_A_SHORT_LIFE; calls++) {
		void **slot, *mine;
		size_t n;

		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		slot = &slots[(x >> 33) % SLOTS];
		n = 1 + (x >> 20) % ((x >> 50) % 8 == 0 ? 30011 : 409);
		mine = __atomic_exchange_n(slot, NULL, __ATOMIC_ACQ_REL);
		if (mine == NULL)
			mine = at_malloc(n);
		else if ((x >> 40) % 3 == 0)
			mine = at_realloc(mine, n);
		else
			free(mine), mine = NULL;
		mine = __atomic_exchange_n(slot, mine, __ATOMIC_ACQ_REL);
		free(mine);
	}
	return NULL;
}

__attribute__((constructor)) static void
target(void)
{
	pthread_t threads[THREADS];
	uintptr_t seed = 7919;

	if (getenv("KILL_TARGET") == NULL)
		return;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, churn, (void *)seed++);
	for (;;) { /* threads 0 and 2 have odd seeds and end */
		for (unsigned i = 0; i < THREADS; i += 2) {
			pthread_join(threads[i], NULL);
			pthread_create(&threads[i], NULL, churn, (void *)(seed += 2));
		}
	}
}

/* ---- the test ---- */

static char *
path_of_libseep(void)
{
	char exe[PATH_MAX] = "";

	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
		return xstrdup("");
	for (int i = 0; i < 3; i++) { /* BUILD/tests/unit/test_kill */
		char *cut = strrchr(exe, '/');

		if (cut != NULL)
			*cut = '\0';
	}
	return xasprintf("%s/libseep.so", exe);
}

static int
open_live(const char *dir, bool remove)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int fd = -1;

	while (d != NULL && (e = readdir(d)) != NULL) {
		char *path = xasprintf("%s/%s", dir, e->d_name);

		if (strstr(e->d_name, ".live") != NULL) {
			if (fd >= 0)
				close(fd);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (remove)
				unlink(path);
		}
		free(path);
	}
	if (d != NULL)
		closedir(d);
	return fd;
}

static pid_t
start(const char *dir, const char *lib, const char *mode)
{
	char *preload = xasprintf("LD_PRELOAD=%s", lib);
	char *seep = xasprintf("SEEP=mode=%s,dir=%s,max=64M", mode, dir);
	char *env[] = {preload, seep, (char *)"KILL_TARGET=1", NULL};
	char *argv[] = {(char *)"churn", NULL};
	pid_t pid = fork();

	if (pid == 0) {
		execve("/proc/self/exe", argv, env);
		_exit(127);
	}
	free(preload);
	free(seep);
	return pid;
}

/* Waits, ten seconds at most, until all threads have come. */
static void
wait_until_busy(const char *dir)
{
	struct rec_head head = {0};

	for (int i = 0; i < 2000 && head.threads_seen <= THREADS; i++) {
		int fd = open_live(dir, false);

		usleep(5000);
		if (fd >= 0 && pread(fd, &head, sizeof head, 0) != (ssize_t)sizeof head)
			head.threads_seen = 0;
		if (fd >= 0)
			close(fd);
	}
	T_CHECK(head.threads_seen > THREADS);
}

/* The table against the totals, place by place. */
static void
check(const struct prof *p, int round)
{
	int64_t *bytes = xcalloc(p->nsites, sizeof *bytes);
	int64_t *blocks = xcalloc(p->nsites, sizeof *blocks);
	const struct prof_process *pr = &p->processes[1];
	uint64_t allocs = 0;

	for (uint32_t i = 0; i < p->nblocks; i++) {
		bytes[p->blocks[i].site] += (int64_t)p->blocks[i].bytes;
		blocks[p->blocks[i].site]++;
	}
	T_EQ(blocks[0], 0);
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		struct prof_hist h = prof_hist(p, i);
		uint64_t sized = 0;

		for (unsigned k = 0; k < PROF_SIZE_BUCKETS; k++)
			sized += h.sizes[k];
		allocs += s->allocs;
		if (bytes[i] != s->live_bytes || blocks[i] != s->live_blocks ||
		    sized != s->allocs || s->live_bytes > s->peak_bytes)
			T_FAIL("kill %d, place %u: table %" PRId64 " bytes in %" PRId64
			       ", totals %" PRId64 " in %" PRId64 ", %" PRIu64
			       " sizes of %" PRIu64 " allocations, peak %" PRId64,
			       round, i, bytes[i], blocks[i], s->live_bytes,
			       s->live_blocks, sized, s->allocs, s->peak_bytes);
	}
	T_CHECK(allocs > 0);
	T_CHECK(pr->live_bytes <= pr->peak_bytes);
	for (unsigned i = 0; i < PROF_LOST_MAX; i++)
		T_EQ(pr->lost[i], 0);
	T_EQ(pr->frees_unknown + pr->frees_unseen, 0);
	for (uint32_t i = 0; i < p->ndamages; i++)
		T_EQ(p->damages[i].count, 0);
	free(bytes);
	free(blocks);
}

/* What each place had over time ends with what it has, and adds up at every moment. */
static void
check_series(const struct prof *p, int round)
{
	int64_t *last = xcalloc(p->nsites, sizeof *last);
	int64_t *sums = xcalloc(p->nticks + 1, sizeof *sums);

	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct prof_step *s = &p->steps[i];
		int64_t more = s->live_bytes - last[s->site];

		T_CHECK(s->live_bytes != PROF_UNKNOWN && s->moment < p->nticks);
		for (uint32_t k = s->moment; k < p->nticks; k++)
			sums[k] += more;
		last[s->site] = s->live_bytes;
	}
	T_CHECK(p->nticks > 1);
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (last[i] != p->sites[i].live_bytes)
			T_FAIL("kill %d, place %u: the last step is %" PRId64
			       ", totals %" PRId64,
			       round, i, last[i], p->sites[i].live_bytes);
	}
	for (uint32_t i = 0; i < p->nticks; i++) {
		T_EQ(sums[i], p->ticks[i].live_bytes);
		/* one block of each slot and thread at most */
		T_CHECK(sums[i] >= 0);
		T_CHECK(i == 0 || p->ticks[i].ms >= p->ticks[i - 1].ms);
	}
	free(last);
	free(sums);
}

static void
kill_often(const char *mode)
{
	char dir[] = "/tmp/seep-kill.XXXXXX";
	char *lib = path_of_libseep();
	int rounds = getenv("SEEP_SOAK") != NULL ? 400 : 20;

	if (access(lib, R_OK) < 0) {
		free(lib);
		T_SKIP("no libseep.so in this build");
	}
	T_CHECK(mkdtemp(dir) != NULL);
	srandom((unsigned)time(NULL));
	for (int round = 0; round < rounds; round++) {
		pid_t pid = start(dir, lib, mode);
		struct prof *p = prof_new();
		struct err e = {0};
		int fd;

		wait_until_busy(dir);
		usleep((useconds_t)(random() % 60000));
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		fd = open_live(dir, true);
		T_CHECK(fd >= 0);
		if (live_load_fd(fd, true, p, &e) < 0)
			T_FAIL("kill %d: %s", round, e.msg);
		else {
			check(p, round);
			check_series(p, round);
		}
		prof_free(p);
		close(fd);
	}
	rmdir(dir);
	free(lib);
}

T_TEST(exact)
{
	kill_often("exact");
}

T_MAIN()
