/* SPDX-License-Identifier: MIT */
/* live_load.c -- a live recording becomes a process of a profile.
 *
 * The part in use is copied, because the target may be writing it (live_copy.c). If the
 * target is dead or stopped, calls that were under way are undone in the copy (journals).
 * Then every chunk is classified, and threads, modules, stacks with their totals, live
 * blocks, marks and the timeline are read in that order (live_stacks.c, live_blocks.c).
 *
 * The bytes are not trusted: refs are checked against kind and bounds, everything is
 * read at most once, and `used` and the chunk lists are not needed at all. A figure
 * that was overwritten by another figure cannot be told; there are no checksums in a
 * file that changes all the time. */
#include "live_load.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live_impl.h"
#include "shared/compiler.h"
#include "shared/cursor.h"
#include "tool/model/peaks.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

static const char *const live_bad_words[LIVE_BAD_MAX] = {
	[LIVE_BAD_BYTES] = "bytes missing at the end of the recording",
	[LIVE_BAD_CHUNK] = "parts of the recording of an unknown kind",
	[LIVE_BAD_HEAD] = "fields of the recording's head that make no sense",
	[LIVE_BAD_JOURNAL] = "interrupted calls that could not be undone",
	[LIVE_BAD_MODULE] = "modules that could not be read",
	[LIVE_BAD_POINT] = "points of the timeline that could not be read",
	[LIVE_BAD_RATE] = "samples whose rate is unknown",
	[LIVE_BAD_THREAD] = "threads that could not be read",
	[LIVE_BAD_STACK] = "stacks that could not be followed to their root",
	[LIVE_BAD_SITE] = "sites whose stack could not be read",
	[LIVE_BAD_CELL] = "lists of per-thread totals that break off",
	[LIVE_BAD_TREE] = "parts of the table of live blocks that could not be read",
	[LIVE_BAD_BLOCK] = "live blocks whose site is unknown",
	[LIVE_BAD_MARK] = "parts of marks that could not be read",
	[LIVE_BAD_ERROR] = "wrong uses of the heap that could not be read",
	[LIVE_BAD_SERIES] = "figures of past moments that could not be read",
	[LIVE_BAD_NAME] = "names of frames and types that could not be read",
};

/* ---- finding things ---- */

bool
live_has(const struct live *l, uint32_t ref, enum rec_chunk_kind kind, size_t bytes)
{
	uint64_t off = (uint64_t)ref * 8;
	uint64_t chunk = (off - REC_CHUNKS_OFF) / REC_CHUNK_BYTES;
	uint64_t in = (off - REC_CHUNKS_OFF) % REC_CHUNK_BYTES;
	const struct live_kind *k = &l->kinds[kind];

	if (off < REC_CHUNKS_OFF || chunk >= l->nchunks || l->chunks[chunk].kind != kind)
		return false;
	if (in < k->first || (k->bytes != 0 && (in - k->first) % k->bytes != 0))
		return false;
	if (l->rows[kind] != NULL)
		bytes = k->bytes;
	return bytes <= REC_CHUNK_BYTES - in && off + bytes <= l->bytes;
}

void *
live_raw_at(const struct live *l, uint32_t ref, enum rec_chunk_kind kind, size_t bytes)
{
	uint64_t off = (uint64_t)ref * 8 - REC_CHUNKS_OFF;

	if (!live_has(l, ref, kind, bytes))
		return NULL;
	if (l->left_out && live_leaves_out(kind))
		return live_chunk_copy(l->left_out, (uint32_t)(off / REC_CHUNK_BYTES)) +
		       off % REC_CHUNK_BYTES;
	return l->data + REC_CHUNKS_OFF + off;
}

void *
live_at(const struct live *l, uint32_t ref, enum rec_chunk_kind kind, size_t bytes)
{
	if (LIKELY(l->rows[kind] == NULL))
		return live_raw_at(l, ref, kind, bytes);
	return live_has(l, ref, kind, bytes)
		       ? l->rows[kind] + (size_t)live_number(l, ref) * l->row_bytes[kind]
		       : NULL;
}

uint32_t
live_number(const struct live *l, uint32_t ref)
{
	uint64_t off = (uint64_t)ref * 8 - REC_CHUNKS_OFF;
	const struct live_chunk *c = &l->chunks[off / REC_CHUNK_BYTES];
	const struct live_kind *k = &l->kinds[c->kind];

	return c->first + (uint32_t)((off % REC_CHUNK_BYTES - k->first) / k->bytes);
}

uint32_t
live_slot_ref(const struct live *l, uint32_t chunk, uint32_t slot)
{
	const struct live_kind *k = &l->kinds[l->chunks[chunk].kind];
	uint64_t off = REC_CHUNKS_OFF + (uint64_t)chunk * REC_CHUNK_BYTES + k->first +
		       (uint64_t)slot * k->bytes;

	return (uint32_t)(off / 8);
}

void *
live_slot(const struct live *l, uint32_t chunk, uint32_t slot)
{
	enum rec_chunk_kind kind = l->chunks[chunk].kind;

	if (slot >= (REC_CHUNK_BYTES - l->kinds[kind].first) / l->kinds[kind].bytes)
		return NULL;
	return live_at(l, live_slot_ref(l, chunk, slot), kind, l->kinds[kind].bytes);
}

bool
live_first_visit(struct live *l, uint32_t ref, size_t bytes)
{
	size_t i = ref, end = ref + (bytes + 7) / 8;
	bool first = true;

	while (i < end) { /* up to 64 at a time */
		size_t n = 64 - (i & 63) < end - i ? 64 - (i & 63) : end - i;
		uint64_t bits = (~UINT64_C(0) >> (64 - n)) << (i & 63);

		first = first && (l->seen[i >> 6] & bits) == 0;
		l->seen[i >> 6] |= bits;
		i += n;
	}
	return first;
}

static void
live_index_chunks(struct live *l)
{
	live_lay_out(l);
	l->nchunks =
		l->bytes <= REC_CHUNKS_OFF
			? 0
			: (uint32_t)((l->bytes - REC_CHUNKS_OFF - 1) / REC_CHUNK_BYTES +
				     1);
	l->chunks = xcalloc(l->nchunks, sizeof *l->chunks);
	for (uint32_t i = 0; i < l->nchunks; i++) {
		uint32_t kind = live_chunk_kind(l, i);
		const struct live_kind *k;

		if (kind > REC_CHUNK_LAST) {
			l->bad[LIVE_BAD_CHUNK]++;
			continue;
		}
		k = &l->kinds[kind];
		l->chunks[i].kind = (uint8_t)kind;
		l->chunks[i].first = l->room[kind];
		if (k->bytes != 0)
			l->room[kind] += (REC_CHUNK_BYTES - k->first) / k->bytes;
	}
	l->seen = xcalloc(l->bytes / 512 + 2, sizeof *l->seen);
	l->node_rows = xcalloc(l->room[REC_CHUNK_NODE], sizeof *l->node_rows);
	l->site_rows = xcalloc(l->room[REC_CHUNK_SITE], sizeof *l->site_rows);
	l->name_locs = xcalloc(l->room[REC_CHUNK_NAME], sizeof *l->name_locs);
	l->thread_rows = xcalloc(l->room[REC_CHUNK_THREAD], sizeof *l->thread_rows);
}

/* ---- the head ---- */

static int
live_check_head(const struct rec_head *h, size_t bytes, struct err *e)
{
	if (bytes < 8 || memcmp(h->magic, REC_MAGIC, sizeof h->magic) != 0)
		return err_set(e, -EINVAL, "not a live recording");
	if (bytes < sizeof *h)
		return err_set(e, -EINVAL, "cut off after %zu bytes, within its head",
			       bytes);
	if (h->version != REC_VERSION)
		return err_set(e, -EINVAL,
			       "recording of version %u, this seep reads %u: use %s seep",
			       h->version, REC_VERSION,
			       h->version > REC_VERSION ? "a newer" : "an older");
	if (h->arch != REC_ARCH_X86_64 && h->arch != REC_ARCH_AARCH64)
		return err_set(e, -EINVAL,
			       "recording of ELF machine %u, this seep reads %d (x86-64) "
			       "and %d (aarch64)",
			       h->arch, REC_ARCH_X86_64, REC_ARCH_AARCH64);
	if (h->head_bytes < sizeof *h || h->chunk_bytes != REC_CHUNK_BYTES)
		return err_set(e, -EINVAL,
			       "recording with a head of %u and chunks of %u bytes, this "
			       "seep reads %zu and %d",
			       h->head_bytes, h->chunk_bytes, sizeof *h, REC_CHUNK_BYTES);
	return 0;
}

/* How many bytes the head says are in use. Several words say it; the largest is taken,
 * so that one bad word does not hide the rest. */
static uint64_t
live_used_bytes(const struct rec_head *h)
{
	uint32_t chunks = h->chunks;

	for (size_t i = 0; i < ARRAY_LEN(h->chunk_lists); i++) {
		if (h->chunk_lists[i] > chunks)
			chunks = h->chunk_lists[i];
	}
	return REC_CHUNKS_OFF + (uint64_t)chunks * REC_CHUNK_BYTES;
}

/* ---- the process ---- */

enum { AHEAD_CHUNKS = 1024 }; /* made present ahead of use, at most; more is damage */

static uint32_t
live_fixed_str(struct live *l, const char *text, size_t max)
{
	return prof_strn(l->p, text, strnlen(text, max));
}

/* Text page: executable, directory, and arguments, each with a NUL. */
static void
live_read_text(struct live *l, struct prof_process *x)
{
	size_t have = l->bytes > REC_TEXT_OFF ? l->bytes - REC_TEXT_OFF : 0;
	struct cur c = cur_init(l->data + REC_TEXT_OFF,
				have < REC_TEXT_BYTES ? have : REC_TEXT_BYTES);
	const char *exe = cur_cstr(&c), *cwd = cur_cstr(&c);
	const char *args = (const char *)c.data + c.off;
	size_t bytes = cur_left(&c);
	char *line;

	x->exe = prof_str(l->p, exe);
	x->cwd = prof_str(l->p, cwd);
	if (!cur_ok(&c)) {
		l->bad[LIVE_BAD_HEAD]++;
		return;
	}
	while (bytes > 0 && args[bytes - 1] == '\0')
		bytes--;
	line = xmemdup0(args, bytes);
	for (size_t i = 0; i < bytes; i++) {
		if (line[i] == '\0')
			line[i] = ' ';
	}
	x->cmdline = prof_strn(l->p, line, bytes);
	free(line);
}

static void
live_read_life(struct live *l, struct prof_process *x)
{
	const struct rec_head *h = l->head;

	x->end = l->stopped ? PROF_END_UNKNOWN : PROF_END_RUNNING;
	x->status = -1;
	if (h->exit_status != 0 && l->stopped) {
		x->end = PROF_END_EXITED;
		x->status = (int32_t)(h->exit_status & 255);
	} else if (h->life == REC_LIFE_EXITED)
		x->end = PROF_END_EXITED;
	else if (h->life == REC_LIFE_EXEC)
		x->end = PROF_END_EXEC;
	else if (h->life > REC_LIFE_EXEC)
		l->bad[LIVE_BAD_HEAD]++;
	x->exit_ms = h->exit_ms;
	/* The tool may go on with the clock of one that has gone unnoticed. */
	if (!l->stopped || (h->exit_ms == 0 && h->exec_ms == 0))
		live_saw_ms(l, h->clock_ms);
	live_saw_ms(l, h->exit_ms);
	live_saw_ms(l, h->exec_ms);
	live_saw_ms(l, h->peak_ms);
}

static void
live_read_process(struct live *l)
{
	const struct rec_head *h = l->head;
	struct prof_process *x;

	l->process = prof_add_process(l->p);
	x = &l->p->processes[l->process];
	x->pid = h->pid;
	x->ppid = h->ppid;
	x->uid = h->uid;
	x->arch = (uint16_t)h->arch;
	x->flags = h->flags;
	x->paused = h->paused == 1;
	x->cut_ms = h->cut_ms;
	x->host = live_fixed_str(l, h->host, sizeof h->host);
	x->allocator = live_fixed_str(l, h->libc, sizeof h->libc);
	x->mode = l->sampled ? PROF_SAMPLED : PROF_EXACT;
	if (h->mode == REC_MODE_OFF)
		x->not_recorded = prof_str(l->p, "recording was never switched on");
	else if (h->mode > REC_MODE_SAMPLE)
		l->bad[LIVE_BAD_HEAD]++;
	x->rate_bytes = h->rate_bytes;
	x->run_id = h->run_id;
	x->process_ticks = h->process_ticks;
	x->start_ns = h->start_ns;
	_Static_assert(sizeof x->lost == sizeof h->lost, "same reasons");
	memcpy(x->lost, h->lost, sizeof x->lost);
	x->frees_inherited = h->frees_inherited;
	x->frees_unknown = h->frees_unknown;
	x->frees_unseen = h->frees_unseen;
	x->paused_allocs = h->paused_allocs;
	x->threads_seen = h->threads_seen;
	x->threads_ended = h->threads_ended;
	x->threads_most = h->threads_most;
	x->recorder_kib = h->own_kib + l->bytes / 1024;
	if (h->populated >= h->chunks && h->populated - h->chunks <= AHEAD_CHUNKS)
		x->recorder_kib +=
			(uint64_t)(h->populated - h->chunks) * (REC_CHUNK_BYTES / 1024);
	x->rss_kib = x->rss_peak_kib = h->rss_kib;
	x->anon_kib = h->exit_anon_kib;
	x->limit_bytes = h->limit_bytes;
	x->usage_bytes = h->usage_bytes;
	live_read_text(l, x);
	live_read_life(l, x);
}

/* The process's live bytes are the sum over its cells: words that threads share are
 * not exact. When that is above the peak that was noted, the peak is now, and so is
 * every site's share. */
static void
live_finish_process(struct live *l, uint32_t first_site)
{
	const struct rec_head *h = l->head;
	struct prof_process *x = &l->p->processes[l->process];
	uint64_t sum = 0;

	for (uint32_t i = first_site; i < l->p->nsites; i++)
		sum += (uint64_t)l->p->sites[i].live_bytes;
	x->live_bytes = (int64_t)sum;
	x->peak_bytes = h->peak_bytes;
	x->peak_ms = h->peak_ms;
	x->duration_ms = l->last_ms;
	if (l->head->points > 0)
		prof_end_points(l->p, l->process, l->last_ms, h->rss_kib);
	if (x->live_bytes > h->peak_bytes)
		peaks_are_now(l->p, l->process);
}

static void
live_report_bad(struct live *l)
{
	for (unsigned i = 0; i < LIVE_BAD_MAX; i++) {
		const char *words = live_bad_words[i];

		if (!l->stopped && i >= LIVE_BAD_STACK)
			words = "entries that changed while they were being read";
		prof_add_damage(l->p, words, l->bad[i]);
	}
}

/* Everything after the copy is made. Frees what `l` holds but for the copy. */
static void
live_read(struct live *l, uint64_t missing_bytes)
{
	uint32_t first_site = l->p->nsites;

	l->bad[LIVE_BAD_BYTES] = missing_bytes;
	l->sampled = l->head->mode == REC_MODE_SAMPLE;
	live_index_chunks(l);
	live_convert(l, REC_CHUNK_THREAD);
	if (l->stopped)
		live_undo_all(l);
	for (unsigned kind = 0; kind <= REC_CHUNK_LAST; kind++) {
		if (kind != REC_CHUNK_THREAD)
			live_convert(l, (enum rec_chunk_kind)kind);
	}
	live_read_process(l);
	live_read_points(l);
	live_read_threads(l);
	live_read_modules(l);
	live_read_moments(l);
	live_read_sites(l);
	live_read_blocks(l, first_site);
	live_read_marks(l);
	live_read_errors(l);
	live_finish_process(l, first_site);
	live_finish_moments(l);
	peaks_correct(l->p, l->process);
	live_read_unseen(l);
	live_report_bad(l);
	for (unsigned kind = 0; kind <= REC_CHUNK_LAST; kind++)
		free(l->rows[kind]);
	free(l->chunks);
	free(l->seen);
	free(l->node_rows);
	free(l->site_rows);
	free(l->name_locs);
	free(l->thread_rows);
	free(l->module_rows);
	free(l->module_bias);
}

int
live_load(const void *map, size_t bytes, bool stopped, struct prof *p, struct err *e)
{
	struct live l = {.stopped = stopped, .p = p};
	struct rec_head head = {0};
	uint64_t used;
	int r;

	if (bytes > 0)
		memcpy(&head, map, bytes < sizeof head ? bytes : sizeof head);
	r = live_check_head(&head, bytes, e);
	if (r < 0)
		return r;
	used = live_used_bytes(&head);
	live_make_room(&l, used < bytes ? (size_t)used : bytes);
	memcpy(l.data, map, l.bytes);
	live_read(&l, used - l.bytes);
	live_copy_done(&l);
	return 0;
}

/* ---- from a file ---- */

int
live_load_fd(int fd, bool stopped, struct prof *p, struct err *e)
{
	struct live l = {.stopped = stopped, .p = p};
	struct rec_head head = {0};
	struct stat st;
	size_t got = 0;
	uint64_t used, have, missing = 0;
	int r;

	if (fstat(fd, &st) != 0)
		return err_sys(e, -errno, "cannot read");
	r = live_pread(fd, &head, sizeof head, 0, &got, e);
	if (r == 0)
		r = live_check_head(&head, got, e);
	if (r < 0)
		return r;
	used = live_used_bytes(&head);
	have = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (used > have)
		missing = used - have;
	/* A head that asks for holes gets none: they would cost memory for nothing. */
	used = live_data_end(fd, used - missing);
	live_make_room(&l, used > sizeof head ? (size_t)used : sizeof head);
	r = live_copy_fd(&l, fd, e);
	if (r == 0)
		live_read(&l, missing);
	live_copy_done(&l);
	return r;
}

struct live_whose
live_whose(int fd)
{
	struct rec_head h;

	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h)
		return (struct live_whose){0};
	return (struct live_whose){
		.start_ns = h.start_ns, .process_ticks = h.process_ticks, .pid = h.pid};
}

bool
live_detect(const void *head, size_t bytes)
{
	return bytes >= 8 && memcmp(head, REC_MAGIC, 8) == 0;
}
