/* SPDX-License-Identifier: MIT */
/* jem_reset.c -- 1,024 blocks of 1 MiB, one at a time; after the 513th profiles are written, before
 * and after a reset, and one at the end:
 *
 *	A  1 live, 513 allocated     B  nothing     C  0 live, 511 allocated
 *
 * The block that was live at the reset is freed after it, and that must not be noticed. */
/* cflags: -O1 -g */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int (*ctl)(const char *, void *, size_t *, void *, size_t);

static void
tell(const char *name)
{
	int error = ctl == NULL ? -1 : ctl(name, NULL, NULL, NULL, 0);

	if (error != 0)
		printf("%s: %d\n", name, error);
}

static void
use(void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

int
main(void)
{
	*(void **)&ctl = dlsym(RTLD_DEFAULT, "mallctl");
	for (unsigned i = 0; i < 1u << 10; i++) {
		void *p = malloc(1u << 20);

		if (i == 1u << 9) {
			tell("prof.dump");
			tell("prof.reset");
			tell("prof.dump");
		}
		use(p);
		free(p);
	}
	tell("prof.dump");
	return 0;
}
