/* SPDX-License-Identifier: MIT */
/* loaded.c -- see loaded.h.
 *
 * glibc has _dl_find_object since 2.35. Before, there is a table of ours: filled at the
 * first question, which comes while the program starts, and again when our constructor
 * runs, at dlopen and dlsym, and after dlclose. dlopen itself is jumped to and not called
 * (past.c), so what it loads is found from the program's next call of dlsym on.
 *
 * There are two copies, and `version` says which one is valid. A reader that was
 * overtaken twice has read rubbish; it notices and looks again. */
#include "guest/hooks/loaded.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"

#include <link.h>
#include <stdint.h>
#include <sys/auxv.h>

enum { OBJECTS_MAX = 4096, ATTEMPTS = 8, PAGE = 4096 };

struct object {
	uintptr_t start, end;
	const void *eh_hdr;
	const struct link_map *map;
};

struct table {
	uint32_t count, of_start; /* the first ones were there when the program began */
	unsigned long long adds, subs;
	struct object objects[OBJECTS_MAX];
};

static struct table *copies; /* two of them */
static uint32_t version;     /* copies[version & 1] is valid; 0: none yet */
static uint32_t asked;	     /* refreshes that somebody has still to do */
static uint32_t closing;     /* calls of dlclose under way */
static bool constructed;

/* The object's program headers: the kernel says where the program's are, those of a
 * library follow its ELF header, which is at its lowest address. */
static const ElfW(Phdr) * headers_of(const struct link_map *map, size_t *ret_count)
{
	const ElfW(Ehdr) *head = (const void *)map->l_addr;
	unsigned char there;

	if (map == _r_debug.r_map) {
		*ret_count = getauxval(AT_PHNUM);
		return (const void *)getauxval(AT_PHDR);
	}
	/* The vDSO is not in a file, and a library may begin elsewhere: is there
	 * anything? */
	if (((uintptr_t)head & (PAGE - 1)) != 0 ||
	    SYS3(SYS_mincore, head, PAGE, &there) != 0 ||
	    head->e_ident[EI_MAG0] != ELFMAG0 || head->e_ident[EI_MAG1] != ELFMAG1 ||
	    head->e_ident[EI_MAG2] != ELFMAG2 || head->e_ident[EI_MAG3] != ELFMAG3)
		return NULL;
	*ret_count = head->e_phnum;
	return (const void *)((const char *)head + head->e_phoff);
}

static bool
measure(const struct link_map *map, struct object *ret)
{
	size_t count = 0;
	const ElfW(Phdr) *ph = headers_of(map, &count);
	struct object o = {.start = UINTPTR_MAX, .map = map};

	for (size_t i = 0; ph != NULL && i < count; i++) {
		uintptr_t start = map->l_addr + ph[i].p_vaddr;

		if (ph[i].p_type == PT_GNU_EH_FRAME)
			o.eh_hdr = (const void *)start;
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (start < o.start)
			o.start = ALIGN_DOWN(start, (uintptr_t)PAGE);
		if (start + ph[i].p_memsz > o.end)
			o.end = start + ph[i].p_memsz;
	}
	*ret = o;
	return o.start < o.end;
}

/* Into the copy that is not valid. Nothing may leave the loader's list meanwhile. */
static void
fill(unsigned long long adds, unsigned long long subs)
{
	uint32_t now = __atomic_load_n(&version, __ATOMIC_RELAXED);
	struct table *t = &copies[(now + 1) & 1];
	const struct link_map *map = _r_debug.r_map;

	t->count = 0;
	for (; map != NULL && t->count < OBJECTS_MAX; map = map->l_next)
		t->count += measure(map, &t->objects[t->count]);
	t->of_start = now != 0 && constructed ? copies[now & 1].of_start : t->count;
	t->adds = adds;
	t->subs = subs;
	__atomic_store_n(&version, now + 1, __ATOMIC_RELEASE);
}

/* dl_iterate_phdr holds the lock of the loader's list while it calls this. */
static int
locked(struct dl_phdr_info *info, size_t bytes, void *nothing)
{
	const struct table *t = &copies[version & 1];

	(void)bytes;
	(void)nothing;
	if (version == 0 || t->adds != info->dlpi_adds || t->subs != info->dlpi_subs)
		fill(info->dlpi_adds, info->dlpi_subs);
	return 1;
}

/* One at a time. Whoever comes meanwhile leaves it to the other, who does it again. */
static void
refresh(bool by_loader)
{
	uint32_t n;

	if (rt_sealed || __atomic_fetch_add(&asked, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (copies == NULL)
		copies = rt_map(2 * sizeof(*copies));
	do {
		n = __atomic_load_n(&asked, __ATOMIC_ACQUIRE);
		if (copies != NULL && by_loader)
			dl_iterate_phdr(locked, NULL);
		else if (copies != NULL && version == 0)
			fill(0, 0);
	} while (!__atomic_compare_exchange_n(&asked, &n, 0, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
}

bool
loaded_in_table(const void *at, struct dl_find_object *ret)
{
	uintptr_t pc = (uintptr_t)at;

	/* The program has only begun: its objects stay, and nobody loads others. */
	if (UNLIKELY(version == 0) && !constructed)
		refresh(false);
	for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint32_t now = __atomic_load_n(&version, __ATOMIC_ACQUIRE);
		const struct table *t = &copies[now & 1];
		struct object found = {0};
		uint32_t n;

		if (now == 0)
			return false;
		n = __atomic_load_n(&closing, __ATOMIC_ACQUIRE) != 0 ? t->of_start
								     : t->count;
		for (uint32_t i = 0; i < n && i < OBJECTS_MAX; i++)
			if (pc - t->objects[i].start <
			    t->objects[i].end - t->objects[i].start) {
				found = t->objects[i];
				break;
			}
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&version, __ATOMIC_RELAXED) != now)
			continue;
		if (found.map == NULL)
			return false;
		*ret = (struct dl_find_object){
			.dlfo_map_start = (void *)found.start,
			.dlfo_map_end = (void *)found.end,
			.dlfo_link_map = (struct link_map *)(uintptr_t)found.map,
			.dlfo_eh_frame = (void *)(uintptr_t)found.eh_hdr,
		};
		return true;
	}
	return false;
}

bool
loaded_find(const void *at, struct dl_find_object *ret)
{
	if (LIKELY(_dl_find_object != NULL))
		return _dl_find_object((void *)(uintptr_t)at, ret) == 0;
	return loaded_in_table(at, ret);
}

void
loaded_refresh(void)
{
	refresh(true);
}

void
loaded_closing(bool begins)
{
	if (begins)
		__atomic_fetch_add(&closing, 1, __ATOMIC_SEQ_CST);
	else
		refresh(true);
	/* Sealed, nothing was refreshed: what was loaded later stays unknown. */
	if (!begins && !rt_sealed && __atomic_load_n(&closing, __ATOMIC_SEQ_CST) != 0)
		__atomic_fetch_sub(&closing, 1, __ATOMIC_SEQ_CST);
}

void
loaded_forked(void)
{
	asked = 0;
	closing = 0;
}

__attribute__((constructor)) static void
begun(void)
{
	if (_dl_find_object == NULL)
		refresh(true);
	constructed = true;
}
