/* SPDX-License-Identifier: MIT */
/* verdict_cases.c -- one program for each kind of answer; the first argument names the case.
 *
 *	reachable   300,007 bytes held by a global, 3 blocks held only by their middle, 70,001 bytes
 *	            freed by atexit: nothing of it is a leak
 *	minor       five sites that lose one small block each
 *	once        100,003 bytes, lost once
 *	blocks      101 blocks of 13 bytes, lost
 *	spread      3 blocks of 17 bytes, lost a second apart in 3 seconds
 *	indirect    a list of 7 nodes, lost by its head
 *	abort       dies while 41 blocks of 4,099 bytes are live at one site, 5 at another
 *	clean       frees everything
 *	server      21 children that live side by side, each with half a megabyte of its own
 *	mapped      100,003 bytes lost, beside 40 MiB that are mapped */
/* cflags: -O1 -g -fno-inline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

void *volatile held;
char *volatile middles[3];
void *volatile last;
static volatile char filler[4096];

/* Leaves no pointer behind: neither in registers nor on the stack below. */
static void
forget(void)
{
	volatile char room[8192];

	last = NULL;
	memset((void *)room, 0, sizeof room);
	filler[0] = room[17];
}

static void
lose(size_t bytes)
{
	last = malloc(bytes);
	memset(last, 1, bytes);
	forget();
}

static void
lose_a(void)
{
	lose(31);
}
static void
lose_b(void)
{
	lose(37);
}
static void
lose_c(void)
{
	lose(41);
}
static void
lose_d(void)
{
	lose(43);
}
static void
lose_e(void)
{
	lose(47);
}

static void *late;

static void
free_late(void)
{
	free(late);
}

static void
reachable(void)
{
	held = malloc(300007);
	for (int i = 0; i < 3; i++)
		middles[i] = (char *)malloc(503) + 100;
	late = malloc(70001);
	atexit(free_late);
}

struct node {
	struct node *next;
	char text[100];
};

static void
lose_list(void)
{
	struct node *head = NULL;

	for (int i = 0; i < 7; i++) {
		struct node *n = calloc(1, sizeof *n);

		n->next = head;
		head = n;
	}
	last = head;
	head = NULL;
	forget();
}

static void *volatile sessions[41];
static void *volatile others[5];

static void
new_session(int i)
{
	sessions[i] = calloc(1, 4099);
}

static void
die(void)
{
	for (int i = 0; i < 41; i++)
		new_session(i);
	for (int i = 0; i < 5; i++)
		others[i] = calloc(1, 4099);
	abort();
}

static void
server(void)
{
	for (int i = 0; i < 21; i++) {
		if (fork() == 0) {
			memset((void *)(held = malloc(100003)), 1, 100003);
			memset((void *)filler, 1, sizeof filler);
			usleep(200000);
			free(held);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

static void
mapped(void)
{
	void *p = mmap(NULL, 40 << 20, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, 40 << 20);
	lose(100003);
	usleep(500000);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "clean";

	if (strcmp(what, "reachable") == 0) {
		reachable();
	} else if (strcmp(what, "minor") == 0) {
		lose_a();
		lose_b();
		lose_c();
		lose_d();
		lose_e();
	} else if (strcmp(what, "once") == 0) {
		lose(100003);
	} else if (strcmp(what, "blocks") == 0) {
		for (int i = 0; i < 101; i++)
			lose(13);
	} else if (strcmp(what, "spread") == 0) {
		for (int i = 0; i < 3; i++) {
			lose(17);
			sleep(1);
		}
	} else if (strcmp(what, "indirect") == 0) {
		lose_list();
	} else if (strcmp(what, "abort") == 0) {
		die();
	} else if (strcmp(what, "server") == 0) {
		server();
	} else if (strcmp(what, "mapped") == 0) {
		mapped();
	} else {
		for (int i = 0; i < 2113; i++)
			free(held = malloc(100 + (size_t)i));
	}
	return 0;
}
