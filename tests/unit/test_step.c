/* SPDX-License-Identifier: MIT */
/* test_step.c -- a call that is being recorded is either recorded or not, at every instruction.
 *
 * The test starts itself again as the target, with libseep.so in front. The target raises SIGUSR1,
 * makes one call, raises it again; the test single-steps it in between. Whenever an instruction
 * has changed the live recording, that is read as if the process had died there, and everything in
 * it (totals, live blocks, peak, histograms of every place) must be as before the call or as after
 * it, and never go back. A site or cell that holds only zeros counts as absent: a place that is
 * seen for the first time is written down before its first call is counted.
 *
 * Also the end of a thread, whose figures move from its cells into the site's. */
/* libs: pthread */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/recording.h"
#include "format/live_load.h"
#include "model/prof.h"
#include "t.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/x.h"

enum {
	FILE_BYTES = 8 << 20,
	STEPS_MAX = 400000,
	WARM_CALLS = 7,
};

#define NOINLINE_CALL __attribute__((noinline, noclone))

/* ---- the target ---- */

static void *volatile held[64];
static void *volatile result;

static void
marker(void)
{
	raise(SIGUSR1);
}

/* One site each: warm-up and the observed call come from the same line. */
static NOINLINE_CALL void *
at_malloc(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_realloc(void *q, size_t n)
{
	void *p = realloc(q, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_calloc(size_t n)
{
	void *p = calloc(1, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_aligned(size_t n)
{
	void *p = aligned_alloc(64, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_cold(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static NOINLINE_CALL void *
at_cold_realloc(void *q, size_t n)
{
	void *p = realloc(q, n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

enum how {
	HOW_PEAK = 1,      /* the call makes a new peak */
	HOW_LATE = 2,      /* after exit began */
	HOW_THREADS = 4,   /* there is a second thread */
	HOW_IN_THREAD = 8, /* and it is the one that calls */
};

static void
warm_up(unsigned how)
{
	for (unsigned i = 0; i < WARM_CALLS; i++) {
		held[i] = at_malloc(101 + 2 * i);
		held[16 + i] = at_realloc(NULL, 1009);
		free(at_calloc(211));
		free(at_aligned(311 * 64));
		held[32 + i] = at_realloc(at_malloc(1013), 1019);
	}
	free(held[0]);
	held[0] = NULL;
	if ((how & HOW_PEAK) == 0)
		free(at_malloc(1 << 20)); /* everything after it stays below this peak */
}

static const struct target_case {
	const char *name;
	int64_t allocs, frees, bytes; /* what the call adds */
} cases[] = {
	{"malloc", 1, 0, 149},
	{"malloc0", 1, 0, 0},
	{"calloc", 1, 0, 211},
	{"aligned", 1, 0, 7 * 64},
	{"free", 0, 1, -103},
	{"free_recent", 0, 1, -163},
	{"realloc_new", 1, 0, 1021},
	{"realloc_in_place", 1, 1, 997 - 1009},
	{"realloc_moved", 1, 1, 300007 - 1009},
	{"realloc_shrunk", 1, 1, 17 - 1009},
	{"realloc_recent", 1, 1, 157 - 151},
	{"realloc_failed", 0, 0, 0},
	{"realloc_to_0", 0, 1, -1009},
	{"cold_malloc", 1, 0, 167},
	{"cold_realloc", 1, 1, 1021 - 1009},
	{"free_foreign", 0, 0, 0},
};

static void
observed(const char *name)
{
	void *recent = strcmp(name, "free_recent") == 0      ? at_malloc(163)
	               : strcmp(name, "realloc_recent") == 0 ? at_malloc(151)
	                                                     : NULL;
	static void *(*const volatile reallocate)(void *, size_t) = at_realloc;

	marker();
	if (strcmp(name, "malloc") == 0)
		result = at_malloc(149);
	else if (strcmp(name, "malloc0") == 0)
		result = at_malloc(0);
	else if (strcmp(name, "calloc") == 0)
		result = at_calloc(211);
	else if (strcmp(name, "aligned") == 0)
		result = at_aligned(7 * 64);
	else if (strcmp(name, "free") == 0)
		free(held[1]);
	else if (strcmp(name, "free_recent") == 0)
		free(recent);
	else if (strcmp(name, "realloc_new") == 0)
		result = reallocate(NULL, 1021);
	else if (strcmp(name, "realloc_in_place") == 0)
		result = reallocate(held[16], 997);
	else if (strcmp(name, "realloc_moved") == 0)
		result = reallocate(held[16], 300007);
	else if (strcmp(name, "realloc_shrunk") == 0)
		result = reallocate(held[16], 17);
	else if (strcmp(name, "realloc_recent") == 0)
		result = reallocate(recent, 157);
	else if (strcmp(name, "realloc_failed") == 0)
		result = reallocate(held[16], PTRDIFF_MAX - 64);
	else if (strcmp(name, "realloc_to_0") == 0)
		result = reallocate(held[16], 0);
	else if (strcmp(name, "cold_malloc") == 0)
		result = at_cold(167);
	else if (strcmp(name, "cold_realloc") == 0)
		result = at_cold_realloc(held[16], 1021);
	else if (strcmp(name, "free_foreign") == 0)
		free(NULL);
	marker();
}

static const char *target_name;

static void *
second_thread(void *arg)
{
	unsigned how = *(unsigned *)arg;

	held[48] = at_malloc(401);
	held[49] = at_malloc(409);
	free(held[48]);
	if (strcmp(target_name, "thread_end") == 0) {
		held[50] = at_calloc(419);
		held[51] = at_cold(421);
		free(held[50]);
		free(held[2]); /* the other thread's */
		marker();
		return NULL; /* stepped until the thread is gone */
	}
	if ((how & HOW_IN_THREAD) != 0) {
		observed(target_name);
		_exit(0);
	}
	marker();
	for (;;)
		pause();
}

static void
late(void)
{
	observed(target_name);
	_exit(0);
}

/* Before main(), which is the tests': this process is the target. */
__attribute__((constructor)) static void
target(void)
{
	static unsigned how;
	pthread_t thread;
	sigset_t set;

	target_name = getenv("STEP_TARGET");
	if (target_name == NULL)
		return;
	how = (unsigned)atoi(getenv("STEP_HOW"));
	warm_up(how);
	if ((how & (HOW_THREADS | HOW_IN_THREAD)) != 0) {
		pthread_create(&thread, NULL, second_thread, &how);
		if ((how & HOW_IN_THREAD) != 0 || strcmp(target_name, "thread_end") == 0) {
			pthread_join(thread, NULL);
			_exit(0);
		}
		/* It has raised its mark and waits; from here on this thread is not alone. */
		while (held[49] == NULL)
			sched_yield();
		sigemptyset(&set);
		held[3] = at_realloc(held[3], 463);
	}
	if ((how & HOW_LATE) != 0) {
		atexit(late);
		exit(0);
	}
	observed(target_name);
	_exit(0);
}

/* ---- reading a state ---- */

struct state {
	char *text;
	uint64_t allocs, frees;
	int64_t live_bytes, live_blocks;
};

static bool
site_is_empty(const struct prof_site *s)
{
	return s->allocs == 0 && s->frees == 0 && s->alloc_bytes == 0 && s->peak_bytes == 0;
}

static void
print_site(struct buf *b, const struct prof_site *s)
{
	buf_printf(b, "site allocs %" PRIu64 " frees %" PRIu64 " bytes %" PRIu64 " %" PRIu64,
	           s->allocs, s->frees, s->alloc_bytes, s->free_bytes);
	buf_printf(b, " temps %" PRIu64 " %" PRIu64 " peak %" PRId64 " at peak %" PRId64 " %" PRId64
	           " at exit %" PRId64 " %" PRId64 "\n  sizes",
	           s->temps, s->temp_bytes, s->peak_bytes, s->at_peak_bytes, s->at_peak_blocks,
	           s->at_exit_bytes, s->at_exit_blocks);
	for (unsigned i = 0; i < PROF_SIZE_BUCKETS; i++)
		buf_printf(b, " %" PRIu64, s->sizes[i]);
	buf_add_str(b, " lifetimes");
	for (unsigned i = 0; i < PROF_LIFE_BUCKETS; i++)
		buf_printf(b, " %" PRIu64, s->lifetimes[i]);
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
		print_site(&b, s);
	}
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *x = &p->blocks[i];

		table_bytes += (int64_t)x->bytes;
		table_blocks++;
		buf_printf(&b, "block %" PRIx64 " %" PRIu64 " site %u thread %u\n", x->addr,
		           x->bytes, order[x->site], x->thread_serial);
	}
	buf_printf(&b, "live %" PRId64 " peak %" PRId64 " unknown %" PRIu64 " unseen %" PRIu64 "\n",
	           pr->live_bytes, pr->peak_bytes, pr->frees_unknown, pr->frees_unseen);
	for (unsigned i = 0; i < PROF_LOST_MAX; i++) {
		if (pr->lost[i] != 0)
			buf_printf(&b, "lost[%u] %" PRIu64 "\n", i, pr->lost[i]);
	}
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (p->damages[i].count != 0)
			buf_printf(&b, "DAMAGE %s %" PRIu64 "\n", prof_text(p, p->damages[i].what),
			           p->damages[i].count);
	}
	if (table_bytes != st.live_bytes || table_blocks != st.live_blocks)
		buf_printf(&b, "TABLE %" PRId64 " in %" PRId64 ", cells %" PRId64 " in %" PRId64 "\n",
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
	char *seep = xasprintf("SEEP=mode=exact,dir=%s,max=%d", t->dir, FILE_BYTES);
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

		if (who < 0 || WIFSIGNALED(status) || (WIFEXITED(status) && who == t->pid))
			return false;
		if (!WIFSTOPPED(status))
			continue;
		if (WSTOPSIG(status) == SIGUSR1) {
			t->tid = who;
			return true;
		}
		if (WSTOPSIG(status) == SIGTRAP && who == t->pid)
			ptrace(PTRACE_SETOPTIONS, who, 0, PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
		ptrace(PTRACE_CONT, who, 0, 0);
	}
}

static bool
open_live(struct trace *t)
{
	DIR *d = opendir(t->dir);
	struct dirent *e;
	int fd = -1;

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strstr(e->d_name, ".live") == NULL)
			continue;
		snprintf(t->path, sizeof t->path, "%s/%s", t->dir, e->d_name);
		fd = open(t->path, O_RDONLY | O_CLOEXEC);
	}
	if (d != NULL)
		closedir(d);
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
};

static void
remember(struct history *h, const struct trace *t)
{
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

	T_CHECK(mkdtemp(t.dir) != NULL);
	start_target(&t, name, how);
	ok = run_to_marker(&t);
	/* A second thread that only waits has raised the first mark. */
	if (ok && (how & HOW_THREADS) != 0) {
		ptrace(PTRACE_CONT, t.tid, 0, 0);
		ok = run_to_marker(&t);
	}
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
	judge(name, how, &h, c != NULL && c->allocs + c->frees > 0 ? 2 : 1);
	printf("    %s/%u: %u instructions, %u readings, %zu states\n", name, how, t.steps,
	       t.reads, h.n);
	end_target(&t);
	forget(&h);
}

static void
observe_all(unsigned how)
{
	char *lib = path_of_libseep();
	bool there = access(lib, R_OK) == 0;

	free(lib);
	if (!there)
		T_SKIP("no libseep.so in this build");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		observe(cases[i].name, how, &cases[i]);
}

T_TEST(below_the_peak)
{
	observe_all(0);
}

T_TEST(at_a_new_peak)
{
	observe_all(HOW_PEAK);
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

T_TEST(in_a_second_thread_at_a_new_peak)
{
	observe_all(HOW_IN_THREAD | HOW_PEAK);
}

/* The figures are folded into the site's: no reader sees them twice or not at all. */
T_TEST(end_of_a_thread)
{
	observe("thread_end", HOW_IN_THREAD, NULL);
}

T_MAIN()
