/* SPDX-License-Identifier: MIT */
/* ht_prof_in.c -- a profile of any kind in the tables of heaptrack's files: see ht.h.
 *
 * For what prints such files. Strings, locations and nodes keep their numbers;
 * the recorder's own frames are left out. Figures of
 * several processes, and of types of blocks, are summed up. Sizes of single blocks are
 * not in a profile, so there are no kinds of allocations. */
#include <string.h>

#include "ht.h"
#include "tool/format/emit_frame.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"

static uint32_t
ht_in_string(struct ht *h, const char *text)
{
	vec_push(&h->strings, strtab_add(&h->texts, text));
	return (uint32_t)h->strings.len;
}

static struct ht_frame
ht_in_frame(const struct prof_frame *f)
{
	return (struct ht_frame){f->function, f->file, f->line};
}

static void
ht_in_locs(struct ht *h, const struct prof *p)
{
	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct prof_loc *l = &p->locs[i];
		struct ht_ip ip = {.module = p->modules[l->module].path,
				   .inlined = (uint32_t)h->inlined.len};

		ip.address = named_is(p, i) ? 0 : l->offset;
		if (l->nframes > 0)
			ip.frame = ht_in_frame(&p->frames[l->frames]);
		for (uint32_t k = 1; k < l->nframes; k++) {
			vec_push(&h->inlined, ht_in_frame(&p->frames[l->frames + k]));
			ip.ninlined++;
		}
		if (l->kind != PROF_LOC_CODE) {
			struct buf name = {0};

			emit_frame_unnamed(p, l, &name);
			ip.frame.function = ht_in_string(h, buf_str(&name));
			buf_done(&name);
		}
		ip.skipped =
			strncmp(ht_text(h, ip.frame.function), "operator new", 12) == 0 ||
			strcmp(file_base(ht_text(h, ip.module)), "libseep.so") == 0;
		vec_push(&h->ips, ip);
	}
}

static void
ht_in_site(struct ht *h, const struct prof_site *s)
{
	uint32_t row = ht_row(h, s->node); /* the table may move */
	struct ht_row *r = &h->rows.data[row];

	r->allocs += s->allocs;
	r->temps += s->temps;
	r->alloc_bytes += s->alloc_bytes;
	r->live_bytes += s->live_bytes;
	r->live_blocks += s->live_blocks;
	r->peak_bytes += s->at_peak_bytes;
	h->total.allocs += s->allocs;
	h->total.temps += s->temps;
	h->total.live_bytes += s->live_bytes;
	h->total.peak_bytes += s->at_peak_bytes;
}

static void
ht_in_process(struct ht *h, const struct prof *p, const struct prof_process *pr)
{
	uint64_t rss = pr->rss_peak_kib != 0 ? pr->rss_peak_kib : pr->rss_kib;

	if (h->command == 0)
		h->command =
			strtab_add(&h->texts, prof_text(p, pr->cmdline != 0 ? pr->cmdline
									    : pr->exe));
	h->rss_peak_pages += rss;
	if (pr->duration_ms > h->last_ms)
		h->last_ms = pr->duration_ms;
}

void
ht_from_prof(struct ht *h, const struct prof *p)
{
	h->version = HT_VERSION_MAX;
	h->page_bytes = 1024;
	for (uint32_t i = 1; i < strtab_count(p->strings); i++)
		ht_in_string(h, prof_text(p, i));
	ht_in_locs(h, p);
	for (uint32_t i = 1; i < p->nnodes; i++)
		vec_push(&h->traces,
			 (struct ht_trace){p->nodes[i].loc, p->nodes[i].parent});
	for (uint32_t i = 1; i < p->nsites; i++)
		ht_in_site(h, &p->sites[i]);
	for (uint32_t i = 1; i < p->nprocesses; i++)
		ht_in_process(h, p, &p->processes[i]);
	for (uint32_t i = 0; p->nprocesses == 2 && i < p->npoints; i++)
		vec_push(&h->points,
			 (struct ht_point){p->points[i].ms, p->points[i].live_bytes,
					   p->points[i].rss_kib});
	/* The process knows it, and its sites may be off by what threads had at hand. */
	if (p->nprocesses == 2 && p->processes[1].peak_bytes != 0)
		h->total.peak_bytes = p->processes[1].peak_bytes;
}
