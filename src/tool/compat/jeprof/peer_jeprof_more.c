/* SPDX-License-Identifier: MIT */
/* peer_jeprof_more.c -- graphs, --raw, --symbols and the prompt of the jeprof
 * personality. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/compat/jeprof/peer_jeprof.h"
#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/session/graphviz.h"
#include "tool/session/out_file.h"
#include "tool/util/re.h"
#include "tool/util/x.h"

/* ---- graphs ---- */

int
jeprof_graph(const struct jeprof_report *r, const struct jeprof_stacks *s,
	     struct buf *out, struct err *e)
{
	const struct jeprof_args *a = r->args;
	const char *type = a->svg   ? "svg"
			   : a->pdf ? "pdf"
			   : a->ps  ? "ps2"
			   : a->gif ? "gif"
				    : NULL;
	struct peer_dot_opts o = {.program = r->program,
				  .node_fraction = a->node_fraction,
				  .edge_fraction = a->edge_fraction,
				  .node_count = a->nodes,
				  .max_degree = a->degree,
				  .heapcheck = a->heapcheck,
				  .page = a->pdf,
				  .wide_edges = a->svg};
	struct buf remark = {0};
	int status = 0;

	if (!peer_dot(out, &remark, s, &r->unit, &o))
		status = err_set(e, -ENODATA,
				 "no nodes to print: the profile is empty, or "
				 "filters and --nodefraction leave nothing");
	fputs(buf_str(&remark), stderr);
	buf_done(&remark);
	if (status == 0 && type != NULL) {
		struct graphviz g = {.type = type,
				     .option = a->svg	? "--svg"
					       : a->pdf ? "--pdf"
					       : a->ps	? "--ps"
							: "--gif",
				     .text = "--dot",
				     .path = "-"};

		status = graphviz_draw(out, &g, e);
		buf_clear(out);
	}
	return status;
}

/* ---- names before the profile ---- */

static void
jeprof_raw_names(const struct jeprof_frames *f, uint32_t loc, uint64_t address,
		 struct buf *out)
{
	bool allocator = f->locs[loc].allocator;
	uint32_t first = f->slots[loc];

	buf_printf(out, "0x%016" PRIx64 " ", address);
	/* So that whoever reads it drops what it cannot name: the inside of an
	 * allocator. */
	if (allocator)
		buf_add_str(out, "malloc");
	/* Callers first. */
	for (uint32_t i = allocator ? first : f->slots[loc + 1]; i-- > first;)
		buf_printf(out, "%s%s", strtab_str(&f->text, f->syms[i].full),
			   i > first ? "--" : "");
	buf_add_char(out, '\n');
}

int
jeprof_raw(const struct jeprof_report *r, const struct jeprof_frames *f, struct buf *out,
	   struct err *e)
{
	struct input in = {0};
	int fd, status;

	if (r->nprofiles > 1 || r->args->base != NULL)
		return err_set(e, -EINVAL, "--raw is for one profile");
	if (strcmp(prof_text(r->p, r->p->format), "heap_v2") != 0 &&
	    strncmp(prof_text(r->p, r->p->format), "heap", 4) != 0)
		return err_set(
			e, -EINVAL,
			"--raw: %s is not a heap profile in text; convert it: seep convert",
			r->profile);
	fd = open(r->profile, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", r->profile);
	status = input_open_fd(&in, fd, r->profile, NULL, e);
	close(fd);
	if (status < 0)
		return status;
	buf_printf(out, "--- symbol\nbinary=%s\n", r->program);
	for (uint32_t i = 1; i < r->p->nlocs; i++) {
		if (r->p->locs[i].nframes == 0 && !f->locs[i].allocator)
			continue;
		/* Innermost frames are looked up as they are, all others one before. */
		jeprof_raw_names(f, i, f->locs[i].address, out);
		jeprof_raw_names(f, i, f->locs[i].address + 1, out);
	}
	buf_add_str(out, "---\n--- heap\n");
	buf_add(out, in.data, in.bytes);
	input_close(&in);
	return 0;
}

/* ---- --symbols ---- */

/* A heap profile with one stack for each address of the text. */
static void
jeprof_symbols_profile(const struct buf *text, struct buf *ret)
{
	struct buf maps = {0};

	buf_add_str(ret, "heap profile: 1: 1 [1: 1] @ heapprofile\n");
	for (const char *s = buf_str(text); *s != '\0';) {
		size_t n = strcspn(s, "\n");
		const char *hex = memmem(s, n, "0x", 2);

		if (hex != NULL && isxdigit((unsigned char)hex[2]))
			buf_printf(ret, "1: 1 [1: 1] @ 0x%" PRIx64 "\n",
				   (uint64_t)strtoull(hex, NULL, 16) + 1);
		else
			buf_add(&maps, s, n), buf_add_char(&maps, '\n');
		s += n + (s[n] == '\n');
	}
	buf_add_str(ret, "\nMAPPED_LIBRARIES:\n");
	buf_add(ret, buf_str(&maps), maps.len);
	buf_done(&maps);
}

int
jeprof_symbols(const struct jeprof_args *a, const char *program, struct err *e)
{
	struct format_opts o = {.exe = program};
	struct names_opts names = a->names;
	struct buf text = {0}, heap = {0}, name = {0};
	struct prof *p = NULL;
	int r = buf_read_fd(&text, STDIN_FILENO, (size_t)1 << 30, "standard input", e);

	if (r == 0) {
		jeprof_symbols_profile(&text, &heap);
		r = format_load_bytes(buf_str(&heap), heap.len, "standard input", &o, &p,
				      e);
	}
	if (r == 0) {
		names.exe = program;
		names.no_source = true;
		names_resolve(p, &names);
	}
	for (uint32_t i = 1; r == 0 && i < p->nsites; i++) {
		const struct prof_loc *l = &p->locs[p->nodes[p->sites[i].node].loc];
		const struct prof_frame *f =
			l->nframes > 0 ? &p->frames[l->frames + l->nframes - 1] : NULL;

		buf_clear(&name);
		if (f != NULL)
			jeprof_short_name(&name, prof_text(p, f->function));
		puts(name.len > 0 ? buf_str(&name) : "??");
	}
	prof_free(p);
	buf_done(&text);
	buf_done(&heap);
	buf_done(&name);
	return r;
}

/* ---- the prompt ---- */

static const char jeprof_help[] =
	"Commands:\n"
	"  top[N] [--cum] [--lines] [-IGNORE]...   the N largest rows (10)\n"
	"  list RE [-IGNORE]...                    source of functions that match\n"
	"  callgrind FILE                          calls in callgrind's format\n"
	"  help, quit\n"
	"gv, web, evince, weblist and disasm are not here: see --svg, --list.\n";

/* Words of a command: patterns of the same kind are joined by |. To be freed. */
struct jeprof_words {
	char *focus, *ignore; /* NULL = none */
	bool lines, cum;
};

static void
jeprof_or(char **all, const char *more)
{
	char *joined = *all == NULL ? xstrdup(more) : xasprintf("%s|%s", *all, more);

	free(*all);
	*all = joined;
}

static struct jeprof_words
jeprof_take_words(char *text)
{
	struct jeprof_words w = {0};
	char *save = NULL;

	for (char *s = strtok_r(text, " \t\r\n", &save); s != NULL;
	     s = strtok_r(NULL, " \t\r\n", &save)) {
		const char *bare = s + strspn(s, "-");

		if (*s == '-' && strcmp(bare, "lines") == 0)
			w.lines = true;
		else if (*s == '-' && strcmp(bare, "cum") == 0)
			w.cum = true;
		else if (*s == '-')
			jeprof_or(&w.ignore, s + 1);
		else
			jeprof_or(&w.focus, s);
	}
	if (w.ignore != NULL)
		fprintf(stderr, "Ignoring samples in call stacks that match '%s'\n",
			w.ignore);
	return w;
}

static int
jeprof_top(struct jeprof_report *r, int64_t rows, const struct jeprof_words *w,
	   struct err *e)
{
	struct re *was = r->ignore, *ignore = NULL;
	struct jeprof_frames f;
	struct jeprof_stacks s;
	struct buf out = {0};

	if (w->ignore != NULL && re_new(w->ignore, &ignore, e) < 0)
		return -EINVAL;
	if (ignore != NULL)
		r->ignore = ignore;
	jeprof_frames(r, w->lines ? JEPROF_LINES : jeprof_grain(r->args), &f);
	jeprof_stacks_init(&s, &f, r->figures, NULL);
	peer_total(&out, &s, &r->unit, NULL);
	if (ignore != NULL) {
		buf_printf(&out, "After ignoring '%s': ", w->ignore);
		peer_figure(&out, &r->unit, s.g.total, false);
		buf_printf(&out, " %s of ", peer_unit_name(&r->unit));
		peer_figure(&out, &r->unit, s.g.unfiltered, false);
		buf_add_str(&out, " (");
		peer_percent(&out, s.g.total, s.g.unfiltered);
		buf_add_str(&out, ")\n");
	}
	peer_text(&out, &s, &r->unit, w->cum, rows);
	fputs(buf_str(&out), stdout);
	buf_done(&out);
	jeprof_stacks_done(&s);
	jeprof_frames_done(&f);
	r->ignore = was;
	re_free(ignore);
	return 0;
}

static int
jeprof_to_file(const struct jeprof_report *r, const char *path, struct err *e)
{
	struct jeprof_frames frames;
	struct buf out = {0};
	FILE *f;
	int status = 0;

	if (path == NULL)
		return err_set(e, -EINVAL, "callgrind: to which file?");
	if (out_check_log(path, e) < 0)
		return -EEXIST;
	f = fopen(path, "we");
	if (f == NULL)
		return err_sys(e, -errno, "%s: cannot write", path);
	fprintf(stderr, "Writing callgrind file to '%s'.\n", path);
	jeprof_frames(r, JEPROF_FUNCTIONS, &frames);
	peer_callgrind(&out, &frames, r->figures);
	fwrite(buf_str(&out), 1, out.len, f);
	if (fclose(f) != 0)
		status = err_sys(e, -errno, "%s: cannot write", path);
	buf_done(&out);
	jeprof_frames_done(&frames);
	return status;
}

static bool
jeprof_is(const char *line, size_t n, const char *word)
{
	return strlen(word) == n && strncmp(line, word, n) == 0;
}

/* One line of input; false to leave. */
static bool
jeprof_command(struct jeprof_report *r, char *line)
{
	size_t n;
	struct jeprof_words w;
	struct err e = {0};
	int status = 0;

	line += strspn(line, " \t\r\n");
	n = strcspn(line, "0123456789 \t\r\n");
	if (jeprof_is(line, n, "quit") || jeprof_is(line, n, "exit"))
		return false;
	if (n == 0 && *line == '\0')
		return true;
	if (jeprof_is(line, n, "top") || jeprof_is(line, n, "text")) {
		char *rest = line + n;
		int64_t rows =
			isdigit((unsigned char)*rest) ? strtoll(rest, &rest, 10) : 10;

		w = jeprof_take_words(rest);
		status = jeprof_top(r, rows, &w, &e);
	} else {
		w = jeprof_take_words(line + n);
		if (jeprof_is(line, n, "list") && w.focus != NULL)
			status = jeprof_list(r, w.focus, &e);
		else if (jeprof_is(line, n, "callgrind"))
			status = jeprof_to_file(r, w.focus, &e);
		else if (jeprof_is(line, n, "help"))
			fputs(jeprof_help, stdout);
		else if (jeprof_is(line, n, "web") || jeprof_is(line, n, "gv") ||
			 jeprof_is(line, n, "evince") || jeprof_is(line, n, "weblist") ||
			 jeprof_is(line, n, "disasm"))
			fputs("No viewer is opened here: see seep jeprof --svg, --list.\n",
			      stderr);
		else
			fputs("Unknown command: try 'help'.\n", stderr);
	}
	free(w.focus);
	free(w.ignore);
	if (status < 0)
		cmd_note("%s", e.msg);
	fflush(stdout);
	return true;
}

int
jeprof_shell(struct jeprof_report *r, struct err *e)
{
	const char *name = r->args->google ? "pprof" : "jeprof";
	char *line = NULL;
	size_t room = 0;

	(void)e;
	fprintf(stderr, "Welcome to %s!  For help, type 'help'.\n", name);
	do {
		fprintf(stderr, "(%s) ", name);
	} while (getline(&line, &room, stdin) >= 0 && jeprof_command(r, line));
	free(line);
	return 0;
}
