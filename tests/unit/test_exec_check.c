/* SPDX-License-Identifier: MIT */
/* test_exec_check.c -- may the library be preloaded into this program? Asked of real
 * programs, of ones built or edited for the purpose, of scripts, and of damaged files.
 *
 * Files are made in a folder of its own under /tmp, which is removed at the end. What the
 * machine cannot build (32-bit, musl) is made by editing bytes of what it can. */
/* sources: src/guest/life/exec_check.c src/guest/lang/peek.c */
#include "t.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "guest/life/exec_check.h"

static char dir[] = "/tmp/seep-exec-check-XXXXXX";
static unsigned char program[1 << 20]; /* a dynamic program of this machine */
static size_t program_bytes;

static void
remove_dir(void)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	if (system(command) != 0)
		perror(command);
}

static const char *
path_of(const char *name)
{
	static char paths[4][512];
	static unsigned turn;
	static bool made; /* not told by the name: a random one may end in X too */
	char *path = paths[turn++ % 4];

	if (!made) {
		if (mkdtemp(dir) == NULL)
			abort();
		made = true;
		atexit(remove_dir);
	}
	snprintf(path, sizeof paths[0], "%s/%s", dir, name);
	return path;
}

static const char *
make_file(const char *name, const void *bytes, size_t n)
{
	const char *path = path_of(name);
	FILE *f = fopen(path, "w");

	if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		abort();
	chmod(path, 0755);
	return path;
}

/* The same without a file system, for the many. */
static const char *
in_memory(const void *bytes, size_t n)
{
	static char path[32];
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("seep-exec-check", MFD_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, bytes, n, 0) != (ssize_t)n)
		abort();
	return path;
}

static const char *
make_script(const char *name, const char *text)
{
	return make_file(name, text, strlen(text));
}

/* true(1), small and dynamic everywhere. */
static bool
load_program(void)
{
	FILE *f = fopen("/bin/true", "r");

	if (f == NULL)
		return false;
	program_bytes = fread(program, 1, sizeof program, f);
	fclose(f);
	return program_bytes > 1000 && program_bytes < sizeof program;
}

static Elf64_Phdr *
segment(unsigned char *image, uint32_t type)
{
	const Elf64_Ehdr *eh = (const void *)image;
	Elf64_Phdr *p = (void *)(image + eh->e_phoff);

	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (p[i].p_type == type)
			return &p[i];
	return NULL;
}

/* A compiler's result, or NULL when it cannot. */
static const char *
built(const char *name, const char *how)
{
	const char *path = path_of(name);
	char command[1024];

	snprintf(command, sizeof command,
		 "printf 'int main(void){return 0;} void _start(void){main();}' | "
		 "%s -x c - -o %s >/dev/null 2>&1",
		 how, path);
	return system(command) == 0 ? path : NULL;
}

/* The program with the loader `interp`; at the end of the file when it is too long for
 * its place. PT_INTERP covers it either way. */
static const char *
with_interp(const char *name, const char *interp)
{
	static unsigned char image[sizeof program + 1024];
	size_t n = strlen(interp) + 1, bytes = program_bytes;
	Elf64_Phdr *p;

	memcpy(image, program, program_bytes);
	p = segment(image, PT_INTERP);
	if (n > p->p_filesz) {
		p->p_offset = bytes;
		bytes += n;
	}
	memcpy(image + p->p_offset, interp, n);
	p->p_filesz = p->p_memsz = n;
	return make_file(name, image, bytes);
}

T_TEST(this_machines_programs)
{
	T_EQ(exec_check("/bin/true"), REC_UNSEEN_NONE);
	T_EQ(exec_check("/bin/sh"), REC_UNSEEN_NONE);
}

/* exec itself will say what is wrong. */
T_TEST(what_cannot_be_read)
{
	T_EQ(exec_check(path_of("nothing")), REC_UNSEEN_NONE);
	T_EQ(exec_check(""), REC_UNSEEN_NONE);
	T_EQ(exec_check("/tmp"), REC_UNSEEN_NONE);
	T_EQ(exec_check("/dev/null"), REC_UNSEEN_NONE);
	T_EQ(exec_check(make_file("empty", "", 0)), REC_UNSEEN_NONE);
	T_EQ(exec_check(make_script("text", "no program\n")), REC_UNSEEN_NONE);
}

static void
too_long(int sig)
{
	static const char text[] = "    waits for ever\n";

	(void)sig;
	if (write(STDOUT_FILENO, text, sizeof text - 1) < 0)
		_exit(2);
	_exit(1);
}

/* exec of a FIFO fails at once, so asking must not wait for somebody to write into it. */
T_TEST(fifo_is_not_waited_for)
{
	const char *path = path_of("fifo");

	if (mkfifo(path, 0755) != 0)
		T_SKIP("no FIFOs here");
	signal(SIGALRM, too_long);
	alarm(5);
	T_EQ(exec_check(path), REC_UNSEEN_NONE);
	alarm(0);
}

T_TEST(static_programs)
{
	const char *path = built("static", "cc -O1 -nostdlib -static");

	if (path == NULL)
		T_SKIP("cannot build a static program");
	T_EQ(exec_check(path), REC_UNSEEN_STATIC);
	path = built("static-pie", "cc -O1 -nostdlib -static-pie -fPIE");
	if (path != NULL)
		T_EQ(exec_check(path), REC_UNSEEN_STATIC);
}

T_TEST(other_machines)
{
	static unsigned char image[sizeof program];
	const char *path = built("wide", "cc -m32 -nostdlib -static");
	Elf64_Ehdr *eh = (void *)image;

	if (path != NULL)
		T_EQ(exec_check(path), REC_UNSEEN_MACHINE);
	T_CHECK(load_program());
	memcpy(image, program, program_bytes);
	eh->e_ident[EI_CLASS] = ELFCLASS32;
	T_EQ(exec_check(make_file("class32", image, program_bytes)), REC_UNSEEN_MACHINE);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	T_EQ(exec_check(make_file("as-it-was", image, program_bytes)), REC_UNSEEN_NONE);
	eh->e_machine = EM_PPC64;
	T_EQ(exec_check(make_file("ppc", image, program_bytes)), REC_UNSEEN_MACHINE);
}

T_TEST(other_loaders)
{
	char path[256], here[512];

	T_CHECK(load_program());
	T_EQ(exec_check(with_interp("musl", "/lib/ld-musl-x86_64.so.1")),
	     REC_UNSEEN_LOADER);
	T_EQ(exec_check(with_interp("own", "/lib/ld.so")), REC_UNSEEN_LOADER);
	T_EQ(exec_check(with_interp("none", "")), REC_UNSEEN_LOADER);
	T_EQ(exec_check(with_interp("glibc", "/lib64/ld-linux-x86-64.so.2")),
	     REC_UNSEEN_NONE);
	T_EQ(exec_check(with_interp("arm", "/lib/ld-linux-aarch64.so.1")),
	     REC_UNSEEN_NONE);
	for (size_t n = 20; n < 230; n += 7) {
		memset(path, 'd', sizeof path);
		path[0] = path[n] = '/';
		snprintf(path + n + 1, sizeof path - n - 1, "ld-linux-x.so.2");
		if (exec_check(with_interp("long", path)) != REC_UNSEEN_NONE)
			T_FAIL("refused with a loader's path of %zu bytes", strlen(path));
	}
	if (built("real-musl", "musl-gcc -O1 -D_start=unused") != NULL) {
		snprintf(here, sizeof here, "%s/real-musl", dir);
		T_EQ(exec_check(here), REC_UNSEEN_LOADER);
	}
}

T_TEST(programs_that_gain_rights)
{
	const char *path;
	struct statvfs fs;

	T_CHECK(load_program());
	path = make_file("setuid", program, program_bytes);
	if (chown(path, 12345, 12345) != 0 || statvfs(path, &fs) != 0 ||
	    (fs.f_flag & ST_NOSUID) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		T_SKIP("not root, or nobody can gain rights here");
	T_EQ(chmod(path, 0755), 0);
	T_EQ(exec_check(path), REC_UNSEEN_NONE);
	T_EQ(chmod(path, 04755), 0);
	T_EQ(exec_check(path), REC_UNSEEN_RIGHTS);
	T_EQ(chmod(path, 02755), 0);
	T_EQ(exec_check(path), REC_UNSEEN_RIGHTS);
	T_EQ(chmod(path, 02745), 0); /* no executable group: mandatory locking */
	T_EQ(exec_check(path), REC_UNSEEN_NONE);
}

T_TEST(sanitizers)
{
	static const struct {
		const char *name, *flag;
	} kinds[] = {{"asan", "address"}, {"tsan", "thread"}, {"lsan", "leak"}};
	char how[128];

	for (unsigned i = 0; i < 3; i++) {
		const char *path;

		snprintf(how, sizeof how, "gcc -O1 -D_start=unused -fsanitize=%s",
			 kinds[i].flag);
		path = built(kinds[i].name, how);
		if (path != NULL)
			T_EQ(exec_check(path), REC_UNSEEN_SANITIZER);
	}
	/* its checks are in the program; it may be preloaded into */
	if (built("ubsan", "gcc -O1 -D_start=unused -fsanitize=undefined") != NULL)
		T_EQ(exec_check(path_of("ubsan")), REC_UNSEEN_NONE);
}

T_TEST(scripts)
{
	char line[600], name[16];
	const char *end[2];

	T_CHECK(load_program());
	T_EQ(exec_check(make_script("sh", "#!/bin/sh\nexit 0\n")), REC_UNSEEN_NONE);
	T_EQ(exec_check(make_script("spaces", "#! \t /bin/sh -e\nexit 0\n")),
	     REC_UNSEEN_NONE);
	T_EQ(exec_check(make_script("bare", "#!\n")), REC_UNSEEN_NONE);
	T_EQ(exec_check(make_script("cut", "#!")), REC_UNSEEN_NONE);
	T_EQ(exec_check(make_script("gone", "#!/no/such/thing\n")), REC_UNSEEN_NONE);
	with_interp("musl", "/lib/ld-musl-x86_64.so.1");
	snprintf(line, sizeof line, "#!%s/musl -x\n", dir);
	T_EQ(exec_check(make_script("by-musl", line)), REC_UNSEEN_LOADER);
	snprintf(line, sizeof line, "#!   %s/musl", dir); /* no end of line */
	T_EQ(exec_check(make_script("by-musl", line)), REC_UNSEEN_LOADER);
	/* the kernel follows five */
	end[0] = "musl";
	end[1] = "good";
	with_interp("good", "/lib64/ld-linux-x86-64.so.2");
	for (unsigned way = 0; way < 2; way++) {
		for (unsigned level = 1; level <= 5; level++) {
			if (level == 1)
				snprintf(line, sizeof line, "#!%s/%s\n", dir, end[way]);
			else
				snprintf(line, sizeof line, "#!%s/level%u\n", dir,
					 level - 1);
			snprintf(name, sizeof name, "level%u", level);
			if (exec_check(make_script(name, line)) !=
			    (way == 0 ? REC_UNSEEN_LOADER : REC_UNSEEN_NONE))
				T_FAIL("%u scripts before %s", level, end[way]);
		}
	}
	/* one that is its own interpreter comes to an end */
	snprintf(line, sizeof line, "#!%s/loop\n", dir);
	T_EQ(exec_check(make_script("loop", line)), REC_UNSEEN_NONE);
	/* longer than the kernel reads */
	memset(line, 'x', sizeof line);
	memcpy(line, "#!/", 3);
	line[sizeof line - 1] = '\0';
	T_EQ(exec_check(make_script("long", line)), REC_UNSEEN_NONE);
}

/* Cut anywhere: no crash, and never taken for one that refuses or is static, unless its
 * headers are all there. */
T_TEST(cut_at_every_length)
{
	const Elf64_Ehdr *eh = (const void *)program;
	size_t headers;
	unsigned wrong = 0;

	T_CHECK(load_program());
	headers = eh->e_phoff + eh->e_phnum * sizeof(Elf64_Phdr);
	T_CHECK(headers > 512);
	for (size_t n = 0; n < 512; n++) {
		enum rec_unseen_why fit = exec_check(in_memory(program, n));

		if (fit != REC_UNSEEN_NONE && wrong++ == 0)
			T_FAIL("cut to %zu bytes: %d", n, fit);
	}
	T_EQ(wrong, 0);
	for (size_t n = 512; n < program_bytes; n += 509)
		exec_check(in_memory(program, n));
}

/* A byte of the headers or of the dynamic section is another: an answer, whatever it
 * is. */
T_TEST(damaged)
{
	static unsigned char image[sizeof program];
	uint64_t x = 12345678910111213;
	unsigned answers[REC_UNSEEN_WHYS] = {0}, all = 0;
	const Elf64_Phdr *dynamic;

	T_CHECK(load_program());
	dynamic = segment(program, PT_DYNAMIC);
	T_CHECK(dynamic != NULL);
	for (unsigned i = 0; i < 3000; i++) {
		memcpy(image, program, program_bytes);
		for (unsigned k = 0; k < 1 + i % 4; k++) {
			size_t at;

			x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
			at = (x >> 60) % 2 == 0
				     ? 16 + (x >> 33) % 800
				     : dynamic->p_offset + (x >> 33) % dynamic->p_filesz;
			image[at] = (unsigned char)(x >> 24);
		}
		answers[exec_check(in_memory(image, program_bytes))]++;
	}
	for (unsigned i = 0; i < REC_UNSEEN_WHYS; i++)
		all += answers[i];
	T_EQ(all, 3000);
	T_CHECK(answers[REC_UNSEEN_NONE] > 300);
}

/* Not one descriptor more than before. */
T_TEST(descriptors_are_closed)
{
	int before = open("/dev/null", O_RDONLY), after;

	close(before);
	for (unsigned i = 0; i < 50; i++) {
		exec_check("/bin/true");
		exec_check(path_of("loop"));
		exec_check(path_of("sh"));
	}
	after = open("/dev/null", O_RDONLY);
	close(after);
	T_EQ(after, before);
}

T_MAIN()
