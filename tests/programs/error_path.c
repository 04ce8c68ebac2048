/* SPDX-License-Identifier: MIT */
/* error_path.c -- blocks of one line of which some are lost: by caller, by thread, by size. */
/* cflags: -g -O0 -pthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *
request_new(size_t bytes)
{
	return calloc(1, bytes); /* the line of `caller` */
}

static void *volatile sink;

static void
handle_error(void)
{
	sink = request_new(200); /* never freed */
	sink = NULL;
}

static void
handle_ok(void)
{
	sink = request_new(200);
	free(sink);
}

static void
caller(void)
{
	for (int i = 0; i < 1243; i++) {
		if (i % 31 == 7)
			handle_error(); /* 40 times */
		else
			handle_ok(); /* 1,203 times */
	}
}

/* One thread frees what the other forgets, through the same stack. */
static pthread_barrier_t both;

static void *
serve(void *forget)
{
	void *volatile p;

	if (*(int *)forget)
		pthread_barrier_wait(&both); /* one after the other */
	for (int i = 0; i < 50; i++) {
		p = malloc(300); /* the line of `threads` */
		if (!*(int *)forget)
			free(p);
		p = NULL;
	}
	if (*(int *)forget)
		exit(0); /* while the other one still waits */
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return NULL;
}

static void *
named(void *forget)
{
	pthread_setname_np(pthread_self(), *(int *)forget ? "careless" : "careful");
	return serve(forget);
}

static void
threads(void)
{
	static int yes = 1, no = 0;
	pthread_t t[2];

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t[0], NULL, named, &no);
	pthread_create(&t[1], NULL, named, &yes);
	pthread_join(t[0], NULL);
}

/* Large ones are forgotten. */
static void
sizes(void)
{
	for (int i = 0; i < 90; i++) {
		size_t bytes = i % 3 == 0 ? 5000 : 100;

		sink = malloc(bytes); /* the line of `sizes` */
		memset(sink, 1, 8);
		if (bytes == 100)
			free(sink);
		sink = NULL;
	}
}

/* No rule: every second one is lost. */
static void
mixed(void)
{
	for (int i = 0; i < 60; i++) {
		sink = malloc(77);
		if (i % 2 == 0)
			free(sink);
		sink = NULL;
	}
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "caller";

	if (strcmp(what, "caller") == 0)
		caller();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "sizes") == 0)
		sizes();
	else
		mixed();
	return 0;
}
