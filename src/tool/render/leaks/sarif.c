/* SPDX-License-Identifier: MIT */
/* sarif.c -- see sarif.h. */
#include "tool/render/leaks/sarif.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/hash.h"
#include "tool/analyze/process/managed.h"
#include "tool/model/loss_kinds.h"
#include "tool/util/json.h"

/* One leak or wrong use. */
struct sarif_finding {
	const char *rule, *level, *message;
	uint32_t process, node;
	const char *called;
};

struct sarif {
	struct buf *out;
	struct json j;
	const struct prof *p;
	const struct skip *s;
	const struct memcheck_opts *o;
	const struct sarif_opts *more;
	struct loss_stack stack;
	void (*add)(struct sarif *x, const struct sarif_finding *f);
};

/* ---- findings ---- */

static void
sarif_process(struct sarif *x, uint32_t process)
{
	struct loss_records rs;

	for (size_t i = 0; i < x->o->nwrong; i++) {
		const struct memcheck_error *e = &x->o->wrong[i];

		if (e->process == process && !e->suppressed)
			x->add(x, &(struct sarif_finding){.rule = e->kind,
							  .level = "error",
							  .message = e->what,
							  .process = process,
							  .node = e->at.node,
							  .called = e->at.called});
	}
	loss_records_init(&rs, x->p, x->s, process, &x->o->records);
	for (size_t i = rs.rows.len; i > 0; i--) {
		const struct loss_record *r = &rs.rows.data[i - 1];
		struct buf message = {0};
		char rule[40];

		if (r->suppressed || (x->o->errors & 1u << r->kind) == 0)
			continue;
		snprintf(rule, sizeof rule, "leak-%s", loss_kind_names[r->kind]);
		memcheck_headline(&message, &rs, i - 1);
		x->add(x, &(struct sarif_finding){.rule = rule,
						  .level = r->kind == PROF_LOSS_POSSIBLE
								   ? "warning"
								   : "error",
						  .message = buf_str(&message),
						  .process = process,
						  .node = x->p->sites[r->site].node,
						  .called = prof_text(x->p, r->called)});
		buf_done(&message);
	}
	loss_records_done(&rs);
}

static void
sarif_each(struct sarif *x, const bool *chosen)
{
	for (uint32_t i = 1; i < x->p->nprocesses; i++) {
		if (chosen == NULL || chosen[i])
			sarif_process(x, i);
	}
}

/* The frame of the program, or NULL. */
static const struct prof_frame *
sarif_frame(const struct sarif *x, const struct sarif_finding *f)
{
	if (f->node == 0)
		return NULL;
	return skip_frame(x->p, managed_user_frame(x->p, x->s, f->node));
}

/* A path below the root without it, else NULL. */
static const char *
sarif_below(const struct sarif *x, const char *path)
{
	size_t n = strlen(x->more->root);

	if (path[0] != '/')
		return path;
	return n > 0 && strncmp(path, x->more->root, n) == 0 && path[n] == '/'
		       ? path + n + 1
		       : NULL;
}

/* ---- SARIF ---- */

static void
sarif_str(struct sarif *x, const char *key, const char *text)
{
	json_member_str(&x->j, key, text);
}

static void
sarif_message(struct sarif *x, const char *key, const char *text)
{
	json_member_obj(&x->j, key);
	sarif_str(x, "text", text);
	json_obj_end(&x->j);
}

/* A path as part of a URI. */
static void
sarif_uri(struct buf *out, const char *path)
{
	for (; *path != '\0'; path++) {
		unsigned char c = (unsigned char)*path;

		if (c < 128 && (isalnum(c) || strchr("/-._~+", c) != NULL))
			buf_add_char(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

static void
sarif_location(struct sarif *x, const char *function, const char *file, uint32_t line)
{
	const char *below = file != NULL ? sarif_below(x, file) : NULL;
	struct buf uri = {0};

	json_obj(&x->j);
	if (file != NULL && line != 0) {
		buf_add_str(&uri, below != NULL ? "" : "file://");
		sarif_uri(&uri, below != NULL ? below : file);
		json_member_obj(&x->j, "physicalLocation");
		json_member_obj(&x->j, "artifactLocation");
		sarif_str(x, "uri", buf_str(&uri));
		if (below != NULL)
			sarif_str(x, "uriBaseId", "SRCROOT");
		json_obj_end(&x->j);
		json_member_obj(&x->j, "region");
		json_member_u64(&x->j, "startLine", line);
		json_obj_end(&x->j);
		json_obj_end(&x->j);
	}
	json_member_arr(&x->j, "logicalLocations");
	json_obj(&x->j);
	sarif_str(x, "fullyQualifiedName", function != NULL ? function : "???");
	sarif_str(x, "kind", "function");
	json_obj_end(&x->j);
	json_arr_end(&x->j);
	json_obj_end(&x->j);
	buf_done(&uri);
}

/* The whole stack, and a fingerprint of the functions on it: lines move. */
static void
sarif_stack(struct sarif *x, const struct sarif_finding *f)
{
	uint64_t h = hash_bytes(f->rule, strlen(f->rule), 0);
	char text[20];

	loss_stack(x->p, f->process, f->node, f->called, x->o->records.callers,
		   &x->stack);
	json_member_arr(&x->j, "stacks");
	json_obj(&x->j);
	json_member_arr(&x->j, "frames");
	for (size_t i = 0; i < x->stack.shown; i++) {
		const struct loss_frame *l = &x->stack.frames.data[i];
		const char *name = l->linkage != NULL ? l->linkage : "???";

		h = hash_bytes(name, strlen(name), h);
		json_obj(&x->j);
		json_key(&x->j, "location");
		sarif_location(x, l->function, l->file, l->line);
		if (l->module != NULL)
			sarif_str(x, "module", l->module);
		json_obj_end(&x->j);
	}
	json_arr_end(&x->j);
	json_obj_end(&x->j);
	json_arr_end(&x->j);
	snprintf(text, sizeof text, "%016" PRIx64, h);
	json_member_obj(&x->j, "partialFingerprints");
	sarif_str(x, "functions/v1", text);
	json_obj_end(&x->j);
}

static void
sarif_result(struct sarif *x, const struct sarif_finding *f)
{
	const struct prof_frame *at = sarif_frame(x, f);

	json_obj(&x->j);
	sarif_str(x, "ruleId", f->rule);
	sarif_str(x, "level", f->level);
	sarif_message(x, "message", f->message);
	json_member_arr(&x->j, "locations");
	sarif_location(
		x, at != NULL && at->function != 0 ? prof_text(x->p, at->function) : NULL,
		at != NULL && at->file != 0 ? prof_text(x->p, at->file) : NULL,
		at != NULL ? at->line : 0);
	json_arr_end(&x->j);
	sarif_stack(x, f);
	json_obj_end(&x->j);
}

static void
sarif_tool(struct sarif *x)
{
	json_member_obj(&x->j, "tool");
	json_member_obj(&x->j, "driver");
	sarif_str(x, "name", "seep");
	sarif_str(x, "version", x->more->version);
	json_member_arr(&x->j, "rules");
	for (unsigned i = 0; i < PROF_LOSS_SUPPRESSED; i++) {
		struct buf id = {0};

		buf_printf(&id, "leak-%s", loss_kind_names[i]);
		json_obj(&x->j);
		sarif_str(x, "id", buf_str(&id));
		buf_clear(&id);
		buf_printf(&id, "Memory is %s", loss_kind_words[i]);
		sarif_message(x, "shortDescription", buf_str(&id));
		json_obj_end(&x->j);
		buf_done(&id);
	}
	json_arr_end(&x->j);
	json_obj_end(&x->j);
	json_obj_end(&x->j);
}

void
sarif_json(struct buf *out, const struct prof *p, const struct skip *s,
	   const bool *chosen, const struct memcheck_opts *o,
	   const struct sarif_opts *more)
{
	struct sarif x = {
		.out = out, .p = p, .s = s, .o = o, .more = more, .add = sarif_result};
	struct buf root = {0};

	buf_add_str(&root, "file://");
	sarif_uri(&root, more->root);
	buf_add_char(&root, '/');
	json_init(&x.j, out);
	json_obj(&x.j);
	sarif_str(&x, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	sarif_str(&x, "version", "2.1.0");
	json_member_arr(&x.j, "runs");
	json_obj(&x.j);
	sarif_tool(&x);
	json_member_obj(&x.j, "originalUriBaseIds");
	json_member_obj(&x.j, "SRCROOT");
	sarif_str(&x, "uri", buf_str(&root));
	json_obj_end(&x.j);
	json_obj_end(&x.j);
	json_member_arr(&x.j, "results");
	sarif_each(&x, chosen);
	json_arr_end(&x.j);
	json_obj_end(&x.j);
	json_arr_end(&x.j);
	json_obj_end(&x.j);
	buf_add_char(out, '\n');
	buf_done(&root);
	loss_stack_done(&x.stack);
}

/* ---- annotations ---- */

/* What would end the line, and in a property what would end that. */
static void
sarif_escaped(struct buf *out, const char *text, bool property)
{
	for (; *text != '\0'; text++) {
		if (*text == '%' || (unsigned char)*text < ' ' || *text == 127 ||
		    (property && (*text == ':' || *text == ',')))
			buf_printf(out, "%%%02X", (unsigned char)*text);
		else
			buf_add_char(out, *text);
	}
}

static void
sarif_annotate(struct sarif *x, const struct sarif_finding *f)
{
	const struct prof_frame *at = sarif_frame(x, f);
	const char *function = "???";

	if (at != NULL && at->function != 0)
		function = prof_text(x->p, at->function);
	buf_printf(x->out, "::%s ", f->level);
	if (at != NULL && at->file != 0 && at->line != 0) {
		const char *path = prof_text(x->p, at->file);
		const char *below = sarif_below(x, path);

		buf_add_str(x->out, "file=");
		sarif_escaped(x->out, below != NULL ? below : path, true);
		buf_printf(x->out, ",line=%u,", at->line);
	}
	buf_add_str(x->out, "title=");
	sarif_escaped(x->out, f->rule, true);
	buf_add_str(x->out, " in ");
	sarif_escaped(x->out, function, true);
	buf_add_str(x->out, "::");
	sarif_escaped(x->out, f->message, false);
	buf_add_char(x->out, '\n');
}

void
sarif_annotations(struct buf *out, const struct prof *p, const struct skip *s,
		  const bool *chosen, const struct memcheck_opts *o,
		  const struct sarif_opts *more)
{
	struct sarif x = {
		.out = out, .p = p, .s = s, .o = o, .more = more, .add = sarif_annotate};

	sarif_each(&x, chosen);
	loss_stack_done(&x.stack);
}
