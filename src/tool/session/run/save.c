/* SPDX-License-Identifier: MIT */
/* save.c -- see save.h.
 *
 * Orphans are read in a child process: whatever ended the run may have left a recording,
 * or binaries, that end their reader too, and then `seep ps` must not die of it time and
 * again. */
#include "tool/session/run/save.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/format/format.h"
#include "tool/format/live/live_load.h"
#include "tool/format/pack/pack.h"
#include "tool/session/last.h"
#include "tool/session/names/names.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/proc/oom.h"
#include "tool/target/run/livefile.h"
#include "tool/util/cmdline/note.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

int
save_load_file(const struct livefile *f, struct prof *p, struct err *e)
{
	bool alive = livefile_alive(f);
	uint32_t row = p->nprocesses;
	int r = live_load_fd(f->fd, !alive, p, e);

	if (r == 0 && alive) {
		p->processes[row].duration_ms = livefile_age_ms(f);
		prof_end_points(p, row, p->processes[row].duration_ms, 0);
	}
	return r;
}

/* When the recording in a file began; 0 = not known. */
static uint64_t
started(const struct rundir *d, const char *name)
{
	int fd = openat(d->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	uint64_t ns;

	if (fd < 0)
		return 0;
	ns = live_whose(fd).start_ns;
	close(fd);
	return ns;
}

struct start {
	uint64_t ns;
	char *name;
};

static int
compare_starts(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Parents before their children, whatever their numbers are: those begin anew at some
 * time. */
static void
sort_by_start(const struct rundir *d, struct rundir_names *names)
{
	struct start *all = xcalloc(names->len, sizeof *all);

	for (size_t i = 0; i < names->len; i++)
		all[i] = (struct start){started(d, names->data[i]), names->data[i]};
	if (names->len > 1)
		qsort(all, names->len, sizeof *all, compare_starts);
	for (size_t i = 0; i < names->len; i++)
		names->data[i] = all[i].name;
	free(all);
}

unsigned
save_load(const struct rundir *d, struct prof *p, struct rundir_names *ret_names)
{
	struct rundir_names names = {0};
	unsigned n = 0;

	rundir_files(d, &names);
	sort_by_start(d, &names);
	for (size_t i = 0; i < names.len; i++) {
		struct livefile f = {.fd = -1};
		struct err e = {0};
		int r = livefile_open(d->fd, names.data[i], &f, &e);

		if (r == 0)
			r = save_load_file(&f, p, &e);
		if (r == 0)
			n++;
		else if (r !=
			 -EAGAIN) /* the recorder got no further than making the file */
			prof_add_damage(p, e.msg, 1);
		livefile_close(&f);
		if (ret_names != NULL)
			vec_push(ret_names, TAKE(names.data[i]));
	}
	rundir_names_done(&names);
	return n;
}

/* First site of a process: recordings are read one after the other, so sites stand in the
 * order of their processes. */
static uint32_t
first_site(const struct prof *p, uint32_t process)
{
	uint32_t low = 1, high = p->nsites;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (p->sites[middle].process < process)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A process that waits makes no points of its own, and its RSS may change all the
 * same. */
static void
look_point(struct prof *p, uint32_t process, const struct looks_one *one, int64_t live)
{
	uint32_t row = prof_add_point(p);

	p->points[row] = (struct prof_point){.process = process,
					     .ms = (uint32_t)one->ms,
					     .rss_kib = one->rss_kib,
					     .own_kib = one->own_kib,
					     .live_bytes = live};
}

void
save_looks(struct prof *p, uint32_t process, const struct looks *l)
{
	struct map rows = {0}; /* ref of a site -> its row */
	int64_t live = 0;

	if (l->kept.len == 0)
		return;
	for (uint32_t i = first_site(p, process);
	     i < p->nsites && p->sites[i].process == process; i++)
		*map_add(&rows, p->sites[i].origin) = i;
	for (size_t i = 0; i < l->kept.len; i++) {
		const struct looks_one *one = &l->kept.data[i];
		uint32_t look = prof_add_look(p), first = p->nlook_rows;

		for (size_t k = 0; k < one->rows.len; k++) {
			const struct looks_row *r = &one->rows.data[k];
			const uint64_t *site = map_find(&rows, looks_ref(l, r->site));
			uint32_t row;

			if (site == NULL) /* what was inherited is no site of its own */
				continue;
			row = prof_add_look_row(p);
			p->look_rows[row] = (struct prof_look_row){
				.site = (uint32_t)*site,
				.allocs = r->allocs,
				.frees = r->frees,
				.alloc_bytes = r->alloc_bytes,
				.free_bytes = r->free_bytes,
			};
			live += r->alloc_bytes - r->free_bytes;
		}
		look_point(p, process, one, live);
		p->looks[look] = (struct prof_look){.process = process,
						    .rows = first,
						    .nrows = p->nlook_rows - first,
						    .ms = one->ms};
	}
	prof_sort_points(p);
	map_done(&rows);
}

/* Traits of the program of a process, read once for each path. */
static uint32_t
program_traits(const struct prof *p, uint32_t exe, struct map *known)
{
	uint64_t *at = map_find(known, exe);
	struct inspect_elf elf = {0};

	if (at != NULL)
		return (uint32_t)*at;
	if (exe != 0)
		inspect_elf(prof_text(p, exe), &elf, NULL);
	*map_add(known, exe) = elf.traits;
	return elf.traits;
}

void
save_coverage(struct prof *p)
{
	uint32_t *traits = xcalloc(p->nprocesses, sizeof *traits);
	struct map known = {0};

	for (uint32_t i = 0; i < p->nranges; i++) {
		const struct prof_range *r = &p->ranges[i];

		if (r->process < p->nprocesses && r->module < p->nmodules)
			traits[r->process] |= inspect_module_traits(
				prof_text(p, p->modules[r->module].path));
	}
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const char *text;

		if (p->processes[i].not_recorded != 0)
			continue;
		traits[i] |= program_traits(p, p->processes[i].exe, &known);
		/* Where seep run did not attach, only libraries that call malloc are
		 * seen. */
		if (p->processes[i].run_id != 0 && (traits[i] & INSPECT_OWN_MALLOC) != 0)
			p->processes[i].flags |= REC_FLAG_DIRECT_CALLS;
		if (p->processes[i].end == PROF_END_RUNNING)
			traits[i] = inspect_not_redirected(traits[i],
							   (int)p->processes[i].pid);
		text = inspect_coverage(traits[i]);
		if (text != NULL)
			p->processes[i].coverage = prof_str(p, text);
	}
	map_done(&known);
	free(traits);
}

/* ---- folders that were left behind ---- */

/* In the folder of a run: its file, when there was no other place for it. */
static const char packed_name[] = "packed";

int
save_in_folder(const struct rundir *d, const struct prof *p, struct err *e)
{
	char *path = xasprintf("%s/%s", d->path, packed_name);
	int r = pack_save(p, path, e);

	free(path);
	return r;
}

/* The file that this run has saved before, at its end or at a checkpoint; NULL when there
 * is none or it is another run's. */
static struct prof *
saved_before(const struct rundir *d)
{
	char *inside = xasprintf("%s/%s", d->path, packed_name);
	const char *const paths[] = {d->output, inside};
	struct prof *p = NULL;

	for (unsigned i = 0; i < ARRAY_LEN(paths) && p == NULL; i++) {
		if (paths[i][0] == '/' && format_load(paths[i], &p, NULL) == 0 &&
		    (p->nprocesses < 2 || p->processes[1].run_id != d->run_id)) {
			prof_free(p);
			p = NULL;
		}
	}
	free(inside);
	return p;
}

/* A process of the folder that was running when the file was saved: what was seen of it
 * by then. */
static void
keep_known(struct prof_process *to, const struct prof_process *from)
{
	to->rss_kib = from->rss_kib;
	to->rss_peak_kib = from->rss_peak_kib;
	to->anon_kib = from->anon_kib;
	to->stack_kib = from->stack_kib;
	to->static_kib = from->static_kib;
}

/* The saved file and what the folder has in addition. Of a process that is in both, the
 * file knows more if it had ended by then: its leak check above all. `p` and `before` are
 * freed. */
static struct prof *
join_saved(struct prof *p, struct prof *before)
{
	struct prof *all = prof_new();
	bool *known = xcalloc(p->nprocesses, sizeof *known);
	bool *old = xcalloc(before->nprocesses, sizeof *old);

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		for (uint32_t k = 1; k < before->nprocesses; k++) {
			const struct prof_process *from = &before->processes[k];

			if (from->pid != p->processes[i].pid ||
			    from->start_ns != p->processes[i].start_ns)
				continue;
			if (from->end != PROF_END_RUNNING &&
			    from->end != PROF_END_UNKNOWN) {
				known[i] = true;
			} else {
				old[k] = true;
				keep_known(&p->processes[i], from);
			}
		}
	}
	prof_merge_without(all, before, old);
	prof_merge_without(all, p, known);
	free(known);
	free(old);
	prof_free(before);
	prof_free(p);
	return all;
}

struct prof *
save_joined(const struct rundir *d, struct prof *p)
{
	struct prof *before = saved_before(d);

	return before != NULL ? join_saved(p, before) : p;
}

/* Where to save an orphan: where its run meant to, unless another run's file is there by
 * now, or the state folder when that place is not to be had. To be freed. */
static int
orphan_path(const struct rundir *d, bool ours, char **ret_path, struct err *e)
{
	char *folder = NULL, *slash;
	int r;

	if (d->output[0] == '/') {
		char *dir = xstrdup(d->output);
		bool writable;

		slash = strrchr(dir, '/');
		slash[slash == dir ? 1 : 0] = '\0';
		writable = access(dir, W_OK | X_OK) == 0;
		free(dir);
		if (writable && (ours || access(d->output, F_OK) < 0)) {
			*ret_path = xstrdup(d->output);
			return 0;
		}
	}
	r = last_folder(&folder, e);
	if (r == 0)
		*ret_path = xasprintf("%s/seep.%016" PRIx64 ".rec", folder, d->run_id);
	free(folder);
	return r;
}

/* How a folder is saved. */
struct orphan {
	const char
		*output; /* where to, given by the user; NULL = where its run meant to */
	const char *of; /* only if it belongs to the recording at this path; NULL = any */
	bool tell;	/* what is saved, and what cannot be */
	bool names;
};

/* Saves the recordings of one folder, which is ours by now. The folder stays. */
static int
save_orphan(const struct rundir *d, const struct orphan *o, struct err *e)
{
	struct prof *p = prof_new(), *before = saved_before(d);
	char *path = NULL;
	int r = 0;

	if (o->of != NULL && before == NULL)
		r = err_set(e, -ENOENT, "%s is of another run", o->of);
	else if (save_load(d, p, NULL) > 0 && o->output != NULL)
		path = xstrdup(o->output);
	else if (p->nprocesses > 1)
		r = orphan_path(d, before != NULL, &path, e);
	for (uint32_t i = 1; i < p->nprocesses; i++)
		oom_judge(NULL, &p->processes[i]);
	if (path != NULL) {
		save_coverage(p);
		if (o->names)
			names_resolve(p, NULL);
		/* The folder has all processes of the run, or only those that came
		 * later. */
		if (before != NULL)
			p = join_saved(p, TAKE(before));
		/* Nobody goes on any more: else it would not have been left over. */
		for (uint32_t i = 1; i < p->nprocesses; i++)
			p->processes[i].going_on = 0;
		r = pack_save(p, path, e);
	}
	if (path != NULL && r == 0 && o->of == NULL)
		last_write(path, NULL);
	if (path != NULL && r == 0 && o->tell)
		note("saved %s, left behind by: %.*s", path,
		     (int)strcspn(d->command, "\n"), d->command);
	free(path);
	prof_free(p);
	prof_free(before);
	return r;
}

/* The same in a child; true when it was saved. */
static bool
save_apart(const struct rundir *d, const struct orphan *o)
{
	struct orphan without = *o;
	struct err e = {0};
	int status, pid = fork();

	if (pid == 0) {
		if (save_orphan(d, o, &e) < 0) {
			if (o->tell)
				note("cannot save %s: %s", d->path, e.msg);
			_exit(1);
		}
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) != 0))
		return false;
	without.names = false; /* they are the likelier culprit */
	if (WIFSIGNALED(status) && o->names)
		return save_apart(d, &without);
	if (WIFSIGNALED(status) && o->tell)
		note("cannot save %s: its reader was ended by signal %d", d->path,
		     WTERMSIG(status));
	return WIFEXITED(status);
}

bool
save_is_left_over(const struct rundir *d)
{
	/* Forked ones have yet to begin, and need the folder for it. */
	return !rundir_owned(d) && rundir_forked(d, 0) == 0 &&
	       rundir_living(d, NULL, 0) == 0;
}

static unsigned
save_folders(const struct orphan *o)
{
	struct rundir_names paths = {0};
	unsigned n = 0;

	rundir_list(&paths);
	for (size_t i = 0; i < paths.len; i++) {
		struct rundir d = RUNDIR_NONE;

		if (rundir_open(paths.data[i], &d, NULL) < 0)
			continue;
		if ((o->of == NULL || file_same(d.output, o->of)) &&
		    save_is_left_over(&d) && rundir_take(&d, NULL) == 0 &&
		    save_apart(&d, o)) {
			rundir_remove(&d, NULL, NULL);
			n++;
		}
		rundir_close(&d);
	}
	rundir_names_done(&paths);
	return n;
}

unsigned
save_orphans(bool tell)
{
	return save_folders(&(struct orphan){.tell = tell, .names = true});
}

void
save_rest_of(const char *path)
{
	save_folders(&(struct orphan){.of = path, .names = true});
}

/* ---- one of them by its name ---- */

/* Finds a left-over folder and makes it ours. */
static int
take_left_over(const char *name, struct rundir *ret, struct err *e)
{
	int r = rundir_find(name, ret, e);

	if (r == 0 && !rundir_owned(ret) && !save_is_left_over(ret))
		return err_set(
			e, -EBUSY,
			"%s: a process still records into it; wait for its end (seep ps)",
			name);
	return r < 0 ? r : rundir_take(ret, e);
}

int
save_left_over(const char *name, const char *output, struct err *e)
{
	struct orphan o = {.output = output, .tell = true, .names = true};
	struct rundir d = RUNDIR_NONE;
	int r = take_left_over(name, &d, e);

	if (r == 0)
		r = save_orphan(&d, &o, e);
	if (r == 0)
		r = rundir_remove(&d, NULL, e);
	rundir_close(&d);
	return r;
}

int
save_discard(const char *name, struct err *e)
{
	struct rundir d = RUNDIR_NONE;
	int r = take_left_over(name, &d, e);

	if (r == 0)
		r = rundir_remove(&d, NULL, e);
	rundir_close(&d);
	return r;
}
