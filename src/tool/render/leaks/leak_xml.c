/* SPDX-License-Identifier: MIT */
/* leak_xml.c -- see leak_xml.h.
 *
 * Elements and their order are those that valgrind 3.19 writes; what it writes line by
 * line stands on lines here, for those who read it so. */
#include "tool/render/leaks/leak_xml.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/model/loss_kinds.h"
#include "tool/render/figure.h"
#include "tool/util/file.h"
#include "tool/util/json.h"
#include "tool/util/x.h"

struct leak_xml {
	struct buf *out;
	const struct prof *p;
	const struct memcheck_opts *o;
	uint32_t process;
	struct loss_records r;
	struct loss_stack stack;
	uint64_t unique; /* number of the next error */
};

static const char *
lx_entity(unsigned char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\t':
		return " ";
	default:
		return c < ' ' || c == 127 ? "?" : NULL;
	}
}

/* What is no UTF-8 would make the whole document unreadable. */
void
leak_xml_text(struct buf *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text), n, bad;

	for (; left > 0; at += n, left -= n) {
		const char *entity = lx_entity(*at);

		n = json_utf8(at, left, &bad);
		if (n == 0) {
			buf_add_str(out, "\xef\xbf\xbd");
			n = bad;
		} else if (entity != NULL) {
			buf_add_str(out, entity);
		} else {
			buf_add(out, at, n);
		}
	}
}

/* <name>text</name>, on a line of its own after `indent` blanks. */
static void
lx_element(struct leak_xml *x, int indent, const char *name, const char *text)
{
	buf_printf(x->out, "%*s<%s>", indent, "", name);
	leak_xml_text(x->out, text);
	buf_printf(x->out, "</%s>\n", name);
}

static void
lx_number(struct leak_xml *x, int indent, const char *name, uint64_t n)
{
	buf_printf(x->out, "%*s<%s>%" PRIu64 "</%s>\n", indent, "", name, n, name);
}

/* ---- head ---- */

static void
lx_args(struct leak_xml *x, const char *name, const char *const *words)
{
	buf_printf(x->out, "  <%s>\n", name);
	for (size_t i = 0; words != NULL && words[i] != NULL; i++)
		lx_element(x, 4, i == 0 ? "exe" : "arg", words[i]);
	buf_printf(x->out, "  </%s>\n", name);
}

/* A command line of which only the joined words are known. */
static void
lx_args_split(struct leak_xml *x, const char *text)
{
	char *copy = xstrdup(text), *rest = copy, *word;
	VEC(const char *) words = {0};

	while ((word = strsep(&rest, " ")) != NULL) {
		if (*word != '\0')
			vec_push(&words, word);
	}
	vec_push(&words, NULL);
	lx_args(x, "argv", words.data);
	vec_done(&words);
	free(copy);
}

static void
lx_head(struct leak_xml *x, const struct leak_xml_args *args)
{
	const struct prof_process *pr = &x->p->processes[x->process];

	buf_add_str(x->out, "<?xml version=\"1.0\"?>\n\n<valgrindoutput>\n\n"
			    "<protocolversion>4</protocolversion>\n"
			    "<protocoltool>memcheck</protocoltool>\n\n<preamble>\n");
	for (size_t i = 0; x->o->preamble != NULL && x->o->preamble[i] != NULL; i++)
		lx_element(x, 2, "line", x->o->preamble[i]);
	buf_add_str(x->out, "  <line>Command: ");
	leak_xml_text(x->out, prof_text(x->p, pr->cmdline));
	buf_add_str(x->out, "</line>\n</preamble>\n\n");
	lx_number(x, 0, "pid", pr->pid);
	lx_number(x, 0, "ppid", pr->ppid);
	buf_add_str(x->out, "<tool>memcheck</tool>\n\n<args>\n");
	lx_args(x, "vargv", args->tool);
	if (args->program != NULL)
		lx_args(x, "argv", args->program);
	else
		lx_args_split(x, prof_text(x->p, pr->cmdline));
	buf_add_str(x->out, "</args>\n\n");
}

static void
lx_status(struct leak_xml *x, const char *state, uint64_t ms)
{
	buf_printf(x->out,
		   "<status>\n  <state>%s</state>\n"
		   "  <time>%02u:%02u:%02u:%02u.%03u </time>\n</status>\n\n",
		   state, (unsigned)(ms / 86400000), (unsigned)(ms / 3600000 % 24),
		   (unsigned)(ms / 60000 % 60), (unsigned)(ms / 1000 % 60),
		   (unsigned)(ms % 1000));
}

/* ---- errors ---- */

static void
lx_frame(struct leak_xml *x, const struct loss_frame *f)
{
	buf_printf(x->out, "    <frame>\n      <ip>0x%" PRIX64 "</ip>\n", f->address);
	if (f->module != NULL)
		lx_element(x, 6, "obj", f->module);
	if (f->function != NULL)
		lx_element(x, 6, "fn", f->function);
	if (f->file != NULL && f->line != 0) {
		const char *base = file_base(f->file);

		if (base > f->file + 1) {
			char *dir = xmemdup0(f->file, (size_t)(base - f->file - 1));

			lx_element(x, 6, "dir", dir);
			free(dir);
		}
		lx_element(x, 6, "file", base);
		lx_number(x, 6, "line", f->line);
	}
	buf_add_str(x->out, "    </frame>\n");
}

static void
lx_stack(struct leak_xml *x, uint32_t node, const char *called)
{
	loss_stack(x->p, x->process, node, called, x->o->records.callers, &x->stack);
	buf_add_str(x->out, "  <stack>\n");
	for (size_t i = 0; i < x->stack.shown; i++)
		lx_frame(x, &x->stack.frames.data[i]);
	buf_add_str(x->out, "  </stack>\n");
}

static bool
lx_is_text(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text), n = 1, bad;

	for (; left > 0 && n > 0; at += n, left -= n)
		n = json_utf8(at, left, &bad);
	return left == 0;
}

static void
lx_suppression(struct leak_xml *x, const struct loss_record *r)
{
	struct buf raw = {0};

	buf_printf(x->out,
		   "  <suppression>\n    <sname>insert_a_suppression_name_here</sname>\n"
		   "    <skind>Memcheck:Leak</skind>\n"
		   "    <skaux>match-leak-kinds: %s</skaux>\n",
		   loss_kind_names[r->kind]);
	for (size_t i = 0; i < x->stack.shown && i < SUPPRESS_FRAMES_MAX; i++) {
		const struct loss_frame *f = &x->stack.frames.data[i];
		const char *part = f->linkage != NULL ? "fun" : "obj";

		buf_printf(x->out, "    <sframe> <%s>", part);
		leak_xml_text(x->out, f->linkage != NULL  ? f->linkage
				      : f->module != NULL ? f->module
							  : "*");
		buf_printf(x->out, "</%s> </sframe>\n", part);
	}
	memcheck_suppression(&raw, r, &x->stack);
	buf_add_str(x->out, "    <rawtext>\n<![CDATA[\n");
	/* A name can hold anything, also what ends such a section, or is no text. */
	if (strstr(buf_str(&raw), "]]>") == NULL && lx_is_text(buf_str(&raw)))
		buf_add_str(x->out, buf_str(&raw));
	buf_add_str(x->out, "]]>\n    </rawtext>\n  </suppression>\n");
	buf_done(&raw);
}

static void
lx_error(struct leak_xml *x, uint64_t unique, uint32_t tid, const char *kind)
{
	buf_printf(x->out, "<error>\n  <unique>0x%" PRIx64 "</unique>\n", unique);
	lx_number(x, 2, "tid", tid);
	lx_element(x, 2, "kind", kind);
}

static void
lx_record(struct leak_xml *x, size_t row)
{
	static const char *const kinds[PROF_LOSS_KINDS] = {
		[PROF_LOSS_DEFINITE] = "Leak_DefinitelyLost",
		[PROF_LOSS_INDIRECT] = "Leak_IndirectlyLost",
		[PROF_LOSS_POSSIBLE] = "Leak_PossiblyLost",
		[PROF_LOSS_REACHABLE] = "Leak_StillReachable",
	};
	const struct loss_record *r = &x->r.rows.data[row];

	lx_error(x, x->unique + row, 1, kinds[r->kind]);
	buf_add_str(x->out, "  <xwhat>\n    <text>");
	memcheck_headline(x->out, &x->r, row);
	buf_add_str(x->out, "</text>\n");
	lx_number(x, 4, "leakedbytes", r->bytes + r->indirect_bytes);
	lx_number(x, 4, "leakedblocks", r->blocks);
	buf_add_str(x->out, "  </xwhat>\n");
	lx_stack(x, x->p->sites[r->site].node, prof_text(x->p, r->called));
	if (x->o->generate)
		lx_suppression(x, r);
	buf_add_str(x->out, "</error>\n\n");
}

static void
lx_wrong(struct leak_xml *x, const struct memcheck_error *w)
{
	lx_error(x, x->unique, w->tid != 0 ? w->tid : 1, w->kind);
	lx_element(x, 2, "what", w->what);
	if (w->at.node != 0)
		lx_stack(x, w->at.node, w->at.called);
	if (w->about != NULL) {
		lx_element(x, 2, "auxwhat", w->about);
		if (w->freed.node != 0)
			lx_stack(x, w->freed.node, w->freed.called);
	}
	if (w->block != NULL) {
		lx_element(x, 2, "auxwhat", w->block);
		if (w->allocated.node != 0)
			lx_stack(x, w->allocated.node, w->allocated.called);
	}
	buf_add_str(x->out, "</error>\n\n");
}

/* ---- counts ---- */

static void
lx_counts(struct leak_xml *x)
{
	const struct suppress_set *set = x->o->set;
	uint64_t unique = x->unique;

	buf_add_str(x->out, "<errorcounts>\n");
	for (size_t i = x->o->nwrong; i > 0; i--) {
		const struct memcheck_error *w = &x->o->wrong[i - 1];

		if (w->process != x->process || w->suppressed)
			continue;
		buf_add_str(x->out, "  <pair>\n");
		lx_number(x, 4, "count", w->count);
		buf_printf(x->out, "    <unique>0x%" PRIx64 "</unique>\n  </pair>\n",
			   --unique);
	}
	buf_add_str(x->out, "</errorcounts>\n\n<suppcounts>\n");
	for (size_t i = set != NULL ? set->order.len : 0; i > 0; i--) {
		const struct suppress *s = &set->all.data[set->order.data[i - 1]];

		if (s->count == 0)
			continue;
		buf_add_str(x->out, "  <pair>\n");
		lx_number(x, 4, "count", s->count);
		lx_element(x, 4, "name", s->name);
		buf_add_str(x->out, "  </pair>\n");
	}
	buf_add_str(x->out, "</suppcounts>\n\n</valgrindoutput>\n\n");
}

void
leak_xml(struct buf *out, const struct prof *p, const struct skip *s, uint32_t process,
	 const struct memcheck_opts *o, const struct leak_xml_args *args)
{
	struct leak_xml x = {.out = out, .p = p, .o = o, .process = process};

	loss_records_init(&x.r, p, s, process, &o->records);
	lx_head(&x, args);
	lx_status(&x, "RUNNING", 0);
	for (size_t i = 0; i < o->nwrong; i++) {
		if (o->wrong[i].process != process || o->wrong[i].suppressed)
			continue;
		lx_wrong(&x, &o->wrong[i]);
		x.unique++;
	}
	buf_add_char(out, '\n');
	lx_status(&x, "FINISHED", p->processes[process].duration_ms);
	for (size_t i = 0; i < x.r.rows.len; i++) {
		if (!x.r.rows.data[i].suppressed &&
		    (o->show & 1u << x.r.rows.data[i].kind) != 0)
			lx_record(&x, i);
	}
	lx_counts(&x);
	loss_records_done(&x.r);
	loss_stack_done(&x.stack);
}
