/* SPDX-License-Identifier: MIT */
/* interp.c -- an interpreter with a chain of frames of its own, which it tells seep about.
 *
 * A script is a table of lines. eval runs a frame: a line allocates, through C functions
 * that are the same for every line, calls a function of the script, which the same eval
 * goes on with, or calls C, which calls eval again. What there must be is printed: the
 * frames of the script, innermost first, with blocks and bytes.
 *
 *	interp [NAME]     plain, threads, types, reuse, deep, hidden, late, fork, or with a
 *			  damaged chain loop, wild, odd, text
 */
/* cflags: -O2 -g -pthread */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <seep/seep.h>

enum what { END, ALLOC, CALL, NATIVE };

struct line {
	enum what what;
	int number;
	const struct function *callee;
	size_t bytes;
	int times;
	const char *type;
};

struct function {
	const char *name, *file;
	const struct line *lines;
};

struct frame {
	long number; /* so that nothing is at offset 0 */
	const struct function *code;
	struct frame *prev;
	int line;
	unsigned char entry;
	const char *type;
};

static _Thread_local struct frame *top;
static unsigned changes;
static void *volatile kept; /* a list: everything stays reachable */
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void
grow(size_t bytes)
{
	void **p = malloc(bytes);

	pthread_mutex_lock(&keeping);
	*p = kept;
	kept = p;
	pthread_mutex_unlock(&keeping);
	__asm__ volatile("" ::: "memory");
}

static void eval(const struct function *fn);

/* A function of C that calls back. */
static __attribute__((noinline)) void
each(const struct function *fn)
{
	eval(fn);
	__asm__ volatile("" ::: "memory");
}

static void
run_line(struct frame *f, const struct line *l)
{
	f->line = l->number;
	f->type = l->type;
	for (int i = 0; i < l->times; i++)
		grow(l->bytes);
}

/* Runs a function and those that it calls in the script: up to 8,000 deep. */
static __attribute__((noinline)) void
eval(const struct function *fn)
{
	struct {
		struct frame frame;
		const struct line *at;
	} *stack = mmap(NULL, 8000 * sizeof *stack, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	  *f = stack;

	f->frame = (struct frame){.code = fn, .prev = top, .entry = 1};
	f->at = fn->lines;
	top = &f->frame;
	for (;;) {
		const struct line *l = f->at++;

		if (l->what == ALLOC) {
			run_line(&f->frame, l);
		} else if (l->what == NATIVE) {
			f->frame.line = l->number;
			each(l->callee);
		} else if (l->what == CALL) {
			f->frame.line = l->number;
			f++;
			f->frame = (struct frame){.code = l->callee, .prev = top};
			f->at = l->callee->lines;
			top = &f->frame;
		} else if (f == stack) {
			break;
		} else {
			f--;
			top = &f->frame;
		}
	}
	top = f->frame.prev;
	munmap(stack, 8000 * sizeof *stack);
}

static const struct line callback_lines[] = {{ALLOC, 21, NULL, 107, 5, NULL},
					     {END, 0, NULL, 0, 0, NULL}};
static const struct function callback = {"callback", "/srv/each.fk", callback_lines};
static const struct line load_lines[] = {{ALLOC, 11, NULL, 101, 7, NULL},
					 {ALLOC, 12, NULL, 103, 3, NULL},
					 {NATIVE, 13, &callback, 0, 0, NULL},
					 {END, 0, NULL, 0, 0, NULL}};
static const struct function load = {"load", "/srv/load.fk", load_lines};
static const struct line main_lines[] = {{CALL, 1, &load, 0, 0, NULL},
					 {CALL, 2, &load, 0, 0, NULL},
					 {END, 0, NULL, 0, 0, NULL}};
static const struct function script = {"script", "/srv/main.fk", main_lines};

static void
tell_script(int times)
{
	for (int line = 1; line <= 2; line++) {
		printf("expect stack=load:11,script:%d blocks=%d bytes=%d\n", line,
		       7 * times, 707 * times);
		printf("expect stack=load:12,script:%d blocks=%d bytes=%d\n", line,
		       3 * times, 309 * times);
		printf("expect stack=callback:21,load:13,script:%d blocks=%d bytes=%d\n",
		       line, 5 * times, 535 * times);
	}
}

static void
plain(void)
{
	eval(&script);
	tell_script(1);
}

static void *
thread(void *times)
{
	for (int i = 0; i < *(int *)times; i++)
		eval(&script);
	return NULL;
}

static void
threads(void)
{
	int times[4] = {11, 13, 17, 19};
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, thread, &times[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	tell_script(60);
}

/* One line that makes blocks of two types, and some of none. */
static void
types(void)
{
	static const struct line lines[] = {{ALLOC, 31, NULL, 109, 7, "Session"},
					    {ALLOC, 31, NULL, 113, 5, "list"},
					    {ALLOC, 31, NULL, 127, 3, NULL},
					    {END, 0, NULL, 0, 0, NULL}};
	static const struct function fn = {"make", "/srv/types.fk", lines};

	eval(&fn);
	puts("expect stack=make:31 type=Session blocks=7 bytes=763");
	puts("expect stack=make:31 type=list blocks=5 bytes=565");
	puts("expect stack=make:31 type=- blocks=3 bytes=381");
}

/* Code is dropped, and other code made in its place: the count of changes says so. The
 * same names are the same frames again. */
static void
reuse(void)
{
	static struct line lines[2] = {{ALLOC, 41, NULL, 131, 1, NULL},
				       {END, 0, NULL, 0, 0, NULL}};
	static char name[32];
	static struct function fn = {name, "/srv/reuse.fk", lines};

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "made_%d", i % 3);
		changes++;
		eval(&fn);
	}
	for (int i = 0; i < 3; i++)
		printf("expect stack=made_%d:41 blocks=100 bytes=13100\n", i);
}

/* 3,000 frames: the innermost 1,024 are kept. */
static void
deep(void)
{
	static struct line lines[3] = {{ALLOC, 51, NULL, 137, 1, NULL},
				       {CALL, 52, NULL, 0, 0, NULL},
				       {END, 0, NULL, 0, 0, NULL}};
	static struct function fns[3000];
	static struct line last[2] = {{ALLOC, 53, NULL, 139, 7, NULL},
				      {END, 0, NULL, 0, 0, NULL}};
	static struct line more[3000][2];

	for (int i = 0; i < 3000; i++) {
		more[i][0] = (struct line){CALL, 52, &fns[i + 1 < 3000 ? i + 1 : 0],
					   0,	 0,  NULL};
		more[i][1] = lines[2];
		fns[i] = (struct function){"down", "/srv/deep.fk", more[i]};
	}
	fns[2999] = (struct function){"bottom", "/srv/deep.fk", last};
	eval(&fns[0]);
	puts("expect first=bottom:53 blocks=7 bytes=973 cut=7");
}

/* Allocations of C functions alone, before and between scripts, have no such frames. */
static void
hidden(void)
{
	for (int i = 0; i < 2; i++) {
		grow(149);
		eval(&script);
	}
	tell_script(2);
	puts("expect stack=- native=grow blocks=2 bytes=298");
}

/* The child has its own recording, and all that its parent had told. */
static void
forked(void)
{
	pid_t child;

	eval(&script);
	child = fork();
	if (child == 0) {
		eval(&script);
		exit(0);
	}
	waitpid(child, NULL, 0);
	tell_script(2);
}

/* A chain that is damaged while lines of it allocate. */
static void
damaged(const char *how)
{
	static const struct function good = {"good", "/srv/bad.fk", NULL};
	struct function bad_text = {(const char *)(uintptr_t)0x123450, "/srv/bad.fk",
				    NULL};
	struct frame outer = {.code = &good, .line = 61, .entry = 1};
	struct frame inner = {.code = &good, .prev = &outer, .line = 62};

	if (strcmp(how, "loop") == 0)
		outer.prev = &inner;
	else if (strcmp(how, "wild") == 0)
		outer.prev = (struct frame *)(uintptr_t)0x7ffffffff000;
	else if (strcmp(how, "odd") == 0)
		outer.prev = (struct frame *)(uintptr_t)((char *)&inner + 1);
	else
		inner.code = &bad_text;
	top = &inner;
	for (int i = 0; i < 11; i++)
		grow(151);
	top = NULL;
	grow(157);
	puts("expect blocks=11 bytes=1661");
}

static void
tell_seep(void)
{
	struct seep_runtime r = {
		.bytes = sizeof r,
		.language = SEEP_LANGUAGE_OTHER,
		.head = &top,
		.head_frame = SEEP_NONE,
		.prev = offsetof(struct frame, prev),
		.code = offsetof(struct frame, code),
		.function = offsetof(struct function, name),
		.file = offsetof(struct function, file),
		.line = offsetof(struct frame, line),
		.entry = offsetof(struct frame, entry),
		.type = offsetof(struct frame, type),
		.eval = {(const void *)eval},
		.changes = &changes,
	};
	struct seep_runtime no_prev = r, no_thread = r, no_code = r;

	no_prev.prev = SEEP_NONE;
	no_thread.head = (const void *)&kept;
	no_code.eval[0] = &changes;
	printf("refused %d", SEEP_RUNTIME_REGISTER(&no_prev));
	printf(" %d", SEEP_RUNTIME_REGISTER(&no_thread));
	printf(" %d", SEEP_RUNTIME_REGISTER(&no_code));
	printf(" registered %d", SEEP_RUNTIME_REGISTER(&r));
	printf(" again %d\n", SEEP_RUNTIME_REGISTER(&r));
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "plain";

	setvbuf(stdout, NULL, _IONBF, 0); /* no buffer of its own */
	if (strcmp(what, "late") == 0)
		eval(&script); /* seen as what it is natively */
	tell_seep();
	if (strcmp(what, "plain") == 0 || strcmp(what, "late") == 0)
		plain();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "types") == 0)
		types();
	else if (strcmp(what, "reuse") == 0)
		reuse();
	else if (strcmp(what, "deep") == 0)
		deep();
	else if (strcmp(what, "hidden") == 0)
		hidden();
	else if (strcmp(what, "fork") == 0)
		forked();
	else
		damaged(what);
	return 0;
}
