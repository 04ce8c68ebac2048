/* SPDX-License-Identifier: MIT */
/* steady_writer.c -- 150 MB in blocks of 1,000 bytes, in lists; then works for so many
 * CPU seconds: reads all the time, and writes to 10 MB of pages a CPU second.
 *
 * `steady_writer SECONDS`. Prints its own CPU time of that part, how much of it the
 * kernel took, that of its children (copies of it), page faults, and the longest turn, in
 * ms, where most take less than one. Then it makes a copy of itself, and prints the CPU
 * time of that, of a page fault while there is one, and of the copy's end. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 150000, BYTES = 1000, LISTS = 1024, PAGES_PER_SECOND = 2441 };

static char *lists[LISTS], *volatile all[BLOCKS];

static double
seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double
of(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double
children(void)
{
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	return of(u.ru_utime) + of(u.ru_stime);
}

static double
kernel(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return of(u.ru_stime);
}

static long
faults(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_minflt;
}

static void
copy_costs(void)
{
	double start = seconds(CLOCK_PROCESS_CPUTIME_ID), forked, end,
	       before = children();
	long n = faults();
	int pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	forked = seconds(CLOCK_PROCESS_CPUTIME_ID);
	for (size_t i = 0; i < BLOCKS; i += 4)
		all[i][BYTES - 1]++;
	end = seconds(CLOCK_PROCESS_CPUTIME_ID);
	n = faults() - n;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf(" fork_ms %.3f fault_us %.3f exit_ms %.3f\n", (forked - start) * 1e3,
	       (end - forked) / (double)(n > 0 ? n : 1) * 1e6,
	       (children() - before) * 1e3);
}

int
main(int argc, char **argv)
{
	double want = argc > 1 ? atof(argv[1]) : 10, start, wall, cpu = 0, last,
	       longest = 0;
	double before, system;
	long minor;
	uint64_t sum = 0, written = 0, random = 4711, turns = 0;

	for (size_t i = 0; i < BLOCKS; i++) {
		char *b = malloc(BYTES);

		memset(b, (int)i, BYTES);
		memcpy(b, &lists[i % LISTS], sizeof b);
		lists[i % LISTS] = all[i] = b;
	}
	minor = faults();
	before = children();
	system = kernel();
	start = seconds(CLOCK_PROCESS_CPUTIME_ID);
	last = wall = seconds(CLOCK_MONOTONIC);
	while (cpu < want) {
		double now;

		for (int i = 0; i < 1024; i++) { /* most of a millisecond */
			const char *b;

			random = random * 6364136223846793005 + 1442695040888963407;
			b = all[(random >> 33) % BLOCKS];
			for (int k = 8; k < BYTES; k += 8)
				sum += (unsigned char)b[k];
		}
		now = seconds(CLOCK_MONOTONIC);
		if (now - last > longest)
			longest = now - last;
		last = now;
		while ((double)written < cpu * PAGES_PER_SECOND) {
			random = random * 6364136223846793005 + 1442695040888963407;
			all[(random >> 33) % BLOCKS][BYTES - 1]++;
			written++;
		}
		turns++;
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	printf("turns %llu cpu %.4f system %.4f children %.4f wall %.3f longest_ms %.2f "
	       "written_mb_s %.2f faults %ld sum %llu",
	       (unsigned long long)turns, cpu, kernel() - system, children() - before,
	       seconds(CLOCK_MONOTONIC) - wall, longest * 1e3,
	       (double)written * 4096 / 1e6 / (seconds(CLOCK_MONOTONIC) - wall),
	       faults() - minor, (unsigned long long)sum);
	copy_costs();
	return 0;
}
