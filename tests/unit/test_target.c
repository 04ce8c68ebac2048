/* SPDX-License-Identifier: MIT */
/* test_target.c -- src/tool/target but for inspect: /proc, run folders, live recordings,
 * marks, starting and waiting. Live recordings are made by hand, with figures that
 * nothing else would give. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "folder_fixture.h"
#include "shared/recording_columns.h"
#include "t.h"
#include "tool/session/loop.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/control.h"
#include "tool/target/run/find.h"
#include "tool/target/run/launch.h"
#include "tool/target/run/liveobjects.h"
#include "tool/target/run/rundir.h"
#include "tool/target/run/ticker.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* ---- the loop of a run ---- */

static int
ticker_turn(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	(void)e;
	return ticker_step(ctx, ev->sig, &ev->info, ev->now_ns, &l->tick_ns) ? LOOP_END
									     : LOOP_GO_ON;
}

static int
ticker_wait(struct ticker *t, struct err *e)
{
	sigset_t set;
	struct loop l = {.signals = &set, .step = ticker_turn, .ctx = t};
	int r;

	ticker_handled(&set);
	ticker_start(t, &l.tick_ns);
	r = loop_run(&l, e);
	ticker_end(t);
	return r;
}

/* ---- procfs ---- */

T_TEST(procfs_reads_ourselves)
{
	struct procfs_stat st;
	uint64_t rss = 0, anon = 0;

	T_EQ(prctl(PR_SET_NAME, "a) b (c"), 0);
	T_EQ(procfs_stat(getpid(), &st, NULL), 0);
	T_STR(st.comm, "a) b (c");
	T_EQ(st.ppid, getppid());
	T_EQ(st.threads, 1);
	T_EQ(procfs_ns_pid(getpid()), getpid());
	T_CHECK(st.start_ticks > 0);
	T_CHECK(procfs_alive(getpid(), st.start_ticks));
	T_CHECK(!procfs_alive(getpid(), st.start_ticks + 1));
	T_EQ(procfs_stat(0x7ffffffe, &st, NULL), -ESRCH);
	T_EQ(procfs_memory(getpid(), &rss, &anon), 0);
	T_CHECK(rss > 0 && anon > 0 && anon <= rss);
	T_CHECK(procfs_memory_limit_bytes() > 1 << 20);
}

T_TEST(procfs_maps_rows)
{
	char text[] = "00400000-00452000 r-xp 00001000 08:02 173521      /usr/bin/a b\n"
		      "nonsense\n"
		      "7ffd0000-7ffd1000 rw-p 00000000 00:00 0 \n"
		      "7f00-7f01 rw-s 00000000 00:19 4711 /dev/shm/x.live";
	char *at = text;
	struct procfs_map m;

	T_CHECK(procfs_next_map(&at, &m));
	T_EQ(m.start, 0x400000);
	T_EQ(m.offset, 0x1000);
	T_EQ(m.inode, 173521);
	T_STR(m.path, "/usr/bin/a b");
	T_CHECK(procfs_next_map(&at, &m));
	T_STR(m.path, "");
	T_CHECK(procfs_next_map(&at, &m));
	T_EQ(m.dev_minor, 0x19);
	T_STR(m.path, "/dev/shm/x.live");
	T_CHECK(!procfs_next_map(&at, &m));
}

/* ---- recordings made by hand ---- */

enum { FILE_CHUNKS = 16, FILE_BYTES = REC_CHUNKS_OFF + FILE_CHUNKS * REC_CHUNK_BYTES };

struct made {
	unsigned char *map;
	struct rec_head *head;
	uint32_t sites, cells;
};

static void *
made_chunk(struct made *m, enum rec_chunk_kind kind, uint32_t used)
{
	uint32_t index = ++m->head->chunks;
	struct rec_chunk *c = (struct rec_chunk *)(void *)(m->map + REC_CHUNKS_OFF +
							   (index - 1) * REC_CHUNK_BYTES);

	c->kind = kind;
	c->used = used;
	c->next = m->head->chunk_lists[kind];
	m->head->chunk_lists[kind] = index;
	return c;
}

static uint32_t
made_ref(const struct made *m, const void *p)
{
	return (uint32_t)((const unsigned char *)p - m->map) / 8;
}

/* A recording of ours with `sites` sites: number i has i + 1 blocks of 37 bytes live in
 * one cell and one of 11 in the cell of ended threads. */
static struct made
make_live(int dirfd, const char *name, uint32_t sites)
{
	int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct made m = {.sites = sites};
	struct procfs_stat st;
	struct timespec ts;

	if (fd < 0 || ftruncate(fd, FILE_BYTES) < 0)
		abort();
	m.map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (m.map == MAP_FAILED)
		abort();
	close(fd);
	m.head = (struct rec_head *)(void *)m.map;
	memcpy(m.head->magic, REC_MAGIC, 8);
	m.head->version = REC_VERSION;
	m.head->head_bytes = sizeof *m.head;
	m.head->chunk_bytes = REC_CHUNK_BYTES;
	rec_columns_write(m.head);
	m.head->file_bytes = FILE_BYTES;
	m.head->pid = (uint32_t)getpid();
	m.head->mode = REC_MODE_EXACT;
	procfs_stat(getpid(), &st, NULL);
	m.head->process_ticks = st.start_ticks;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	m.head->start_mono_ns =
		(uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec - 5000000;
	m.head->populated = 8;
	if (sizeof(struct rec_chunk) + 2 * sites * REC_CELL_BYTES > REC_CHUNK_BYTES)
		abort(); /* the cells go into one chunk */
	char *cells = made_chunk(
		&m, REC_CHUNK_CELL,
		(uint32_t)(sizeof(struct rec_chunk) + 2 * sites * REC_CELL_BYTES));
	char *rows = made_chunk(
		&m, REC_CHUNK_SITE,
		(uint32_t)(sizeof(struct rec_chunk) + sites * sizeof(struct rec_site)));

	for (uint32_t i = 0; i < sites; i++) {
		struct rec_site *s =
			(struct rec_site *)(void *)(rows + sizeof(struct rec_chunk)) + i;
		char *at = cells + sizeof(struct rec_chunk) + 2 * i * REC_CELL_BYTES;
		struct rec_cell *c = (void *)at, *ended = (void *)(at + REC_CELL_BYTES);

		s->node = 77;
		s->cells = made_ref(&m, c);
		s->ended = made_ref(&m, ended);
		c->site = ended->site = made_ref(&m, s);
		c->allocs = i + 3;
		c->frees = 2;
		c->alloc_bytes = (i + 3) * UINT64_C(37);
		c->free_bytes = 74;
		ended->allocs = 5;
		ended->frees = 4;
		ended->alloc_bytes = 55;
		ended->free_bytes = 44;
	}
	return m;
}

static void
made_done(struct made *m)
{
	munmap(m->map, FILE_BYTES);
}

static char *
live_name(void)
{
	return xasprintf("%d.00112233445566aa.live", getpid());
}

/* ---- run folders ---- */

T_TEST(rundir_names)
{
	int pid = 0;

	T_CHECK(rundir_is_live_name("4711.0123456789abcdef.live", &pid));
	T_EQ(pid, 4711);
	T_CHECK(!rundir_is_live_name("4711.0123456789abcde.live", NULL));
	T_CHECK(!rundir_is_live_name("4711.0123456789abcdeX.live", NULL));
	T_CHECK(!rundir_is_live_name("4711.0123456789abcdef.live2", NULL));
	T_CHECK(!rundir_is_live_name("-1.0123456789abcdef.live", NULL));
	T_CHECK(!rundir_is_live_name("owner", NULL));
}

T_TEST(rundir_is_kept_while_owned_and_taken_when_not)
{
	struct rundir a = RUNDIR_NONE, b = RUNDIR_NONE;
	struct rundir_names list = {0};
	char *path;
	struct stat st;
	int pid, status;

	pid = fork();
	if (pid == 0) {
		struct rundir d = RUNDIR_NONE;

		if (rundir_new("./prog --with 'args'", &d, NULL) < 0 ||
		    rundir_set_output(&d, "/tmp/out put.rec", NULL) < 0)
			_exit(1);
		raise(SIGSTOP);
		_exit(0); /* leaves the folder behind, as a killed seep does */
	}
	T_EQ(waitpid(pid, &status, WUNTRACED), pid);
	T_CHECK(WIFSTOPPED(status));
	rundir_list(&list);
	T_CHECK(list.len > 0);
	path = NULL;
	for (size_t i = 0; i < list.len; i++) {
		struct rundir d = RUNDIR_NONE;

		if (rundir_open(list.data[i], &d, NULL) == 0 && d.owner_pid == pid)
			path = xstrdup(d.path);
		rundir_close(&d);
	}
	rundir_names_done(&list);
	T_CHECK(path != NULL);
	if (path == NULL)
		return;
	T_EQ(stat(path, &st), 0);
	T_EQ(st.st_mode & 0777, 0700);
	T_EQ(rundir_open(path, &a, NULL), 0);
	T_STR(a.output, "/tmp/out put.rec");
	T_STR(a.command, "./prog --with 'args'");
	T_CHECK(a.run_id != 0);
	T_CHECK(rundir_owned(&a));
	T_EQ(rundir_take(&a, NULL), -EBUSY);
	T_EQ(rundir_remove(&a, NULL, NULL), -EPERM);

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	T_CHECK(!rundir_owned(&a));
	T_EQ(rundir_open(path, &b, NULL), 0);
	T_EQ(rundir_take(&a, NULL), 0);
	T_EQ(rundir_take(&b, NULL), -EBUSY);
	rundir_close(&b);
	T_EQ(rundir_remove(&a, NULL, NULL), 0);
	T_EQ(stat(path, &st), -1);
	free(path);
}

T_TEST(rundir_with_a_new_recording_is_not_removed)
{
	struct rundir d = RUNDIR_NONE;
	struct rundir_names known = {0};
	struct stat st;
	int fd;

	T_EQ(rundir_new("test", &d, NULL), 0);
	fd = openat(d.fd, "17.0123456789abcdef.live", O_CREAT | O_WRONLY, 0600);
	close(fd);
	rundir_files(&d, &known);
	T_EQ(known.len, 1);
	fd = openat(d.fd, "19.0123456789abcdef.live", O_CREAT | O_WRONLY, 0600);
	close(fd);
	T_EQ(rundir_remove(&d, &known, NULL), -ENOTEMPTY);
	T_EQ(fstatat(d.fd, "17.0123456789abcdef.live", &st, 0), 0);
	T_EQ(unlinkat(d.fd, "19.0123456789abcdef.live", 0), 0);
	T_EQ(rundir_remove(&d, &known, NULL), 0);
	T_EQ(d.fd, -1);
	rundir_names_done(&known);
}

T_TEST(rundir_sees_forked_processes_that_have_no_recording_yet)
{
	struct rundir d = RUNDIR_NONE;
	char *name = live_name();
	struct made m;
	int pid;

	T_EQ(rundir_new("test", &d, NULL), 0);
	m = make_live(d.fd, name, 1);
	T_EQ(rundir_living(&d, NULL, 0), 1);
	T_EQ(rundir_forked(&d, getpid()), 0);
	pid = fork();
	if (pid == 0) {
		for (;;)
			pause();
	}
	T_EQ(rundir_forked(&d, pid - 1), 1);
	T_EQ(rundir_forked(&d, pid), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	T_EQ(rundir_forked(&d, pid - 1), 0);
	made_done(&m);
	T_EQ(rundir_remove(&d, NULL, NULL), 0);
	free(name);
}

T_TEST(rundir_refuses_links_and_open_folders)
{
	struct rundir d = RUNDIR_NONE;
	const char *open_dir = in_folder("open");
	const char *link = in_folder("link");

	mkdir(open_dir, 0755);
	chmod(open_dir, 0755);
	T_EQ(rundir_open(open_dir, &d, NULL), -EPERM);
	T_EQ(symlink(folder, link), 0);
	T_CHECK(rundir_open(link, &d, NULL) < 0);
}

T_TEST(livefile_refuses_what_is_none)
{
	struct livefile f = {.fd = -1};
	char *zeros = xcalloc(1, REC_CHUNKS_OFF);
	int dirfd;

	make_folder();
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	write_program("short.live", "SEEPLIVE", 8, 0600);
	T_EQ(livefile_open(dirfd, "short.live", &f, NULL), -EAGAIN);
	write_program("zero.live", zeros, REC_CHUNKS_OFF, 0600);
	T_EQ(livefile_open(dirfd, "zero.live", &f, NULL), -EAGAIN);
	memcpy(zeros, "NOT SEEP", 8);
	write_program("other.live", zeros, REC_CHUNKS_OFF, 0600);
	T_EQ(livefile_open(dirfd, "other.live", &f, NULL), -EBADMSG);
	memcpy(zeros, REC_MAGIC, 8);
	write_program("version.live", zeros, REC_CHUNKS_OFF, 0600);
	T_EQ(livefile_open(dirfd, "version.live", &f, NULL), -EPROTO);
	T_EQ(symlinkat("version.live", dirfd, "sym.live"), 0);
	T_EQ(livefile_open(dirfd, "sym.live", &f, NULL), -ELOOP);
	T_EQ(f.fd, -1);
	close(dirfd);
	free(zeros);
}

T_TEST(find_goes_through_our_own_mappings)
{
	struct livefile f = {.fd = -1};
	char *name = live_name();
	int dirfd;
	struct made m;
	char number[16];
	struct err e = {0};

	make_folder();
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	snprintf(number, sizeof number, "%d", getpid());
	T_EQ(target_find(number, &f, &e), -ENOENT);
	T_CHECK(strstr(e.msg, "not recorded") != NULL);
	m = make_live(dirfd, name, 3);
	m.head->pid++; /* somebody else's, whom we only look at */
	T_EQ(target_find(number, &f, NULL), -ENOENT);
	m.head->pid--;
	m.head->process_ticks++;
	T_EQ(target_find(number, &f, NULL), -ENOENT);
	m.head->process_ticks--;
	T_EQ(target_find(number, &f, NULL), 0);
	T_EQ(f.pid, getpid());
	T_CHECK(livefile_alive(&f));
	control_pause(&f, true);
	T_EQ(m.head->paused, 1);
	control_pause(&f, false);
	T_EQ(m.head->paused, 0);
	livefile_close(&f);
	T_EQ(target_find("99999999999", &f, NULL), -ESRCH);
	T_EQ(target_find("no-such-name-4711", &f, NULL), -ESRCH);
	made_done(&m);
	unlinkat(dirfd, name, 0);
	close(dirfd);
	free(name);
}

/* Sum over the records of a mark in the recording. */
static void
read_mark(const struct made *m, uint32_t number, uint32_t *rows, int64_t *bytes,
	  int64_t *blocks)
{
	uint32_t index = m->head->chunk_lists[REC_CHUNK_MARK];

	*rows = 0;
	*bytes = *blocks = 0;
	while (index != 0) {
		unsigned char *c =
			m->map + REC_CHUNKS_OFF + (index - 1) * (uint64_t)REC_CHUNK_BYTES;
		struct rec_chunk *head = (struct rec_chunk *)(void *)c;
		uint32_t at = sizeof *head;

		while (at < head->used &&
		       at + sizeof(struct rec_mark) <= REC_CHUNK_BYTES) {
			struct rec_mark *k = (struct rec_mark *)(void *)(c + at);
			struct rec_mark_row *r = (struct rec_mark_row *)(k + 1);

			for (uint32_t i = 0; k->number == number && i < k->sites; i++) {
				*bytes += r[i].live_bytes;
				*blocks += r[i].live_blocks;
				(*rows)++;
			}
			at += (uint32_t)sizeof(struct rec_mark) +
			      REC_MARK_ROWS * sizeof(struct rec_mark_row);
		}
		index = head->next;
	}
}

T_TEST(mark_holds_every_site_once)
{
	struct livefile f = {.fd = -1};
	struct control_marked got;
	char *name = live_name();
	uint32_t rows;
	int64_t bytes, blocks;
	struct made m;
	int dirfd;

	make_folder();
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	m = make_live(dirfd, name, 61);
	T_EQ(target_find_pid(getpid(), &f, NULL), 0);
	T_EQ(control_mark(&f, "first", &got, NULL), 0);
	T_EQ(got.number, 1);
	T_EQ(got.sites, 61);
	/* 37 * (1 + … + 61) + 61 * 11 */
	T_EQ(got.live_bytes, 37 * 1891 + 671);
	read_mark(&m, 1, &rows, &bytes, &blocks);
	T_EQ(rows, 61);
	T_EQ(bytes, got.live_bytes);
	T_EQ(blocks, 1891 + 61);
	T_CHECK(got.ms >= 5 && got.ms < 60000);
	T_EQ(m.head->locks[0], 0);
	T_EQ(m.head->chunks, 3);

	/* An absorbed cell counts once. */
	struct rec_site *s =
		(struct rec_site *)(void *)(m.map + REC_CHUNKS_OFF + REC_CHUNK_BYTES +
					    sizeof(struct rec_chunk));
	struct rec_cell *ended = livefile_at(&f, s->ended, sizeof *ended);

	T_CHECK(ended != NULL);
	if (ended != NULL)
		ended->absorbed = s->cells;
	T_EQ(control_mark(&f, "", &got, NULL), 0);
	T_EQ(got.number, 2);
	T_EQ(got.live_bytes, 37 * 1890 + 671);
	T_EQ(m.head->chunks, 3); /* in the chunk of the first one */
	livefile_close(&f);
	made_done(&m);
	unlinkat(dirfd, name, 0);
	close(dirfd);
	free(name);
}

T_TEST(marks_fill_the_recording_and_then_say_so)
{
	struct livefile f = {.fd = -1};
	struct control_marked got;
	char *name = live_name();
	uint32_t rows, marks = 0;
	int64_t bytes, blocks;
	struct made m;
	int dirfd, r;

	make_folder();
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	m = make_live(dirfd, name, 60);
	T_EQ(target_find_pid(getpid(), &f, NULL), 0);
	while ((r = control_mark(&f, "again", &got, NULL)) == 0 && marks < 10000)
		marks++;
	T_EQ(r, -ENOSPC);
	/* 14 chunks of marks, 4 records of 64 + 677 * 24 bytes in each. */
	T_EQ(marks, 14 * 4);
	T_EQ(m.head->chunks, FILE_CHUNKS);
	T_EQ(m.head->populated, FILE_CHUNKS);
	T_EQ(m.head->marks, marks);
	T_EQ(m.head->lost[REC_LOST_MARK], 1);
	T_EQ(m.head->locks[0], 0);
	read_mark(&m, marks, &rows, &bytes, &blocks);
	T_EQ(rows, 60);
	livefile_close(&f);
	made_done(&m);
	unlinkat(dirfd, name, 0);
	close(dirfd);
	free(name);
}

T_TEST(mark_does_not_wait_for_ever)
{
	struct livefile f = {.fd = -1};
	struct control_marked got;
	char *name = live_name();
	struct made m;
	int dirfd;

	make_folder();
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	m = make_live(dirfd, name, 1);
	T_EQ(target_find_pid(getpid(), &f, NULL), 0);
	m.head->locks[0] = 64; /* a thread that never comes back */
	T_EQ(control_mark(&f, "x", &got, NULL), -EBUSY);
	T_EQ(m.head->locks[0], 64);
	T_EQ(m.head->marks, 0);
	livefile_close(&f);
	made_done(&m);
	unlinkat(dirfd, name, 0);
	close(dirfd);
	free(name);
}

T_TEST(livefile_stays_within_what_is_present)
{
	struct livefile f = {.fd = -1};
	char *name = live_name();
	struct made m;
	int dirfd;

	make_folder();
	dirfd = open(folder, O_RDONLY | O_DIRECTORY);
	m = make_live(dirfd, name, 1);
	T_EQ(target_find_pid(getpid(), &f, NULL), 0);
	T_EQ(livefile_map_all(&f, NULL), 0);
	T_EQ(livefile_live_bytes(&f), 37 + 11);
	T_CHECK(livefile_chunk(&f, 0) == NULL);
	T_CHECK(livefile_chunk(&f, 8) != NULL);
	T_CHECK(livefile_chunk(&f, 9) == NULL);
	m.head->populated = UINT32_MAX; /* a lie: the file ends before */
	T_CHECK(livefile_chunk(&f, FILE_CHUNKS) != NULL);
	T_CHECK(livefile_chunk(&f, FILE_CHUNKS + 1) == NULL);
	T_CHECK(livefile_at(&f, FILE_BYTES / 8 - 1, 8) != NULL);
	T_CHECK(livefile_at(&f, FILE_BYTES / 8 - 1, 9) == NULL);
	T_CHECK(livefile_at(&f, 1, 8) == NULL);
	T_CHECK(livefile_at(&f, UINT32_MAX, 8) == NULL);
	livefile_close(&f);
	made_done(&m);
	unlinkat(dirfd, name, 0);
	close(dirfd);
	free(name);
}

/* ---- starting and waiting ---- */

/* Starts a program under a ticker, with nothing in LD_PRELOAD that does anything. */
static int
run_program(char **argv, struct ticker *t, struct rundir *d, const sigset_t *mask)
{
	struct inspect in;
	struct launch l = {.program = &in,
			   .argv = argv,
			   .libseep = "/dev/null/none",
			   .dir = d->path,
			   .run_id = 0xabcdef,
			   .max_bytes = 1 << 20,
			   .mask = mask};
	int pid = 0, status = 0, r;

	r = inspect_program(argv[0], &in, NULL);
	if (r == 0)
		r = launch_start(&l, &pid, &status, NULL);
	inspect_done(&in);
	t->child = pid;
	t->dir = d;
	return r;
}

static int
run_shell(const char *text, struct ticker *t, struct rundir *d, const sigset_t *mask)
{
	char *argv[] = {"sh", "-c", (char *)text, NULL};

	return run_program(argv, t, d, mask);
}

T_TEST(launch_passes_settings_and_status)
{
	struct rundir d = RUNDIR_NONE;
	struct ticker t = {0};
	sigset_t before;
	char *text =
		xasprintf("exec 2>/dev/null; echo \"$LD_PRELOAD $SEEP\" >%s; exit 23",
			  in_folder("env"));
	struct buf b = {0};
	char *want;

	T_EQ(rundir_new("test", &d, NULL), 0);
	ticker_signals(&before);
	setenv("LD_PRELOAD", "", 1);
	/* The loader complains about a library that is not there: not into the test's
	 * output. */
	int err = dup(2);
	int null = open("/dev/null", O_WRONLY);
	dup2(null, 2);
	T_EQ(run_shell(text, &t, &d, &before), 0);
	T_EQ(ticker_wait(&t, NULL), 0);
	dup2(err, 2);
	close(err);
	close(null);
	unsetenv("LD_PRELOAD");
	T_CHECK(WIFEXITED(t.wait_status));
	T_EQ(WEXITSTATUS(t.wait_status), 23);
	T_EQ(buf_read_file(&b, in_folder("env"), NULL), 0);
	want = xasprintf(
		"/dev/null/none mode=exact,dir=%s,run=0000000000abcdef,max=1048576\n",
		d.path);
	T_STR(buf_str(&b), want);
	ticker_done(&t);
	rundir_remove(&d, NULL, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	buf_done(&b);
	free(want);
	free(text);
}

T_TEST(launch_with_sigchld_ignored)
{
	struct rundir d = RUNDIR_NONE;
	struct ticker t = {0};
	sigset_t before;
	int err = dup(2), null = open("/dev/null", O_WRONLY);
	char *argv[] = {"grep", "-c", "SigIgn:.*[13579bdf]....$", "/proc/self/status",
			NULL};
	int out = dup(1);

	T_EQ(rundir_new("test", &d, NULL), 0);
	signal(SIGCHLD, SIG_IGN);
	ticker_signals(&before);
	fflush(stdout);
	dup2(null, 1);
	dup2(null, 2);
	/* SIGCHLD is 17: bit 16 of the ignored ones must be set in the program. A shell
	 * would not do here, as it sets the signal for itself. */
	T_EQ(run_program(argv, &t, &d, &before), 0);
	T_EQ(ticker_wait(&t, NULL), 0);
	dup2(err, 2);
	dup2(out, 1);
	close(out);
	T_EQ(t.wait_status,
	     0); /* found; were the status lost, this would wait for ever */
	signal(SIGCHLD, SIG_DFL);
	ticker_done(&t);
	rundir_remove(&d, NULL, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(err);
	close(null);
}

static int
count_checkpoint(void *ctx)
{
	return *(int *)ctx;
}

T_TEST(ticker_keeps_the_clock_and_passes_signals_on)
{
	struct rundir d = RUNDIR_NONE;
	int checkpoint_status = 0;
	struct ticker t = {.checkpoint_ns = 40000000,
			   .checkpoint = count_checkpoint,
			   .ctx = &checkpoint_status};
	char *name = live_name();
	const struct ticker_file *row;
	sigset_t before;
	struct made m;
	int err = dup(2), null = open("/dev/null", O_WRONLY), helper;

	T_EQ(rundir_new("test", &d, NULL), 0);
	m = make_live(d.fd, name, 1);
	m.head->start_ns = 12345;
	ticker_signals(&before);
	dup2(null, 2);
	T_EQ(run_shell("trap 'exit 9' TERM; while :; do sleep 0.01; done", &t, &d,
		       &before),
	     0);
	dup2(err, 2);
	helper = fork();
	if (helper == 0) {
		struct timespec nap = {.tv_sec = 2};

		nanosleep(&nap, NULL);
		kill(getppid(), SIGTERM);
		_exit(0);
	}
	T_EQ(ticker_wait(&t, NULL), 0);
	T_EQ(waitpid(helper, NULL, 0), helper);
	T_CHECK(WIFEXITED(t.wait_status));
	T_EQ(WEXITSTATUS(t.wait_status), 9);
	T_CHECK(m.head->clock_ms >= 250 && m.head->clock_ms < 20000);
	T_EQ(m.head->tool_pid, getpid());
	T_CHECK(m.head->rss_kib > 100);
	row = ticker_find(&t, (uint32_t)getpid(), 12345);
	T_CHECK(row != NULL);
	if (row != NULL) {
		T_CHECK(row->rss_peak_kib >= row->rss_kib && row->rss_kib > 100);
		T_CHECK(row->anon_kib > 0);
	}
	T_CHECK(ticker_find(&t, (uint32_t)getpid(), 12346) == NULL);
	T_CHECK(t.checkpoints >= 3);
	T_EQ(t.checkpoints_failed, 0);
	ticker_done(&t);
	made_done(&m);
	T_EQ(rundir_living(&d, NULL, 0), 1); /* that is us */
	rundir_remove(&d, NULL, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(err);
	close(null);
	free(name);
}

T_TEST(clean_up)
{
	char *command = xasprintf("rm -rf %s", folder);

	if (folder[0] != '\0')
		T_EQ(system(command), 0);
	free(command);
}

T_MAIN()
