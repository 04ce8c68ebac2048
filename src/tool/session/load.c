/* SPDX-License-Identifier: MIT */
/* load.c -- see load.h. */
#include "tool/session/load.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/analyze/diff/diff.h"
#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/session/attach/attached.h"
#include "tool/session/attach/attached_old.h"
#include "tool/session/last.h"
#include "tool/session/run/save.h"
#include "tool/target/proc/anonparts.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/find.h"
#include "tool/util/file.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

/* A word as the user wrote it, taken apart. */
struct load_word {
	char *what;  /* file, PID or name */
	char *point; /* "" = none */
};

static bool
load_is_input(const char *what)
{
	return strcmp(what, "-") == 0 || input_is_url(what);
}

/* Cuts a point in time off, but not out of the name of a file that exists or of a URL. To
 * be freed also after a failure. */
static int
load_split(const char *text, struct load_word *ret_word, struct err *e)
{
	struct load_word w = {0};
	const char *at = strrchr(text, '@');
	int r = 0;

	if (at == NULL || strcmp(text, "@last") == 0 || file_is_regular(text) ||
	    load_is_input(text))
		at = text + strlen(text);
	w.what = xmemdup0(text, (size_t)(at - text));
	w.point = xstrdup(*at == '@' ? at + 1 : "");
	/* "@peak" alone is that of the last recording. */
	if (w.what[0] == '\0' || strcmp(w.what, "@last") == 0) {
		free(w.what);
		w.what = NULL;
		save_orphans(false); /* the last run may have been killed with its tool */
		r = last_read(&w.what, e);
	}
	*ret_word = w;
	return r;
}

static void
load_word_done(struct load_word *w)
{
	free(w->what);
	free(w->point);
}

int
load_refuse_program(const char *what, struct err *e)
{
	return err_set(e, -ESRCH,
		       "%s is a program, and no process runs it; to record it: seep run "
		       "%s%s",
		       what, strchr(what, '/') == NULL ? "./" : "", what);
}

/* ---- one of them ---- */

enum { LOAD_ROW = 1 }; /* of the process itself; what it started comes behind it */

void
load_look_at(struct prof *p, struct livefile *f)
{
	struct prof_process *pr = &p->processes[LOAD_ROW];
	uint64_t rss_kib = 0, anon_kib = 0;
	struct livefile_head h = livefile_head(f);
	struct anonparts parts = {.own_kib = h.own_kib};

	if (procfs_memory(f->pid, &rss_kib, &anon_kib) == 0) {
		if (anonparts_read(f, &parts) == 0)
			pr->recorder_kib += parts.own_kib - h.own_kib;
		pr->rss_kib = rss_kib;
		pr->anon_kib = anon_kib > parts.own_kib ? anon_kib - parts.own_kib : 0;
		pr->stack_kib = parts.stack_kib;
		pr->static_kib = parts.static_kib;
		if (pr->rss_peak_kib < rss_kib)
			pr->rss_peak_kib = rss_kib;
		prof_end_points(p, LOAD_ROW, pr->duration_ms, rss_kib);
	}
	save_coverage(p);
	attached_limit(p, LOAD_ROW, f->pid, h.before_kib);
	attached_old_load(p, LOAD_ROW, f);
}

static int
load_process(struct loaded *l, const char *what, struct prof **ret_prof, struct err *e)
{
	struct livefile f = {.fd = -1};
	struct prof *p = prof_new();
	int r = target_find(what, &f, e);

	if (r == 0)
		r = save_load_file(&f, p, e);
	if (r == 0) {
		l->pid = f.pid;
		l->live = true;
		load_look_at(p, &f);
		*ret_prof = TAKE(p);
	}
	livefile_close(&f);
	prof_free(p);
	return r;
}

/* The folder of a run whose recording could not be saved. */
static int
load_left_over(const char *name, struct prof **ret_prof, struct err *e)
{
	struct rundir d = RUNDIR_NONE;
	struct prof *p = prof_new();
	int r = rundir_find(name, &d, e);

	if (r == 0 && save_load(&d, p, NULL) == 0)
		r = err_set(e, -ENODATA, "%s: nothing was recorded", name);
	if (r == 0) {
		save_coverage(p);
		*ret_prof = save_joined(&d, TAKE(p));
	}
	rundir_close(&d);
	prof_free(p);
	return r;
}

static bool
load_is_number(const char *s)
{
	return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* A program says nothing by itself: a process that runs it is meant. */
static int
load_program(struct loaded *l, const char *what, struct prof **ret_prof, struct err *e)
{
	int r = load_process(l, what, ret_prof, e);

	return r != -ESRCH ? r : load_refuse_program(what, e);
}

/* A number is a process. A file wins over a process of that name if it is a recording:
 * the program itself often lies in the same folder. */
static int
load_one(struct loaded *l, const char *what, struct prof **ret_prof, struct err *e)
{
	struct format_opts o = {.exe = l->exe};
	struct err file_err = {0};
	bool file = file_is_regular(what);
	int r;

	if (load_is_input(what))
		return format_load_with(what, &o, ret_prof, e);
	r = load_left_over(what, ret_prof, e);
	if (r != -ENOENT)
		return r;
	if (file)
		save_rest_of(what);
	if (!load_is_number(what) && file && format_is_program(what))
		return load_program(l, what, ret_prof, e);
	if (!load_is_number(what) && (file || strchr(what, '/') != NULL)) {
		r = format_load_with(what, &o, ret_prof, &file_err);
		if (r == 0)
			return 0;
		if (strchr(what, '/') != NULL || load_process(l, what, ret_prof, e) < 0) {
			*e = file_err;
			return r;
		}
		return 0;
	}
	r = load_process(l, what, ret_prof, e);
	if (r == -ESRCH && file)
		return format_load_with(what, &o, ret_prof, e);
	if (r == -ESRCH && !load_is_number(what))
		return err_set(e, r, "%s: neither a recording nor a process", what);
	return r;
}

/* ---- a series of dumps ---- */

struct load_serial {
	size_t prefix;	 /* bytes of the name that all dumps of the process share */
	uint64_t number; /* which of them */
};

/* Digits that end before `end`: their number, and where they begin; false when there are
 * none. */
static bool
load_digits(const char *name, size_t end, size_t *ret_begin, uint64_t *ret_number)
{
	size_t begin = end;

	while (begin > 0 && isdigit((unsigned char)name[begin - 1]))
		begin--;
	if (begin == end)
		return false;
	*ret_begin = begin;
	*ret_number = strtoull(name + begin, NULL, 10);
	return true;
}

/* Names that jemalloc (PREFIX.PID.SEQ.iN.heap) and gperftools (PREFIX.0042.heap) give. */
static bool
load_serial(const char *name, struct load_serial *ret)
{
	size_t n = strlen(name), at;
	uint64_t number;

	if (n < 6 || strcmp(name + n - 5, ".heap") != 0)
		return false;
	n -= 5;
	if (name[n - 1] == 'f' && n > 1 && name[n - 2] == '.') {
		n -= 2; /* PREFIX.PID.SEQ.f */
	} else if (load_digits(name, n, &at, &number) && at > 1 &&
		   strchr("imu", name[at - 1]) != NULL && name[at - 2] == '.') {
		n = at - 2;
	}
	if (!load_digits(name, n, &at, &number) || at == 0 || name[at - 1] != '.')
		return false;
	*ret = (struct load_serial){.prefix = at, .number = number};
	return true;
}

/* The word that is the last dump when all of them are dumps of one process; else -1. */
static int
load_last_of_series(const struct load_word *words, size_t n)
{
	struct load_serial first, other;
	uint64_t most;
	int last = 0;

	if (n < 2 || !load_serial(words[0].what, &first))
		return -1;
	most = first.number;
	for (size_t i = 1; i < n; i++) {
		if (!load_serial(words[i].what, &other) || other.prefix != first.prefix ||
		    strncmp(words[i].what, words[0].what, first.prefix) != 0)
			return -1;
		if (other.number >= most) {
			most = other.number;
			last = (int)i;
		}
	}
	return last;
}

/* ---- all of them ---- */

struct load_words VEC_BODY(struct load_word);

static int
load_take_words(struct loaded *l, int argc, char **argv, struct load_words *words,
		struct err *e)
{
	static char last[] = "@last";
	char *only[] = {last};
	int r = 0;

	if (argc == 0) {
		argc = 1;
		argv = only;
	}
	for (int i = 0; i < argc && r == 0; i++) {
		if (argc > 1 && format_is_program(argv[i])) {
			if (l->exe == NULL)
				l->exe = argv[i];
			continue;
		}
		r = load_split(argv[i], vec_add(words), e);
	}
	if (r == 0 && words->len == 0)
		return err_set(e, -EINVAL, "only programs were named, and no profile");
	for (size_t i = 1; i < words->len && r == 0; i++) {
		if (strcmp(words->data[i].point, words->data[0].point) != 0)
			return err_set(e, -EINVAL,
				       "%s@%s: several profiles are shown at one point "
				       "in time only",
				       words->data[i].what, words->data[i].point);
	}
	return r;
}

/* What several words come to while they are read: a sum, or the last state of one
 * process. */
struct load_sum {
	struct prof *sum;
	struct prof
		*last; /* the latest of one process so far; NULL: they are of several */
	size_t word;   /* which one that is */
	size_t n;
};

/* Are both dumps of one process? Names that say of which come first: a child's memory map
 * is its parent's. */
static bool
load_is_next(const struct load_sum *s, const struct load_word *words, size_t next,
	     const struct prof *p)
{
	const char *a = words[s->word].what, *b = words[next].what;
	struct load_serial x, y;

	if (load_serial(a, &x) && load_serial(b, &y) &&
	    (x.prefix != y.prefix || strncmp(a, b, x.prefix) != 0))
		return false;
	return diff_surely_same_process(s->last, p);
}

/* Is the file of `a` the older one? Names in the order of numbers when that cannot be
 * told. */
static bool
load_is_older(const char *a, const char *b)
{
	struct stat x, y;

	if (stat(a, &x) == 0 && stat(b, &y) == 0) {
		if (x.st_mtim.tv_sec != y.st_mtim.tv_sec)
			return x.st_mtim.tv_sec < y.st_mtim.tv_sec;
		if (x.st_mtim.tv_nsec != y.st_mtim.tv_nsec)
			return x.st_mtim.tv_nsec < y.st_mtim.tv_nsec;
	}
	return strverscmp(a, b) <= 0;
}

static void
load_add(struct load_sum *s, const struct load_word *words, size_t word, struct prof *p)
{
	int order;

	if (s->n == 0) {
		s->last = p;
		s->word = word;
	} else if (s->last != NULL && !load_is_next(s, words, word, p)) {
		prof_free(s->last);
		s->last = NULL;
	}
	prof_merge(s->sum, p);
	s->n++;
	if (s->last == NULL || s->last == p) {
		if (s->last == NULL)
			prof_free(p);
		return;
	}
	order = diff_earlier(s->last, p);
	if (order < 0 ||
	    (order == 0 && load_is_older(words[s->word].what, words[word].what))) {
		struct prof *was = s->last;

		s->last = p;
		s->word = word;
		p = was;
	}
	prof_free(p);
}

/* Loads several words that are no series by their names. */
static int
load_several(struct loaded *l, const struct load_words *words, struct err *e)
{
	struct load_sum s = {.sum = prof_new()};
	int r = 0;

	for (size_t i = 0; i < words->len && r == 0; i++) {
		struct prof *p = NULL;

		r = load_one(l, words->data[i].what, &p, e);
		if (r == 0)
			load_add(&s, words->data, i, p);
	}
	if (r == 0) {
		l->sources = (unsigned)s.n;
		l->series = s.last != NULL ? (unsigned)s.n : 0;
		l->name = s.last != NULL || s.n < 2
				  ? xstrdup(words->data[s.last != NULL ? s.word : 0].what)
				  : xasprintf("%s and %zu more", words->data[0].what,
					      (size_t)s.n - 1);
		l->p = s.last != NULL ? TAKE(s.last) : TAKE(s.sum);
	}
	prof_free(s.last);
	prof_free(s.sum);
	return r;
}

int
load_targets(int argc, char **argv, const struct load_opts *o, struct loaded *ret_loaded,
	     struct err *e)
{
	struct loaded l = {.exe = o != NULL ? o->exe : NULL};
	struct load_words words = {0};
	int series = -1;
	int r = load_take_words(&l, argc, argv, &words, e);

	input_max_unpacked = o != NULL ? o->max_unpacked : INPUT_MAX_UNPACKED;
	if (r == 0)
		series = load_last_of_series(words.data, words.len);
	if (r == 0 && words.len > 1 && series < 0) {
		r = load_several(&l, &words, e);
	} else if (r == 0) {
		size_t only = series >= 0 ? (size_t)series : 0;

		r = load_one(&l, words.data[only].what, &l.p, e);
		l.name = xstrdup(words.data[only].what);
		l.sources = r == 0;
		l.series = series >= 0 ? (unsigned)words.len : 0;
	}
	if (r == 0)
		l.point = xstrdup(words.data[0].point);
	for (size_t i = 0; i < words.len; i++)
		load_word_done(&words.data[i]);
	vec_done(&words);
	*ret_loaded = l;
	return r;
}

void
loaded_done(struct loaded *l)
{
	prof_free(l->p);
	free(l->point);
	free(l->name);
	*l = (struct loaded){0};
}
