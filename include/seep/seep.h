/* SPDX-License-Identifier: MIT */
/* seep.h -- what a program may tell seep about itself.
 *
 * Nothing has to be linked. The functions are weak: they are there when the program runs
 * under `seep run` and NULL otherwise, so each call is written with its macro, which
 * tests for that:
 *
 *	#include <seep/seep.h>
 *	SEEP_MARK("configuration loaded");
 *
 * Without seep a macro costs one load and one branch. All may be called from any thread,
 * at any time, also from several at once; not from signal handlers. errno is left as it
 * was. */
#ifndef SEEP_SEEP_H
#define SEEP_SEEP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SEEP_WEAK __attribute__((__weak__))

/* Record no new allocations from here on, in the whole process. Frees of blocks that were
 * recorded are still seen, so that nothing looks leaked that is not. */
SEEP_WEAK void seep_pause(void);

/* Go on recording. */
SEEP_WEAK void seep_resume(void);

/* Note what is live now under a name of up to 39 bytes, to be asked for later:
 * `seep report FILE@NAME`. NULL is "". */
SEEP_WEAK void seep_mark(const char *name);

/* For allocators of your own: a block of `bytes` at `p` was handed out, or is about to be
 * taken back. The call's stack is what the report shows. `p` must not be a block that
 * malloc returned, which is recorded already; a NULL `p` is ignored. */
SEEP_WEAK void seep_malloc_like(const void *p, size_t bytes);
SEEP_WEAK void seep_free_like(const void *p);

/* Look now for what is lost, as `seep leaks` does, and tell it on stderr. 0: nothing is;
 * 1: something is, definitely or possibly; -1: it could not be done. Every thread is
 * stopped for a moment. Needs an exact recording, and the program seep itself, which is
 * started for it: SEEP_BIN says where it is, if it is not beside libseep.so or in
 * PATH. */
SEEP_WEAK int seep_leak_check(void);

/* The same for what has been lost since the last look, whoever has made it; and a look
 * that tells nothing, so that only what comes after it counts. */
SEEP_WEAK int seep_leak_check_new(void);
SEEP_WEAK int seep_leak_forget(void);

/* Bytes and blocks that the last seep_leak_check_new found lost since the look before it;
 * 0 after any other look. */
SEEP_WEAK void seep_leak_figures(size_t *bytes, size_t *blocks);

/* No look when the process ends. */
SEEP_WEAK void seep_leak_cancel(void);

/* ---- interpreters ---- */

/* What a frame is written in. */
enum seep_language {
	SEEP_LANGUAGE_PYTHON = 1,
	SEEP_LANGUAGE_JAVA = 2,
	SEEP_LANGUAGE_GO = 3,
	SEEP_LANGUAGE_JAVASCRIPT = 4,
	SEEP_LANGUAGE_OTHER = 5,
};

#define SEEP_NONE (-1) /* an offset of what there is not */

/* Where an interpreter keeps its frames. With it a stack shows the functions and lines of
 * the program that is interpreted, in the place of the interpreter's own function.
 * Nothing of the interpreter is called: at each allocation that is recorded seep reads
 * the chain of frames from memory, on the thread that allocates.
 *
 * Offsets are in bytes, of pointers but for `line` and `entry`. Texts end with a NUL.
 * Frames, code and texts must stay readable while the chain leads to them. */
struct seep_runtime {
	size_t bytes;	   /* sizeof(struct seep_runtime) */
	unsigned language; /* enum seep_language */
	/* Address of a thread-local pointer, of the calling thread, to the innermost
	 * frame; NULL in it: the thread runs no code of this runtime. The variable must
	 * be the program's, or of a library that is loaded with it. */
	const void *head;
	int head_frame; /* or `head` leads to a structure that has the pointer here */

	int prev; /* in a frame: the caller's frame; NULL = outermost */
	/* a structure that has `function` and `file`; SEEP_NONE: the frame has */
	int code;
	int function; /* text */
	int file;     /* text, or SEEP_NONE */
	int line;     /* int, the line that is executed now, or SEEP_NONE */
	/* unsigned char: not 0 if `eval` was called to run this frame, 0 if its
	 * caller's goes on with it; SEEP_NONE: it is called for each frame */
	int entry;
	int type; /* text: what the innermost frame is allocating, NULL = not known; or
		    * SEEP_NONE */

	const void *eval[4]; /* the functions that run frames; NULL = no more */
	/* Counts up when code or texts were freed or changed; NULL: that never
	 * happens. */
	const unsigned *changes;
};

/* Registers one, for good; a copy is taken. 0: it is known now; -1: the description makes
 * no sense, or there are four already. Best before frames are made, and once. */
SEEP_WEAK int seep_runtime_register(const struct seep_runtime *runtime);

#define SEEP_CALL_(function, ...)                                                        \
	do {                                                                             \
		if (function)                                                            \
			function(__VA_ARGS__);                                           \
	} while (0)

#define SEEP_PAUSE() SEEP_CALL_(seep_pause, )
#define SEEP_RESUME() SEEP_CALL_(seep_resume, )
#define SEEP_MARK(name) SEEP_CALL_(seep_mark, (name))
#define SEEP_MALLOC_LIKE(p, bytes) SEEP_CALL_(seep_malloc_like, (p), (bytes))
#define SEEP_FREE_LIKE(p) SEEP_CALL_(seep_free_like, (p))
#define SEEP_LEAK_CHECK() (seep_leak_check ? seep_leak_check() : -1)
#define SEEP_LEAK_CHECK_NEW() (seep_leak_check_new ? seep_leak_check_new() : -1)
#define SEEP_LEAK_CANCEL() SEEP_CALL_(seep_leak_cancel, )
#define SEEP_RUNTIME_REGISTER(runtime)                                                   \
	(seep_runtime_register ? seep_runtime_register(runtime) : -1)
#define SEEP_LEAK_FORGET() (seep_leak_forget ? seep_leak_forget() : -1)

#ifdef __cplusplus
}
#endif

#endif
