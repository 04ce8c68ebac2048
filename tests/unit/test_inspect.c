/* SPDX-License-Identifier: MIT */
/* test_inspect.c -- looking at programs before they are started. Programs to be refused
 * are made here: by the compiler where it can, by hand where it cannot. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folder_fixture.h"
#include "t.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/run/held.h"
#include "tool/util/buf.h"
#include "tool/util/x.h"

static const char *
script(const char *name, const char *text)
{
	return write_program(name, text, strlen(text), 0755);
}

/* Compiles; false when the compiler cannot do that here. */
static bool
compile(const char *name, const char *flags, const char *text)
{
	const char *source = write_program("p.c", text, strlen(text), 0600);
	char *command = xasprintf("cc -w -o %s %s %s >/dev/null 2>&1", in_folder(name),
				  source, flags);
	bool done = system(command) == 0;

	free(command);
	return done;
}

struct seen {
	int r, status;
	uint32_t traits;
	char msg[512], binary[256];
	bool by_shell, inject;
};

static struct seen
look(const char *name)
{
	struct inspect in;
	struct err e = {0};
	struct seen s = {.r = inspect_program(name, &in, &e)};

	s.status = in.exit_status;
	s.traits = in.elf.traits;
	s.by_shell = in.by_shell;
	s.inject = in.inject;
	snprintf(s.msg, sizeof s.msg, "%s", e.msg);
	snprintf(s.binary, sizeof s.binary, "%s", in.binary != NULL ? in.binary : "");
	inspect_done(&in);
	return s;
}

/* Everything a 64-bit dynamic program needs to be believed, and nothing else. */
struct tiny {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[2];
	char interp[32];
};

static struct tiny
tiny_elf(const char *interp)
{
	struct tiny t = {0};

	memcpy(t.eh.e_ident, ELFMAG, SELFMAG);
	t.eh.e_ident[EI_CLASS] = ELFCLASS64;
	t.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	t.eh.e_type = ET_DYN;
#if defined(__aarch64__)
	t.eh.e_machine = EM_AARCH64;
#else
	t.eh.e_machine = EM_X86_64;
#endif
	t.eh.e_phoff = sizeof t.eh;
	t.eh.e_phentsize = sizeof t.ph[0];
	t.eh.e_phnum = 2;
	t.ph[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_filesz = sizeof t};
	t.ph[1] = (Elf64_Phdr){.p_type = PT_INTERP,
			       .p_offset = offsetof(struct tiny, interp),
			       .p_filesz = strlen(interp) + 1};
	snprintf(t.interp, sizeof t.interp, "%s", interp);
	return t;
}

/* ---- inspect ---- */

T_TEST(inspect_finds_programs_as_exec_does)
{
	T_EQ(look("/bin/sh").r, 0);
	T_EQ(look("sh").r, 0);
	T_EQ(look("no-such-program-4711").status, 127);
	T_STR(look("no-such-program-4711").msg,
	      "no-such-program-4711: not found in PATH");
	T_EQ(look("./no/such/program").status, 127);
	T_EQ(look("/tmp").status, 126);
	T_EQ(look("").status, 127);
	write_program("noexec", "#!/bin/sh\n", 10, 0644);
	T_EQ(look(in_folder("noexec")).status, 126);
}

T_TEST(inspect_path_order_and_empty_elements)
{
	const char *old = getenv("PATH");
	char *saved = xstrdup(old != NULL ? old : "");
	char *cwd = getcwd(NULL, 0);
	char *path;

	script("here-only", "#!/bin/sh\nexit 0\n");
	path = xasprintf("/no/such:%s::/bin", "/also/not");
	setenv("PATH", path, 1);
	T_EQ(look("here-only").status, 127);
	T_EQ(chdir(folder), 0);
	T_EQ(look("here-only").r, 0); /* the empty element is the current folder */
	T_EQ(chdir(cwd), 0);
	setenv("PATH", saved, 1);
	free(path);
	free(cwd);
	free(saved);
}

T_TEST(inspect_follows_scripts)
{
	struct seen s;

	s = look(script("one", "#!/bin/sh -e\nexit 0\n"));
	T_EQ(s.r, 0);
	T_STR(s.binary, "/bin/sh");
	char *two = xasprintf("#! %s\n", in_folder("one"));
	s = look(script("two", two));
	T_EQ(s.r, 0);
	T_STR(s.binary, "/bin/sh");
	s = look(script("viaenv", "#!/usr/bin/env -S LANG=C sh\n"));
	T_EQ(s.r, 0);
	T_CHECK(strstr(s.binary, "/sh") != NULL);
	s = look(script("plain", "exit 3\n"));
	T_EQ(s.r, 0);
	T_CHECK(s.by_shell);
	T_EQ(look(script("bare", "#!\n")).status, 126);
	T_EQ(look(script("gone", "#!/no/such/interpreter\n")).status, 126);
	char *self = xasprintf("#!%s\n", in_folder("loop"));
	s = look(script("loop", self));
	T_EQ(s.status, 126);
	T_CHECK(strstr(s.msg, "too many levels") != NULL);
	T_EQ(look(write_program("zeros", "\0\0\0\0\0", 5, 0755)).status, 126);
	free(two);
	free(self);
}

/* The recorder is put into them, where that is known how to do; else they are refused. */
T_TEST(inspect_static_programs)
{
	struct seen s;
	char *text;

	if (!compile("static", "-static", "int main(void) { return 0; }"))
		T_SKIP("no static libc");
	s = look(in_folder("static"));
	T_CHECK((s.traits & INSPECT_STATIC) != 0);
	T_EQ(s.inject, held_possible());
	T_EQ(s.status, held_possible() ? 0 : 3);
	T_CHECK(held_possible() ||
		strstr(s.msg,
		       "/static: statically linked, so its malloc cannot be wrapped") !=
			NULL);
	if (compile("static-pie", "-static-pie -fPIE", "int main(void) { return 0; }"))
		T_EQ(look(in_folder("static-pie")).inject, held_possible());
	text = xasprintf("#!%s\n", in_folder("static"));
	s = look(script("static-script", text));
	T_EQ(s.inject, held_possible());
	free(text);
	if (compile("je", "",
		    "void *je_malloc(long n) { return (void *)n; } int main(void) { return 0; }"))
		T_EQ(look(in_folder("je")).inject, held_possible());
	if (compile("plain", "", "int main(void) { return 0; }"))
		T_EQ(look(in_folder("plain")).inject, false);
}

T_TEST(inspect_refuses_other_classes_and_machines)
{
	struct tiny t = tiny_elf("/bin/sh");

	T_EQ(look(write_program("tiny", &t, sizeof t, 0755)).r, 0);
	t.eh.e_machine = EM_S390;
	T_EQ(look(write_program("s390", &t, sizeof t, 0755)).traits,
	     INSPECT_OTHER_MACHINE);
	t = tiny_elf("/bin/sh");
	t.eh.e_ident[EI_CLASS] = ELFCLASS32;
	T_EQ(look(write_program("class32", &t, sizeof t, 0755)).traits, INSPECT_CLASS32);
	T_EQ(look(in_folder("class32")).status, 3);
	t = tiny_elf("/bin/sh");
	t.eh.e_ident[EI_DATA] = ELFDATA2MSB;
	T_EQ(look(write_program("big", &t, sizeof t, 0755)).status, 3);
	t = tiny_elf("/bin/sh");
	t.eh.e_type = ET_REL;
	T_EQ(look(write_program("object", &t, sizeof t, 0755)).status, 126);
	t = tiny_elf("/lib/ld-musl-x86_64.so.1");
	T_EQ(look(write_program("musl", &t, sizeof t, 0755)).traits, INSPECT_MUSL);
	t = tiny_elf("/no/such/loader");
	T_EQ(look(write_program("noloader", &t, sizeof t, 0755)).status, 127);
	if (compile("m32", "-m32 -nostdlib -static", "void _start(void) { for (;;) ; }"))
		T_EQ(look(in_folder("m32")).traits, INSPECT_CLASS32);
}

T_TEST(inspect_refuses_setuid_of_others)
{
	struct tiny t = tiny_elf("/bin/sh");
	const char *path = write_program("suid", &t, sizeof t, 0755);

	if (geteuid() != 0 || chown(path, 65534, 65534) < 0)
		T_SKIP("only root can make a file of another user");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		T_SKIP("setuid has no effect here");
	T_EQ(look(path).r, 0);
	T_EQ(chmod(path, 04755), 0);
	T_EQ(look(path).status, 3);
	T_CHECK(strstr(look(path).msg, "setuid") != NULL);
	T_EQ(chmod(path, 02755), 0);
	T_EQ(look(path).status, 3);
	T_EQ(chmod(path, 02745), 0); /* without g+x it is mandatory locking of old */
	T_EQ(look(path).r, 0);
	T_EQ(chown(path, 0, 0), 0);
	T_EQ(chmod(path, 06755), 0); /* gives us nothing that we have not */
	T_EQ(look(path).r, 0);
}

T_TEST(inspect_sees_sanitizers_and_mallocs_inside)
{
	if (!compile("plain-c", "", "int main(void) { return 0; }"))
		T_SKIP("no compiler");
	T_EQ(look(in_folder("plain-c")).traits, 0);
	if (compile("asan", "-fsanitize=address", "int main(void) { return 0; }"))
		T_EQ(look(in_folder("asan")).status, 3);
	/* Importing malloc is what everyone does; defining it is another matter. */
	T_CHECK(compile(
		"uses", "-O0",
		"#include <stdlib.h>\nint main(void) { return malloc(7) == 0; }"));
	T_EQ(look(in_folder("uses")).traits, 0);
	T_CHECK(compile("own", "-rdynamic",
			"#include <stddef.h>\nvoid *malloc(size_t n) { return 0; }\n"
			"int main(void) { return 0; }"));
	T_EQ(look(in_folder("own")).traits, INSPECT_OWN_MALLOC);
	T_CHECK(compile(
		"rjem", "",
		"#include <stddef.h>\nvoid *_rjem_malloc(size_t n) { return 0; }\n"
		"int main(void) { return _rjem_malloc(1) != 0; }"));
	T_EQ(look(in_folder("rjem")).traits, INSPECT_JEMALLOC);
	T_EQ(look(in_folder("rjem")).r, 0);
	T_CHECK(compile(
		"near", "",
		"int my_malloc_count; int main(void) { return my_malloc_count; }"));
	T_EQ(look(in_folder("near")).traits, 0);
}

T_TEST(inspect_survives_every_truncation)
{
	struct buf b = {0};
	char *path;
	unsigned refused = 0;

	if (!compile("whole", "-g", "int main(void) { return 0; }"))
		T_SKIP("no compiler");
	path = xstrdup(in_folder("cut"));
	T_EQ(buf_read_file(&b, in_folder("whole"), NULL), 0);
	T_CHECK(b.len > 8192);
	for (size_t n = 0; n < 4096; n++) {
		struct inspect_elf elf;
		struct err e = {0};

		write_program("cut", b.data, n, 0755);
		if (inspect_elf(path, &elf, &e) == -ENOEXEC && e.msg[0] != '\0')
			refused++;
	}
	T_EQ(refused, 4096); /* its segments reach further than that */
	free(path);
	buf_done(&b);
}

T_TEST(inspect_survives_flipped_bytes)
{
	struct buf b = {0};
	char *path;
	unsigned done = 0;

	if (!compile("whole", "-g", "int main(void) { return 0; }"))
		T_SKIP("no compiler");
	path = xstrdup(in_folder("flip"));
	T_EQ(buf_read_file(&b, in_folder("whole"), NULL), 0);
	for (size_t i = 0; i < 2000; i++) {
		/* Headers first, then the section headers at the end. */
		size_t at = i < 1200 ? i : b.len - 1 - (i - 1200) * 2;
		struct inspect_elf elf;
		char was = b.data[at];

		b.data[at] = (char)(i % 3 == 0 ? 0xff : i % 3 == 1 ? 0x7f : was ^ 0x10);
		write_program("flip", b.data, b.len, 0755);
		inspect_elf(path, &elf, NULL);
		b.data[at] = was;
		done++;
	}
	T_EQ(done, 2000);
	free(path);
	buf_done(&b);
}

#define TRAIT(r) (1u << (INSPECT_RUNTIMES + RUNTIME_##r))

T_TEST(inspect_coverage_says_where_memory_hides)
{
	T_CHECK(inspect_coverage(0) == NULL);
	T_CHECK(strstr(inspect_coverage(INSPECT_GO), "Go keeps") != NULL);
	unsetenv("PYTHONMALLOC");
	T_CHECK(strstr(inspect_coverage(TRAIT(PYTHON)), "pymalloc") != NULL);
	setenv("PYTHONMALLOC", "malloc", 1);
	T_CHECK(inspect_coverage(TRAIT(PYTHON)) == NULL);
	unsetenv("PYTHONMALLOC");
	T_EQ(inspect_module_traits("/usr/lib/libpython3.11.so.1.0"), TRAIT(PYTHON));
	T_EQ(inspect_module_traits("/x/libjvm.so"), TRAIT(JVM));
	T_EQ(inspect_module_traits("/x/libc.so.6"), 0);
}

T_TEST(clean_up)
{
	char *command = xasprintf("rm -rf %s", folder);

	if (folder[0] != '\0')
		T_EQ(system(command), 0);
	free(command);
}

T_MAIN()
