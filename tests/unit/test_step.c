/* SPDX-License-Identifier: MIT */
/* test_step.c -- a call that is being recorded is either recorded or not, at every
 * instruction.
 *
 * The test starts itself again as the target, with libseep.so in front. The target raises
 * SIGUSR1, makes one call, raises it again; the test single-steps it in between. Whenever
 * an instruction has changed the live recording, that is read as if the process had died
 * there, and everything in it (totals, live blocks, peak, histograms of every place) must
 * be as before the call or as after it, and never go back. A site or cell that holds only
 * zeros counts as absent: a place that is seen for the first time is written down before
 * its first call is counted.
 *
 * Also the end of a thread, whose figures move from its cells into the site's. */
/* libs: pthread */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/recording.h"
#include "step_target.h"
#include "t.h"
#include "tool/format/live/live_load.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

enum {
	FILE_BYTES = 8 << 20,
	STEPS_MAX = 400000,
	PEAK_STEPS = 2 * 4096, /* beside another thread */
};

/* ---- reading a state ---- */

struct state {
	char *text;
	uint64_t allocs, frees;
	int64_t live_bytes, live_blocks, peak_bytes;
};

static bool
site_is_empty(const struct prof_site *s)
{
	return s->allocs == 0 && s->frees == 0 && s->alloc_bytes == 0 &&
	       s->peak_bytes == 0;
}

static void
print_site(struct buf *b, const struct prof *p, uint32_t site)
{
	const struct prof_site *s = &p->sites[site];
	struct prof_hist h = prof_hist(p, site);

	buf_printf(b,
		   "site allocs %" PRIu64 " frees %" PRIu64 " bytes %" PRIu64 " %" PRIu64,
		   s->allocs, s->frees, s->alloc_bytes, s->free_bytes);
	buf_printf(b,
		   " temps %" PRIu64 " %" PRIu64 " peak %" PRId64 " at peak %" PRId64
		   " %" PRId64 " at exit %" PRId64 " %" PRId64 "\n  sizes",
		   s->temps, s->temp_bytes, s->peak_bytes, s->at_peak_bytes,
		   s->at_peak_blocks, s->at_exit_bytes, s->at_exit_blocks);
	for (unsigned i = 0; i < PROF_SIZE_BUCKETS; i++)
		buf_printf(b, " %" PRIu64, h.sizes[i]);
	buf_add_str(b, " lifetimes");
	for (unsigned i = 0; i < PROF_LIFE_BUCKETS; i++)
		buf_printf(b, " %" PRIu64, h.lifetimes[i]);
	buf_add_str(b, "\n");
}

/* The profile as text, every figure that a report could show. */
static struct state
state_of(const struct prof *p)
{
	const struct prof_process *pr = &p->processes[1];
	uint32_t *order = xcalloc(p->nsites, sizeof *order), n = 0;
	struct state st = {0};
	struct buf b = {0};
	int64_t table_bytes = 0, table_blocks = 0;

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];

		st.allocs += s->allocs;
		st.frees += s->frees;
		st.live_bytes += s->live_bytes;
		st.live_blocks += s->live_blocks;
		if (site_is_empty(s))
			continue;
		order[i] = ++n;
		print_site(&b, p, i);
	}
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *x = &p->blocks[i];

		table_bytes += (int64_t)x->bytes;
		table_blocks++;
		buf_printf(&b, "block %" PRIx64 " %" PRIu64 " site %u thread %u\n",
			   x->addr, x->bytes, order[x->site], x->thread_serial);
	}
	st.peak_bytes = pr->peak_bytes;
	buf_printf(&b, "live %" PRId64 " unknown %" PRIu64 " unseen %" PRIu64 "\n",
		   pr->live_bytes, pr->frees_unknown, pr->frees_unseen);
	if ((pr->flags & REC_FLAG_THREADED) == 0)
		buf_printf(&b, "peak %" PRId64 "\n", pr->peak_bytes);
	for (unsigned i = 0; i < PROF_LOST_MAX; i++) {
		if (pr->lost[i] != 0)
			buf_printf(&b, "lost[%u] %" PRIu64 "\n", i, pr->lost[i]);
	}
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (p->damages[i].count != 0)
			buf_printf(&b, "DAMAGE %s %" PRIu64 "\n",
				   prof_text(p, p->damages[i].what), p->damages[i].count);
	}
	if (table_bytes != st.live_bytes || table_blocks != st.live_blocks)
		buf_printf(&b,
			   "TABLE %" PRId64 " in %" PRId64 ", cells %" PRId64
			   " in %" PRId64 "\n",
			   table_bytes, table_blocks, st.live_bytes, st.live_blocks);
	free(order);
	st.text = buf_take(&b);
	return st;
}

/* ---- the tracer ---- */

struct trace {
	char dir[64];
	char path[PATH_MAX];
	const unsigned char *map;
	unsigned char *last; /* as it was when it was last read */
	size_t last_bytes;
	pid_t pid, tid; /* tid: the thread that is stepped */
	unsigned steps, reads;
	struct state before, now, after;
	bool broken;
};

static char *
path_of_libseep(void)
{
	char exe[PATH_MAX] = "";
	char *cut;

	if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0)
		return xstrdup("");
	for (int i = 0; i < 3; i++) { /* BUILD/tests/unit/test_step */
		cut = strrchr(exe, '/');
		if (cut != NULL)
			*cut = '\0';
	}
	return xasprintf("%s/libseep.so", exe);
}

static void
start_target(struct trace *t, const char *name, unsigned how)
{
	char *lib = path_of_libseep();
	char *preload = xasprintf("LD_PRELOAD=%s", lib);
	char *seep = xasprintf("SEEP=mode=%s,dir=%s,max=%d",
			       (how & HOW_SAMPLED) != 0 ? "sample,rate=1" : "exact",
			       t->dir, FILE_BYTES);
	char *target_env = xasprintf("STEP_TARGET=%s", name);
	char *how_env = xasprintf("STEP_HOW=%u", how);
	char *env[] = {preload, seep, target_env, how_env, NULL};
	char *argv[] = {(char *)"step", NULL};

	t->pid = fork();
	if (t->pid == 0) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execve("/proc/self/exe", argv, env);
		_exit(127);
	}
	t->tid = t->pid;
	free(lib), free(preload), free(seep), free(target_env), free(how_env);
}

/* Lets everything run until a thread raises SIGUSR1; that thread is the one to step. */
static bool
run_to_marker(struct trace *t)
{
	for (;;) {
		int status;
		pid_t who = waitpid(-1, &status, __WALL);

		if (who < 0 || WIFSIGNALED(status) ||
		    (WIFEXITED(status) && who == t->pid))
			return false;
		if (!WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == SIGUSR1) {
			t->tid = who;
			return true;
		}
		if (WSTOPSIG(status) == SIGTRAP && who == t->pid)
			ptrace(PTRACE_SETOPTIONS, who, 0,
			       PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
		ptrace(PTRACE_CONT, who, 0, 0);
	}
}

static bool
open_live(struct trace *t)
{
	DIR *d = opendir(t->dir);
	struct dirent *e;
	struct stat st;
	int fd = -1;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strstr(e->d_name, ".live") == NULL)
			continue;
		snprintf(t->path, sizeof t->path, "%s/%s", t->dir, e->d_name);
		fd = open(t->path, O_RDONLY | O_CLOEXEC);
	}
	if (d != NULL)
		closedir(d);
	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_size < FILE_BYTES)) {
		close(fd); /* in the making */
		fd = -1;
	}
	if (fd < 0)
		return false;
	t->map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	t->last = xcalloc(1, FILE_BYTES);
	return t->map != MAP_FAILED;
}

static size_t
used_bytes(const struct trace *t)
{
	const struct rec_head *h = (const void *)t->map;

	return REC_CHUNKS_OFF + (size_t)h->chunks * REC_CHUNK_BYTES;
}

/* Reads the state into t->now. false when it is not readable at all. */
static bool
read_state(struct trace *t)
{
	struct prof *p = prof_new();
	struct err e = {0};
	bool ok;

	t->last_bytes = used_bytes(t);
	memcpy(t->last, t->map, t->last_bytes);
	t->reads++;
	free(t->now.text);
	t->now.text = NULL;
	ok = live_load(t->last, FILE_BYTES, true, p, &e) == 0;
	if (ok)
		t->now = state_of(p);
	else
		T_FAIL("step %u: %s", t->steps, e.msg);
	prof_free(p);
	return ok;
}

/* Reads it if the last instruction changed it. */
static bool
changed(struct trace *t)
{
	size_t n = used_bytes(t);

	if (n == t->last_bytes && memcmp(t->map, t->last, n) == 0)
		return false;
	return read_state(t);
}

static bool
step(struct trace *t, bool *ret_end)
{
	int status;

	*ret_end = true;
	if (ptrace(PTRACE_SINGLESTEP, t->tid, 0, 0) < 0)
		return false;
	if (waitpid(t->tid, &status, __WALL) != t->tid)
		return false;
	t->steps++;
	if (!WIFSTOPPED(status))
		return WIFEXITED(status); /* the end of a thread */
	*ret_end = WSTOPSIG(status) == SIGUSR1;
	return *ret_end || WSTOPSIG(status) == SIGTRAP;
}

/* All the states between the two marks, each once: consecutive equal ones are one. */
struct history {
	char **texts;
	unsigned *at;
	size_t n;
	int64_t least_peak, most_peak;
};

static void
remember(struct history *h, const struct trace *t)
{
	if (h->n == 0 || t->now.peak_bytes < h->least_peak)
		h->least_peak = t->now.peak_bytes;
	if (h->n == 0 || t->now.peak_bytes > h->most_peak)
		h->most_peak = t->now.peak_bytes;
	if (h->n > 0 && strcmp(h->texts[h->n - 1], t->now.text) == 0)
		return;
	h->texts = xrealloc(h->texts, (h->n + 1) * sizeof *h->texts);
	h->at = xrealloc(h->at, (h->n + 1) * sizeof *h->at);
	h->texts[h->n] = xstrdup(t->now.text);
	h->at[h->n++] = t->steps;
}

static void
forget(struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->texts[i]);
	free(h->texts);
	free(h->at);
}

static void
end_target(struct trace *t)
{
	int status;

	kill(t->pid, SIGKILL);
	while (waitpid(-1, &status, __WALL) > 0 || errno == EINTR)
		;
	if (t->map != NULL && t->map != MAP_FAILED)
		munmap((void *)(uintptr_t)t->map, FILE_BYTES);
	free(t->last);
	free(t->now.text);
	unlink(t->path);
	rmdir(t->dir);
}

static void
print_differing(const char *what, const char *text, const char *other)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		char *line = xmemdup0(text, n);

		if (strstr(other, line) == NULL)
			printf("      %s: %s\n", what, line);
		free(line);
		text += n + (text[n] != '\0');
	}
}

/* Steps through and judges. `states`: how many different ones there may be, 1 or 2. */
static void
judge(const char *name, unsigned how, const struct history *h, size_t states)
{
	for (size_t i = 0; i < h->n; i++) {
		if (strstr(h->texts[i], "DAMAGE") != NULL ||
		    strstr(h->texts[i], "TABLE") != NULL)
			T_FAIL("%s/%u: step %u does not add up:\n%s", name, how, h->at[i],
			       h->texts[i]);
	}
	if (h->n <= states)
		return;
	T_FAIL("%s/%u: %zu different states, %zu expected", name, how, h->n, states);
	for (size_t i = 0; i < h->n && i < 6; i++) {
		printf("    from step %u:\n", h->at[i]);
		if (i > 0)
			print_differing("is", h->texts[i], h->texts[i - 1]);
	}
}

static void
observe(const char *name, unsigned how, const struct target_case *c)
{
	struct trace t = {.dir = "/tmp/seep-step.XXXXXX"};
	struct history h = {0};
	struct state before;
	bool end = false, ok;
	int64_t least, most;
	size_t states;

	T_CHECK(mkdtemp(t.dir) != NULL);
	start_target(&t, name, how);
	ok = run_to_marker(&t);
	ok = ok && open_live(&t) && read_state(&t);
	if (!ok)
		T_FAIL("%s/%u: the target did not come to its mark", name, how);
	before = t.now;
	before.text = NULL;
	if (ok)
		remember(&h, &t);
	while (ok && !end && t.steps < STEPS_MAX) {
		ok = step(&t, &end);
		if (ok && changed(&t))
			remember(&h, &t);
	}
	if (!ok || !end) {
		T_FAIL("%s/%u: lost after %u steps", name, how, t.steps);
	} else if (c != NULL) {
		T_EQ(t.now.allocs - before.allocs, c->allocs);
		T_EQ(t.now.frees - before.frees, c->frees);
		T_EQ(t.now.live_bytes - before.live_bytes, c->bytes);
		T_EQ(t.now.live_blocks - before.live_blocks, c->allocs - c->frees);
	}
	/* Beside other threads the process's peak is noticed in steps of 4 KiB a
	 * thread. */
	least = before.peak_bytes < t.now.peak_bytes ? before.peak_bytes
						     : t.now.peak_bytes;
	most = before.peak_bytes > t.now.peak_bytes ? before.peak_bytes
						    : t.now.peak_bytes;
	if (h.least_peak < least - PEAK_STEPS || h.most_peak > most + PEAK_STEPS)
		T_FAIL("%s/%u: peak between %" PRId64 " and %" PRId64 ", but was %" PRId64
		       " and became %" PRId64,
		       name, how, h.least_peak, h.most_peak, before.peak_bytes,
		       t.now.peak_bytes);
	/* Sampled, a resize is a free and an allocation, one after the other. */
	states = 1;
	if (c != NULL && c->allocs + c->frees > 0)
		states =
			(how & HOW_SAMPLED) != 0 ? 1 + (size_t)(c->allocs + c->frees) : 2;
	judge(name, how, &h, states);
	printf("    %s/%u: %u instructions, %u readings, %zu states\n", name, how,
	       t.steps, t.reads, h.n);
	end_target(&t);
	forget(&h);
}

/* NULL, or why nothing can be observed here. */
static const char *
why_not(void)
{
	char *lib = path_of_libseep();
	bool there = access(lib, R_OK) == 0;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, 0, 0) < 0);
	free(lib);
	if (!there)
		return "no libseep.so in this build";
	if (waitpid(pid, &status, 0) != pid || status != 0)
		return "no ptrace here";
	return NULL;
}

static void
observe_all(unsigned how)
{
	const char *why = why_not();

	if (why != NULL)
		T_SKIP(why);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		/* A first call from somewhere is ten times as long: not all each time. */
		if ((how & HOW_COLD) != 0 && getenv("SEEP_SOAK") == NULL &&
		    !cases[i].in_short)
			continue;
		/* No sample ever hits a block of no bytes. */
		if ((how & HOW_SAMPLED) != 0 && strcmp(cases[i].name, "malloc0") == 0)
			continue;
		observe(cases[i].name, how, &cases[i]);
	}
}

T_TEST(below_the_peak)
{
	observe_all(0);
}

T_TEST(at_a_new_peak)
{
	observe_all(HOW_PEAK);
}

T_TEST(from_a_new_place)
{
	observe_all(HOW_PEAK | HOW_COLD);
}

T_TEST(after_exit_began)
{
	observe_all(HOW_LATE);
}

T_TEST(beside_another_thread)
{
	observe_all(HOW_THREADS);
}

T_TEST(beside_another_thread_at_a_new_peak)
{
	observe_all(HOW_THREADS | HOW_PEAK);
}

T_TEST(in_a_second_thread)
{
	observe_all(HOW_IN_THREAD);
}

T_TEST(in_a_second_thread_from_a_new_place)
{
	observe_all(HOW_IN_THREAD | HOW_PEAK | HOW_COLD);
}

T_TEST(sampled)
{
	observe_all(HOW_SAMPLED);
}

T_TEST(sampled_in_a_second_thread)
{
	observe_all(HOW_SAMPLED | HOW_IN_THREAD);
}

/* From the creation of the file on: it is no recording yet, or one in which all adds
 * up. */
T_TEST(beginning)
{
	struct trace t = {.dir = "/tmp/seep-step.XXXXXX"};
	struct history h = {0};
	struct prof *p;
	bool end = false, ok = true;
	unsigned not_yet = 0;
	const char *why = why_not();
	int status;

	if (why != NULL)
		T_SKIP(why);
	T_CHECK(mkdtemp(t.dir) != NULL);
	start_target(&t, "start", 0);
	T_CHECK(waitpid(t.pid, &status, __WALL) == t.pid && WIFSTOPPED(status));
	while (!open_live(&t)) {
		if (ptrace(PTRACE_SYSCALL, t.pid, 0, 0) < 0 ||
		    waitpid(t.pid, &status, __WALL) != t.pid || !WIFSTOPPED(status)) {
			T_FAIL("it never begins");
			end_target(&t);
			return;
		}
	}
	while (ok && !end && t.steps < STEPS_MAX) {
		ok = step(&t, &end);
		p = prof_new();
		if (live_load(t.map, FILE_BYTES, true, p, NULL) < 0) {
			not_yet++;
			T_EQ(t.reads, 0); /* once a recording, always one */
		} else if (t.reads == 0 || changed(&t)) {
			if (t.reads == 0)
				read_state(&t);
			remember(&h, &t);
		}
		prof_free(p);
	}
	T_CHECK(ok && end);
	T_CHECK(t.reads > 0 && not_yet > 0);
	judge("start", 0, &h, SIZE_MAX);
	printf("    %u instructions, %u of them before it is one, %u readings\n", t.steps,
	       not_yet, t.reads);
	end_target(&t);
	forget(&h);
}

/* The figures are folded into the site's: no reader sees them twice or not at all. */
T_TEST(end_of_a_thread)
{
	const char *why = why_not();

	if (why != NULL)
		T_SKIP(why);
	observe("thread_end", HOW_IN_THREAD, NULL);
}

T_MAIN()
