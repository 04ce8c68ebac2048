/* SPDX-License-Identifier: MIT */
/* inject.h -- what `seep attach` and the code that it injects agree on.
 *
 * Two things. The control page is part of the recording (shared/recording.h leaves room
 * for it) and says everything that is needed to undo what was done to the process: it is
 * written before each step, so that `seep detach` finds its way whenever the attacher
 * died. The config is how the image of the injected code begins its data: hooks to be
 * found, words to be filled in.
 *
 *   12 KiB in the recording   struct attach_control, then its patches, up to 64 KiB */
#ifndef SEEP_SHARED_INJECT_H
#define SEEP_SHARED_INJECT_H

#include <stdint.h>

#define ATTACH_MAGIC "SEEPATT1"

enum {
	ATTACH_OFF = 12 << 10, /* in the recording */
	ATTACH_BYTES = 50 << 10,
	ATTACH_PATCH_BYTES = 8, /* at most: a jump, or a word of a GOT */
	ATTACH_ISLANDS = 3,
	ATTACH_SILENCE_MS = 10000, /* no sign of the attacher for so long: switched off */
};

enum attach_state {
	ATTACH_MAKING = 0, /* mappings are being made */
	ATTACH_PATCHING = 1,
	ATTACH_ON = 2,
	ATTACH_UNDOING = 3,
	ATTACH_PATCHES_UNDONE = 4, /* what is left are mappings */
};

/* Bytes of the process that were replaced. */
struct attach_patch {
	uint64_t addr;
	uint32_t bytes;
	uint32_t reserved;
	uint8_t before[ATTACH_PATCH_BYTES];
	uint8_t after[ATTACH_PATCH_BYTES];
};

/* A mapping of ours; bytes = 0: none. Written before it is made; attach_control.made
 * tells. */
struct attach_range {
	uint64_t start, bytes;
};

/* Bits of attach_control.made; islands from ATTACH_MADE_ISLAND on. */
enum attach_made {
	ATTACH_MADE_CODE = 1,
	ATTACH_MADE_DATA = 2,
	ATTACH_MADE_ISLAND = 4,
};

struct attach_control {
	char magic[8];
	uint32_t state; /* enum attach_state */
	uint32_t patches;
	struct attach_range code; /* near the allocator: image, jumps, its data */
	struct attach_range data; /* anywhere: private memory of the recorder */
	struct attach_range self; /* the recording */
	struct attach_range islands[ATTACH_ISLANDS]; /* more jumps, near other objects */
	uint64_t heartbeat;			     /* the attacher counts it up */
	uint32_t stay;				     /* 1: go on without it */
	uint32_t off;	      /* 1: record nothing; set by either side, for good */
	uint32_t rate_number; /* of head.rates, to be used from now on */
	uint32_t made;	      /* enum attach_made: these were mapped */
	/* counted by the injected code */
	uint64_t events;    /* hooks that did not pass by at once */
	uint64_t spent_tsc; /* processor cycles in them, without the real functions */
	uint64_t began_tsc; /* at the first event */
	uint64_t config;    /* address of struct blob_config; 0 = not there yet */
	uint64_t samples;   /* taken */
	/* how many it would have been with half the distance, in 1/1024 */
	uint64_t at_half;
	/* Jumps that words were bound to, in `code`, when the process may have made
	 * copies of these words: they stay, and lead to the real functions. bytes = 0:
	 * nothing has to. */
	struct attach_range stubs;
	uint64_t forked; /* children that came to a hook, see BLOB_FORK_COUNTED */
	uint64_t reserved[2];
};

_Static_assert(sizeof(struct attach_patch) == 32, "patch");
_Static_assert(sizeof(struct attach_control) == 224, "control");

enum {
	ATTACH_PATCHES_MAX = (ATTACH_BYTES - (int)sizeof(struct attach_control)) /
			     (int)sizeof(struct attach_patch),
};

/* How a function is called, and so which hook fits it. Arguments beyond those named are
 * passed on. */
enum blob_shape {
	BLOB_ALLOC,   /* (bytes, …): malloc, operator new, mallocx */
	BLOB_CALLOC,  /* (count, each) */
	BLOB_REALLOC, /* (block, bytes, …): realloc, rallocx */
	BLOB_ALIGNED, /* (alignment, bytes): memalign, aligned_alloc */
	BLOB_POSIX,   /* (&block, alignment, bytes): posix_memalign */
	BLOB_PAGES,   /* (bytes), and may call others of the family: valloc, pvalloc */
	BLOB_FREE,    /* (block, …): free, operator delete, sdallocx */
	BLOB_SHAPES,
};

enum {
	BLOB_HOOKS = 24, /* of each shape */
	BLOB_MODULES_MAX = 512,
};

/* The function behind a hook. */
struct blob_next {
	uint64_t fn;
	uint32_t kind;	/* enum rec_kind */
	uint32_t nests; /* calls others of the family by name: never passes by at once */
	/* Of an operator new that throws: the one that does not, called instead when
	 * there is a frame of ours on the stack, which no exception can pass. 0: it
	 * throws nothing. */
	uint64_t nothrow;
	uint64_t aligned; /* 1: that one takes the alignment first */
};

/* A mapped ELF object, where the process cannot be asked. `path` is an address. */
struct blob_module {
	uint64_t start, end, bias, eh_hdr, path;
};

/* Blocks that are older than the recording: some of them are watched, so that it is known
 * how fast they go. */
enum {
	BLOB_OLD_MAX = 1 << 13,	  /* watched */
	BLOB_OLD_SLOTS = 1 << 14, /* of the table of them */
	BLOB_OLD_BITS = 1 << 20,  /* addresses that may be in it */
};

struct blob_old {
	uint64_t addr;	 /* 0 = a free slot */
	uint32_t bytes;	 /* of the block with its header; UINT32_MAX: that or more */
	uint32_t stands; /* for so many of its size */
	/* when it was freed, since the recording began; 0 = it was not */
	uint32_t died_ms;
	uint32_t reserved;
};

_Static_assert(sizeof(struct blob_old) == 24, "old block");

/* One bit for 16 bytes, neighbours side by side: frees look at few cache lines. */
static inline uint32_t
blob_old_bit(uint64_t addr)
{
	return (uint32_t)(addr >> 4) & (BLOB_OLD_BITS - 1);
}

/* Where its slot is looked for first; the next ones follow. */
static inline uint32_t
blob_old_slot(uint64_t addr)
{
	return (uint32_t)((addr >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 50);
}

_Static_assert(BLOB_OLD_SLOTS == 1 << 14, "64 - 14 bits are shifted out");

/* The switch of a preloaded libseep.so that records nothing, which it exports as
 * seep_switch. */
enum {
	LIFE_SWITCH_BYTES = 1008,
	LIFE_SWITCH_ON = 1,
};

struct life_switch {
	uint64_t bytes; /* sizeof(struct life_switch): tells versions apart */
	uint32_t word;	/* 0, or LIFE_SWITCH_ON: begin, with these settings */
	uint32_t reserved;
	char settings[LIFE_SWITCH_BYTES]; /* as in the variable SEEP */
};

#define BLOB_MAGIC "SEEPBLB1"

/* Whose memory this is. The kernel wipes that page in a forked child. */
enum blob_fork {
	BLOB_FORK_CHILD = 0,
	BLOB_FORK_OWN = 1, /* of the process that was attached to */
	BLOB_FORK_COUNTED =
		2, /* of a child that is in attach_control.forked of its parent */
};

/* How the data segment of the image begins. */
struct blob_config {
	/* in the image */
	char magic[8];
	uint64_t bytes; /* sizeof(struct blob_config) */
	const void *hooks[BLOB_SHAPES][BLOB_HOOKS];
	/* What each thread carries: so many slots of so many bytes, with these two words
	 * in each. */
	const void *slots;
	uint32_t slot_count, slot_bytes;
	uint32_t slot_key_off; /* the thread pointer; 0 = free */
	/* not 0: the thread is in our code, or will come back to it */
	uint32_t slot_busy_off;

	/* filled in by the attacher */
	struct blob_next next[BLOB_SHAPES][BLOB_HOOKS];
	uint64_t recording, recording_bytes;
	uint64_t arena, arena_bytes; /* private memory */
	uint64_t fork_page;	     /* its first word is an enum blob_fork */
	uint64_t modules;	     /* struct blob_module[module_count], by start */
	uint64_t module_count;
	uint64_t dl_find_object; /* libc's, or 0 */
	uint64_t clock_gettime;	 /* the vDSO's, or 0 */
	uint64_t loader_state;	 /* r_debug.r_state, or 0 */
	uint64_t stack_end;	 /* of the first thread */
	uint64_t program_start, program_end;
	uint64_t root_start, root_end; /* the code that calls main, or 0 */
	uint32_t tid_off; /* a thread's id, from its thread pointer on; 0 = not known */
	uint32_t sealed;  /* a seccomp filter: no system calls */

	/* In the image, all zero; written from outside while it runs, the bits last. */
	const void *old;      /* struct blob_old[BLOB_OLD_SLOTS] */
	const void *old_bits; /* BLOB_OLD_BITS of them, lowest first in 32-bit words */
};

#endif
