/* SPDX-License-Identifier: MIT */
/* gperf_api.c -- the C functions of gperftools' heap profiler, called right and wrong, at run
 * time and with threads that were there before. What they answer is printed.
 *
 *	gperf_api PREFIX          all of it
 *	gperf_api PREFIX stop     stopped at the end: no file at exit
 *	gperf_api PREFIX threads  started while four threads run: each then keeps 101 of 1,009 bytes
 *	                          and frees 50,021 of 24 */
/* cflags: -O1 -g -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void HeapProfilerStart(const char *prefix);
void HeapProfilerStop(void);
void HeapProfilerDump(const char *reason);
int IsHeapProfilerRunning(void);
char *GetHeapProfile(void);

static void *volatile keep[64];
static pthread_barrier_t gate;

__attribute__((noinline)) static void *
take(size_t n)
{
	void *volatile p = malloc(n);

	return p;
}

static void *
worker(void *arg)
{
	free(take(1)); /* known before it starts, and let pass */
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < 101; i++)
		keep[0] = take(1009);
	for (int i = 0; i < 50021; i++)
		free(take(24));
	return arg;
}

static int
with_threads(const char *prefix)
{
	pthread_t t[4];

	pthread_barrier_init(&gate, NULL, 5);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	pthread_barrier_wait(&gate);
	HeapProfilerStart(prefix);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	HeapProfilerDump("threads");
	HeapProfilerStop();
	return 0;
}

static void
show(const char *what)
{
	char *p = GetHeapProfile();

	printf("%s: running %d, profile \"%.51s\"\n", what, IsHeapProfilerRunning(), p);
	free(p);
}

int
main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 2 && strcmp(argv[2], "threads") == 0)
		return with_threads(argv[1]);
	keep[0] = take(11);
	show("before");
	HeapProfilerDump("not running");
	HeapProfilerStart(argv[1]);
	for (int i = 1; i < 8; i++)
		keep[i] = take(101);
	free(keep[0]);
	HeapProfilerDump("my reason");
	show("started");
	HeapProfilerStart("somewhere/else");
	HeapProfilerStop();
	HeapProfilerStop();
	show("stopped");
	keep[9] = take(33);
	free(keep[1]);
	HeapProfilerStart(argv[1]);
	keep[10] = take(7);
	free(keep[2]);
	HeapProfilerDump("second");
	if (argc > 2)
		HeapProfilerStop();
	return 0;
}
