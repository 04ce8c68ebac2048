/* SPDX-License-Identifier: MIT */
/* load.c -- see load.h. */
#include "cli/load.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/last.h"
#include "cli/save.h"
#include "format/format.h"
#include "format/input.h"
#include "target/find.h"
#include "target/procfs.h"
#include "util/vec.h"
#include "util/x.h"

/* A word as the user wrote it, taken apart. */
struct load_word {
	char *what;  /* file, PID or name */
	char *point; /* "" = none */
};

static bool
load_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool
load_is_input(const char *what)
{
	return strcmp(what, "-") == 0 || input_is_url(what);
}

/* Cuts a point in time off, but not out of the name of a file that exists or of a URL. To be freed
 * also after a failure. */
static int
load_split(const char *text, struct load_word *ret_word, struct err *e)
{
	struct load_word w = {0};
	const char *at = strrchr(text, '@');
	int r = 0;

	if (at == NULL || strcmp(text, "@last") == 0 || load_is_file(text) ||
	    load_is_input(text))
		at = text + strlen(text);
	w.what = xmemdup0(text, (size_t)(at - text));
	w.point = xstrdup(*at == '@' ? at + 1 : "");
	/* "@peak" alone is that of the last recording. */
	if (w.what[0] == '\0' || strcmp(w.what, "@last") == 0) {
		free(w.what);
		w.what = NULL;
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

/* ---- one of them ---- */

/* What the recording itself cannot know about a process that runs. */
static void
load_look_at(struct prof *p, int pid)
{
	struct prof_process *pr = &p->processes[p->nprocesses - 1];
	uint64_t rss_kib = 0, anon_kib = 0;

	if (procfs_memory(pid, &rss_kib, &anon_kib) == 0) {
		pr->rss_kib = rss_kib;
		pr->anon_kib = anon_kib;
		if (pr->rss_peak_kib < rss_kib)
			pr->rss_peak_kib = rss_kib;
	}
	save_coverage(p);
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
		load_look_at(p, f.pid);
		*ret_prof = TAKE(p);
	}
	livefile_close(&f);
	prof_free(p);
	return r;
}

static bool
load_is_number(const char *s)
{
	return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0';
}

/* A number is a process. A file wins over a process of that name if it is a recording: the
 * program itself often lies in the same folder. */
static int
load_one(struct loaded *l, const char *what, struct prof **ret_prof, struct err *e)
{
	struct format_opts o = {.exe = l->exe};
	struct err file_err = {0};
	bool file = load_is_file(what);
	int r;

	if (load_is_input(what))
		return format_load_with(what, &o, ret_prof, e);
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

/* Digits that end before `end`: their number, and where they begin; false when there are none. */
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

int
load_targets(int argc, char **argv, const char *exe, struct loaded *ret_loaded,
	     struct err *e)
{
	struct loaded l = {.exe = exe};
	struct load_words words = {0};
	int series = -1;
	int r = load_take_words(&l, argc, argv, &words, e);

	if (r == 0)
		series = load_last_of_series(words.data, words.len);
	for (size_t i = 0; i < words.len && r == 0; i++) {
		struct prof *p = NULL;

		if (series >= 0 && i != (size_t)series)
			continue;
		r = load_one(&l, words.data[i].what, &p, e);
		if (r == 0 && l.p == NULL) {
			l.p = TAKE(p);
			l.name = xstrdup(words.data[i].what);
			l.point = xstrdup(words.data[i].point);
		} else if (r == 0) {
			prof_merge(l.p, p);
		}
		l.sources += r == 0;
		prof_free(p);
	}
	if (series >= 0)
		l.series = (unsigned)words.len;
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
