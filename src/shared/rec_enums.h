/* SPDX-License-Identifier: MIT */
/* rec_enums.h -- the enumerations that a recording, a packed file and a profile share.
 *
 * The recorder writes these numbers, readers pass them on unchanged, and reports put them
 * into words. A number never changes its meaning. Their place in a recording is in
 * recording.h. */
#ifndef SEEP_REC_ENUMS_H
#define SEEP_REC_ENUMS_H

enum rec_mode {
	REC_MODE_OFF = 0,
	REC_MODE_EXACT = 1,
	REC_MODE_SAMPLE = 2,
};

enum rec_flags {
	REC_FLAG_FORKED = 1 << 0,	/* made by fork */
	REC_FLAG_TABLE_COPIED = 1 << 1, /* with all blocks of the parent */
	REC_FLAG_MMAP = 1 << 2,	    /* mmap, brk … recorded as a class of their own */
	REC_FLAG_SEALED = 1 << 3,   /* a seccomp filter came: no new chunks since then */
	REC_FLAG_THREADED = 1 << 4, /* a second thread came: head and site are atomics */
	REC_FLAG_FULL = 1 << 5,	    /* out of room at some moment, see lost[] */
	REC_FLAG_TEXT_CUT = 1 << 6, /* the command line did not fit */
	/* Blocks take more memory than was asked for, or are held back: no telling what
	 * is hidden. */
	REC_FLAG_LAYERS = 1 << 7,
	/* The recording ended at cut_ms, before the process did: it gave its address
	 * space to the program. Allocations after that are only counted. */
	REC_FLAG_ENDED = 1 << 8,
	/* Attached: the program calls its own malloc directly, and the hooks do not see
	 * that. */
	REC_FLAG_DIRECT_CALLS = 1 << 9,
	/* Why there was no more room; none of them: max-size. */
	REC_FLAG_LIMIT_SPACE = 1 << 10, /* limit on the address space (ulimit -v) */
	REC_FLAG_LIMIT_FILE = 1 << 11,	/* limit on the size of files (ulimit -f) */
	REC_FLAG_NO_PAGES = 1 << 12,	/* the kernel gave no more: file system full */
	/* Readers only: this process is an entry of another one's list of unrecorded
	 * programs. */
	REC_FLAG_UNSEEN = 1 << 13,
	/* The program may have called the allocator past the hooks (RTLD_DEEPBIND,
	 * dlmopen, dlsym). */
	REC_FLAG_PAST = 1 << 14,
	/* It has asked how large blocks really are, and may use that room. */
	REC_FLAG_USABLE = 1 << 15,
};

/* Why something is missing. Each has a counter in the head and a sentence in every
 * report. */
enum rec_lost {
	REC_LOST_SPACE = 0, /* allocations not recorded: no room left in the recording */
	REC_LOST_REENTRY, /* calls from a signal handler that interrupted the recorder */
	REC_LOST_LOCK,	  /* events given up because a lock stayed taken */
	REC_LOST_ADDRESS, /* blocks above the addresses the table covers */
	/* frames that found no room; readers add the stacks that were cut */
	REC_LOST_TRUNCATED,
	REC_LOST_ELIDED, /* readers only: stacks too deep, both ends kept */
	REC_LOST_CHILD,	 /* forked children without a recording of their own */
	REC_LOST_BOOT,	 /* blocks handed out before the real allocator was known */
	REC_LOST_MARK,	 /* marks that found no room */
	REC_LOST_MODULE, /* modules that found no room: their frames have no names */
	REC_LOST_THREAD, /* threads without a record: counted under "other threads" */
	/* programs started and not recorded; most have a struct rec_unseen */
	REC_LOST_EXEC,
	/* not missing: children that neither allocated nor executed a program */
	REC_LOST_QUIET,
	REC_LOST_PAST, /* readers only: blocks handed out or freed past the hooks, */
	REC_LOST_LIBC, /* and copies of libc that dlmopen has loaded */
	/* readers only: forked children that nobody attached to in time */
	REC_LOST_MISSED,
	REC_LOST_NAME, /* frames of other languages whose name found no room */
	/* stacks whose frames of other languages stand where we guess
	 * (guest/record/mixed) */
	REC_LOST_MIXED,
	REC_LOST_MOMENT, /* figures of sites at past moments that found no room */
	REC_LOST_MAX = 24,
};

enum rec_class {
	REC_CLASS_HEAP = 0,
	REC_CLASS_MMAP = 1,
	REC_CLASS_BRK = 2,
	REC_CLASS_CUSTOM = 3, /* seep_malloc_like */
	REC_CLASS_INHERITED =
		4, /* the only node of the site of all blocks from before the fork */
};

/* Which function a block came from. */
enum rec_kind {
	REC_KIND_MALLOC = 0,  /* malloc calloc realloc reallocarray */
	REC_KIND_ALIGNED = 1, /* memalign and its kin */
	REC_KIND_NEW = 2,
	REC_KIND_NEW_ARRAY = 3,
	REC_KIND_MMAP = 4,
	REC_KIND_BRK = 5,
	REC_KIND_CUSTOM = 6,
	REC_KIND_INHERITED = 8, /* was there at fork: not in live_bytes and peak_bytes */
};

enum rec_unseen_why {
	REC_UNSEEN_NONE = 0,  /* recorded; or the entry is not finished, ignore */
	REC_UNSEEN_STATIC,    /* statically linked */
	REC_UNSEEN_MACHINE,   /* 32-bit, or for another processor */
	REC_UNSEEN_LOADER,    /* not run by glibc's loader */
	REC_UNSEEN_SANITIZER, /* needs a sanitizer's runtime */
	REC_UNSEEN_RIGHTS,    /* setuid, setgid or with capabilities */
	REC_UNSEEN_SEALED,    /* started under a seccomp filter */
	REC_UNSEEN_LIBRARY,   /* libseep.so could not be read by the one who started it */
	REC_UNSEEN_ENVIRONMENT, /* its environment lacked LD_PRELOAD or SEEP */
	REC_UNSEEN_WHYS,
};

enum rec_error_kind {
	REC_ERROR_NONE = 0,	    /* not finished, ignore */
	REC_ERROR_FREE = 1,	    /* free or realloc of an unknown or freed address */
	REC_ERROR_MISMATCH = 2,	    /* freed by another family than it came from */
	REC_ERROR_SIZE = 3,	    /* given back with another size */
	REC_ERROR_ALIGNMENT = 4,    /* given back with another alignment */
	REC_ERROR_FISHY = 5,	    /* a size that is negative as a signed number */
	REC_ERROR_REALLOC_ZERO = 6, /* realloc to 0 bytes */
	REC_ERROR_BOUNDS = 7,	    /* written before or behind a block; found later */
	REC_ERROR_AFTER_FREE = 8,   /* written after it was freed; found later */
	REC_ERROR_READ = 9,	    /* read outside of a block, at this instruction */
	REC_ERROR_WRITE = 10,	    /* written there */
	REC_ERROR_OVERLAP = 11,	    /* source and destination of a copy overlap */
	REC_ERROR_MORE = 12, /* readers only: errors that were not kept one by one */
	REC_ERROR_KINDS,
};

/* What an address turned out to be. */
enum rec_where {
	REC_WHERE_UNKNOWN = 0,
	REC_WHERE_BLOCK = 1,  /* in, or right behind, a live block */
	REC_WHERE_FREED = 2,  /* in a block that has been freed */
	REC_WHERE_STACK = 3,  /* on the stack of thread `where_number` */
	REC_WHERE_MODULE = 4, /* in module number `where_number` */
	REC_WHERES,
};

/* The function that was called wrongly. */
enum rec_func {
	REC_FUNC_NONE = 0,
	REC_FUNC_FREE,
	REC_FUNC_REALLOC,
	REC_FUNC_DELETE,
	REC_FUNC_DELETE_ARRAY,
	REC_FUNC_FREE_SIZED,
	REC_FUNC_MALLOC,
	REC_FUNC_CALLOC,
	REC_FUNC_REALLOCARRAY,
	REC_FUNC_POSIX_MEMALIGN,
	REC_FUNC_ALIGNED_ALLOC,
	REC_FUNC_MEMALIGN,
	REC_FUNC_VALLOC,
	REC_FUNC_PVALLOC,
	REC_FUNC_NEW,
	REC_FUNC_NEW_ARRAY,
	REC_FUNC_MEMCPY,
	REC_FUNC_MEMPCPY,
	REC_FUNC_STRCPY,
	REC_FUNC_STPCPY,
	REC_FUNC_STRNCPY,
	REC_FUNC_STPNCPY,
	REC_FUNC_STRCAT,
	REC_FUNC_STRNCAT,
	REC_FUNC_WMEMCPY,
	REC_FUNC_WCSCPY,
	REC_FUNC_WCSCAT,
	REC_FUNCS,
};

/* What a frame without an address was written in. */
enum rec_language {
	REC_LANGUAGE_NATIVE = 0, /* frames by address */
	REC_LANGUAGE_PYTHON = 1,
	REC_LANGUAGE_JAVA = 2,
	REC_LANGUAGE_GO = 3,
	REC_LANGUAGE_JAVASCRIPT = 4,
	REC_LANGUAGE_OTHER = 5,
	REC_LANGUAGES,
};

#endif
