/* SPDX-License-Identifier: MIT */
/* modules.c -- which ELF objects are mapped where, and since when.
 *
 * A module is entered when the unwinder meets its first address in it, with the build-id
 * from its own notes. The loader says in r_state that it is changing the list, and while
 * it does, it allocates and frees, so we always get to see that: the next quiet event
 * then compares every known module with what is mapped there now. Same range and same
 * build-id is the same code, were it loaded anew; anything else ends the old module's row
 * and its rules. dlopen and dlclose need no wrappers for this, so the loader keeps seeing
 * the real caller. When sampling, what the loader allocates is seldom looked at: each
 * sample then asks for the modules that may have gone. */
#include "guest/record/modules.h"

#include "guest/record/file/space.h"
#include "guest/rt/rt_text.h"

#include <elf.h>
#include <link.h>
#include <string.h>

enum { LOCK_MODULES = 1 };

/* The build-id note of a mapped module; returns its size, 0 when it has none. Only the
 * headers are believed that lie inside the first page. */
static uint32_t
build_id(uintptr_t start, uintptr_t end, uintptr_t bias, unsigned char *ret)
{
	const ElfW(Ehdr) *eh = (const void *)start;
	const ElfW(Phdr) * ph;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_phoff + eh->e_phnum * sizeof(*ph) > 4096)
		return 0;
	ph = (const void *)(start + eh->e_phoff);
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		uintptr_t at = bias + ph[i].p_vaddr;
		uintptr_t stop = at + ph[i].p_memsz;

		if (ph[i].p_type != PT_NOTE || at < start || stop > end || stop < at)
			continue;
		while (stop - at >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *n = (const void *)at;
			uintptr_t desc =
				at + sizeof(*n) + ALIGN_UP((uintptr_t)n->n_namesz, 4ul);

			if (desc > stop || n->n_descsz > stop - desc)
				break;
			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    memcmp(n + 1, "GNU", 4) == 0 &&
			    n->n_descsz <= REC_BUILD_ID_MAX) {
				memcpy(ret, (const void *)desc, n->n_descsz);
				return n->n_descsz;
			}
			at = desc + ALIGN_UP((uintptr_t)n->n_descsz, 4ul);
		}
	}
	return 0;
}

/* The path as the loader has it is relative when dlopen was given a relative one. Lock
 * held. */
static uint32_t
path_ref(struct recorder *r, const char *path, uint32_t me)
{
	struct text t = text_on(r->scratch, RECORDER_SCRATCH_BYTES);
	char *cwd = r->scratch + RECORDER_SCRATCH_BYTES / 2;

	/* Two pages of the recorder's own, because the program's stack may be small. */
	if (path[0] == '\0') /* the executable */
		return space_string(r, (const char *)r->base + REC_TEXT_OFF, me);
	t.cap = RECORDER_SCRATCH_BYTES / 2;
	if (path[0] != '/' && !rt_sealed &&
	    SYS2(SYS_getcwd, cwd, RECORDER_SCRATCH_BYTES / 2) > 0) {
		text_add(&t, cwd);
		text_add(&t, "/");
	}
	text_add(&t, path);
	return space_string(r, r->scratch, me);
}

static struct known_module *
known(struct recorder *r, uintptr_t start, uintptr_t end)
{
	uint32_t n = __atomic_load_n(&r->nmodules, __ATOMIC_ACQUIRE);

	for (uint32_t i = n; i-- > 0;)
		if (r->modules[i].start == start && r->modules[i].end == end &&
		    !r->modules[i].gone)
			return &r->modules[i];
	return NULL;
}

/* A module's number is the place of its row: chunk after chunk, from 1. Not counted as
 * they are made: one whose making was left by longjmp is a row, too. */
static uint32_t
number_of(const struct recorder *r, const struct rec_module *row)
{
	enum {
		ROWS = (REC_CHUNK_BYTES - sizeof(struct rec_chunk)) / sizeof(*row),
	};
	uint64_t off = (uint64_t)((const unsigned char *)row - r->base) - REC_CHUNKS_OFF;
	uint64_t in_chunk = off % REC_CHUNK_BYTES - sizeof(struct rec_chunk);
	uint32_t before = 0;

	for (uint32_t i = rec_chunk_at(r, (uint32_t)(off / REC_CHUNK_BYTES) + 1)->next;
	     i != 0; i = rec_chunk_at(r, i)->next)
		before += ROWS;
	return before + (uint32_t)(in_chunk / sizeof(*row)) + 1;
}

/* Enter a module. Lock held. */
static struct known_module *
enter(struct recorder *r, const struct host_module *m, uint32_t me)
{
	struct rec_head *h = r->head;
	struct known_module *k = &r->modules[r->nmodules];
	struct rec_module *row;

	if (r->nmodules == RECORDER_MODULES_MAX)
		return NULL;
	/* A row that was begun and left by longjmp is used again. */
	if (r->module_row == NULL)
		r->module_row = space_alloc(r, REC_CHUNK_MODULE, sizeof(*row), me);
	row = r->module_row;
	if (row == NULL)
		return NULL;
	row->start = m->start;
	row->end = m->end;
	row->bias = m->bias;
	row->loaded_ms = h->clock_ms;
	row->path = path_ref(r, m->path, me);
	row->build_id_bytes = build_id(m->start, m->end, m->bias, row->build_id);
	*k = (struct known_module){.start = m->start,
				   .end = m->end,
				   .eh_hdr = m->eh_hdr,
				   .row = row,
				   .id = number_of(r, row),
				   .late = r->host->module_late != NULL &&
					   r->host->module_late(m->start)};
	r->modules_late = r->modules_late || k->late;
	__atomic_store_n(&h->modules, k->id, __ATOMIC_RELEASE);
	r->module_row = NULL;
	COMPILER_BARRIER();
	__atomic_store_n(&r->nmodules, r->nmodules + 1, __ATOMIC_RELEASE);
	return k;
}

bool
modules_find(uintptr_t pc, struct unw_module *ret)
{
	struct recorder *r = recorder_now;
	struct host_module m;
	struct known_module *k;
	uint32_t me = lock_id();

	if (!r->host->module_find(pc, &m))
		return r->host->table_find != NULL && r->host->table_find(pc, ret);
	k = known(r, m.start, m.end);
	if (k == NULL && lock_take(&r->head->locks[LOCK_MODULES], me)) {
		k = known(r, m.start, m.end);
		if (k == NULL)
			k = enter(r, &m, me);
		lock_drop(&r->head->locks[LOCK_MODULES]);
	}
	if (k == NULL)
		rec_lost(r, REC_LOST_MODULE);
	*ret = (struct unw_module){.start = m.start,
				   .end = m.end,
				   .eh_hdr = m.eh_hdr,
				   .id = k == NULL ? UNW_MODULE_MAX : k->id};
	return true;
}

/* Without build-ids the path has to do: as the loader has it, it ends what we noted. */
static bool
same_path(struct recorder *r, const struct known_module *k, const char *path)
{
	uint32_t ref = k->row->path;
	const struct rec_string *s = rec_checked(r, ref, sizeof(*s));
	uint32_t bytes = s == NULL ? 0 : s->bytes;
	size_t n = text_len(path);

	/* A string that cannot be where it is said to be tells nothing. */
	return s == NULL || rec_checked(r, ref, sizeof(*s) + (uint64_t)bytes) == NULL ||
	       (n <= bytes && memcmp(s->text + bytes - n, path, n) == 0);
}

static bool
still_there(struct recorder *r, const struct known_module *k)
{
	unsigned char id[REC_BUILD_ID_MAX];
	struct host_module m;
	uint32_t bytes;

	if (!r->host->module_find(k->start, &m) || m.start != k->start || m.end != k->end)
		return false;
	bytes = build_id(m.start, m.end, m.bias,
			 id); /* never more than there is room for */
	return bytes == k->row->build_id_bytes &&
	       memcmp(id, k->row->build_id, bytes) == 0 &&
	       (bytes != 0 || same_path(r, k, m.path));
}

/* Lock held. */
static void
ends(struct recorder *r, struct thread *t, struct known_module *k)
{
	/* First: left by a jump, it is done again. */
	unw_forget(r->unw, k->start, k->end);
	k->row->unloaded_ms = t->now_ms + 1; /* never 0, which says "still there" */
	COMPILER_BARRIER();
	k->gone = true;
}

bool
modules_check(struct recorder *r, struct thread *t)
{
	if (!lock_take(&r->head->locks[LOCK_MODULES], t->me))
		return false;
	for (uint32_t i = 0; i < r->nmodules; i++) {
		struct known_module *k = &r->modules[i];

		if (!k->gone && !still_there(r, k))
			ends(r, t, k);
	}
	lock_drop(&r->head->locks[LOCK_MODULES]);
	return true;
}

/* By what the loader says alone. */
static bool
seems_there(struct recorder *r, const struct known_module *k)
{
	struct host_module m;

	return r->host->module_find(k->start, &m) && m.start == k->start &&
	       m.end == k->end && m.eh_hdr == k->eh_hdr && same_path(r, k, m.path);
}

COLD void
modules_check_late(struct recorder *r, struct thread *t)
{
	uint32_t n = __atomic_load_n(&r->nmodules, __ATOMIC_ACQUIRE);

	if (*r->host->loader_busy != 0) /* hot_changes will look */
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct known_module *k = &r->modules[i];

		if (!k->late || k->gone || seems_there(r, k) ||
		    !lock_take(&r->head->locks[LOCK_MODULES], t->me))
			continue;
		if (!k->gone)
			ends(r, t, k);
		lock_drop(&r->head->locks[LOCK_MODULES]);
	}
}
