/* SPDX-License-Identifier: MIT */
/* attach_harm.c -- what a careless attacher would break, one way each: the program says at its end, or at
 * once, whether it was.
 *
 *	attach_harm WAY [FILE]
 *
 * It says "ready", goes on until SIGTERM, and leaves with 0 and "fine", or with 91 and what happened. */
/* cflags: -O2 -g -pthread */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t stop, told;

static void
on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void
on_usr1(int sig)
{
	(void)sig;
	told = 1;
}

static void
broken(const char *what)
{
	printf("broken: %s\n", what);
	fflush(stdout);
	_exit(91);
}

static void
ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void
allocate(void)
{
	void *volatile p = malloc(1000);

	free(p);
}

static void
go_on(void)
{
	ready();
	while (!stop) {
		allocate();
		usleep(2000);
	}
}

/* ---- its stack is small: what lies below the stack pointer is somebody else's ---- */

static unsigned char area[65536] __attribute__((aligned(4096)));

static void
calls_on(unsigned char *sp, long n)
{
	__asm__ volatile("mov %%rsp, %%r12\n"
			 "mov %0, %%rsp\n"
			 "mov %1, %%rbx\n"
			 "1: mov $39, %%eax\n" /* getpid: nothing is written below */
			 "syscall\n"
			 "dec %%rbx\n"
			 "jnz 1b\n"
			 "mov %%r12, %%rsp\n"
			 :
			 : "r"(sp), "r"(n)
			 : "rax", "rcx", "r11", "rbx", "r12", "memory");
}

static void
way_below(void)
{
	enum { RED_ZONE = 128, HALF = sizeof area / 2 };

	allocate();
	memset(area, 0xaa, sizeof area);
	ready();
	while (!stop) {
		calls_on(area + HALF, 20000);
		for (int i = 0; i < HALF - RED_ZONE; i++) {
			if (area[i] != 0xaa)
				broken("written below the stack pointer");
		}
	}
}

/* ---- its data is limited, and it needs what it may have ---- */

static void
way_data(void)
{
	struct rlimit r = {200 << 20, 200 << 20};

	setrlimit(RLIMIT_DATA, &r);
	ready();
	while (!stop) {
		void *volatile p = malloc(150 << 20);

		if (p == NULL)
			broken("no memory left to it");
		free(p);
		usleep(2000);
	}
}

/* ---- a thread other than the first is under a seccomp filter ---- */

#define ALLOW(nr)                                                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),                                   \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void *
confined(void *arg)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_clock_nanosleep),
		ALLOW(SYS_mprotect),
		ALLOW(SYS_madvise),
		ALLOW(SYS_brk),
		ALLOW(SYS_futex),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};

	allocate(); /* its arena, while it may still ask for one */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		broken("no filter");
	while (!stop) {
		allocate();
		usleep(2000);
	}
	return arg;
}

static void
way_seccomp(void)
{
	pthread_t t;

	pthread_create(&t, NULL, confined, NULL);
	usleep(20000);
	go_on();
	pthread_join(t, NULL);
}

/* ---- 32-bit code in a 64-bit process ---- */

static void
way_code32(void)
{
	static const struct {
		uint32_t ip;
		uint16_t cs;
	} __attribute__((packed)) far = {0x10000000, 0x23};
	/* mov $100000000, %ecx; 1: dec %ecx; jnz 1b; ljmp $0x33, $0x10000100 */
	static const unsigned char code[] = {0xb9, 0x00, 0xe1, 0xf5, 0x05,
					     0x49, 0x75, 0xfd, 0xea, 0x00,
					     0x01, 0x00, 0x10, 0x33, 0x00};
	unsigned char *m =
		mmap((void *)0x10000000, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (m == MAP_FAILED)
		broken("no memory below 4 GiB");
	memcpy(m, code, sizeof code);
	m[0x100] = 0xc3; /* back in 64 bits: ret */
	allocate();
	ready();
	while (!stop)
		__asm__ volatile("mov %%rsp, %%r12\n"
				 "mov %1, %%rsp\n"
				 "call 1f\n"
				 "jmp 2f\n"
				 "1: ljmpl *(%0)\n"
				 "2: mov %%r12, %%rsp\n"
				 :
				 : "r"(&far), "r"((uint64_t)0x10001f00)
				 : "rcx", "r12", "memory");
}

/* ---- it becomes another program ---- */

static void
way_exec(char **argv, int generation)
{
	char next[] = {(char)('1' + generation), '\0'};
	sigset_t term;

	/* One that comes early waits for the last of them. */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(generation < 3 ? SIG_BLOCK : SIG_UNBLOCK, &term, NULL);
	if (generation < 3) {
		if (generation == 0)
			ready();
		for (int i = 0; i < 100; i++) {
			allocate();
			usleep(2000);
		}
		execl("/proc/self/exe", argv[0], argv[1], next, NULL);
		broken("no exec");
	}
	while (!stop) {
		allocate();
		usleep(2000);
	}
}

/* ---- a table of functions, of which it has made its own ---- */

static char pool[256];

static void *
own_malloc(size_t n)
{
	(void)n;
	return pool;
}

static void
own_free(void *p)
{
	if (p != pool)
		broken("its own free was given another's block");
}

struct ops {
	void *(*malloc)(size_t);
	void (*free)(void *);
};
struct ops ops = {malloc, free};

static void
way_own(void)
{
	volatile struct ops *o = &ops;

	o->free(o->malloc(8));
	o->malloc = own_malloc;
	o->free = own_free;
	ready();
	while (!stop) {
		void *p = o->malloc(32);

		if (p != pool)
			broken("its own malloc was replaced");
		o->free(p);
		allocate();
		usleep(2000);
	}
}

/* ---- it waits in a call that a stop would end with EINTR ---- */

static void
way_recv(void)
{
	struct timeval limit = {60, 0};
	int s[2];
	char byte;

	socketpair(AF_UNIX, SOCK_STREAM, 0, s);
	setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	allocate();
	ready();
	while (!stop) {
		if (recv(s[0], &byte, 1, 0) < 0 && errno == EINTR && !stop)
			broken("recv was interrupted");
	}
}

/* ---- it maps memory where ours was ---- */

static void
way_mapped(void)
{
	enum { MAPS = 2000, BYTES = 64 << 10 };
	static char *map[MAPS];
	int n = 0;

	ready();
	while (!stop) {
		allocate();
		usleep(2000);
		for (; told && n < MAPS; n++) {
			map[n] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(map[n], 7, BYTES);
			if (n == MAPS - 1) {
				puts("mapped");
				fflush(stdout);
			}
		}
		for (int i = 0; i < n; i++) {
			if (map[i][4096] != 7)
				broken("its memory is gone");
		}
	}
}

/* ---- unprivileged, it puts a file of root's in the place of each new descriptor ---- */

static int victim;

static int
swapper(void *arg)
{
	(void)arg;
	for (;;) {
		if (fcntl(victim + 1, F_GETFD) >= 0)
			dup2(victim, victim + 1);
	}
	return 0;
}

static void
way_swap(const char *file)
{
	static char stack[65536];
	int child;

	victim = open(file, O_RDONLY);
	if (victim < 0 || setgid(65534) != 0 || setuid(65534) != 0)
		broken("cannot become nobody");
	child = clone(swapper, stack + sizeof stack, CLONE_FILES | SIGCHLD, NULL);
	go_on();
	kill(child, SIGKILL);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} ways[] = {
		{"below", way_below},	{"data", way_data}, {"seccomp", way_seccomp},
		{"code32", way_code32}, {"own", way_own},   {"recv", way_recv},
		{"mapped", way_mapped},
	};
	const char *way = argc > 1 ? argv[1] : "";
	static char other[65536];
	stack_t alternate = {.ss_sp = other, .ss_size = sizeof other};
	struct sigaction act = {.sa_handler = on_term, .sa_flags = SA_ONSTACK};

	sigaltstack(&alternate, NULL); /* so that signals write nothing below sp either */
	sigaction(SIGTERM, &act, NULL); /* not restarted: recv shall see it */
	signal(SIGUSR1, on_usr1);
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		if (strcmp(way, ways[i].name) == 0)
			ways[i].go();
	}
	if (strcmp(way, "exec") == 0)
		way_exec(argv, argc > 2 ? argv[2][0] - '0' : 0);
	if (strcmp(way, "swap") == 0)
		way_swap(argv[2]);
	puts("fine");
	return 0;
}
