/* SPDX-License-Identifier: MIT */
/* folder_fixture.h -- a folder of a test's own, and files and programs in it. */
#ifndef SEEP_FOLDER_FIXTURE_H
#define SEEP_FOLDER_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"

static char folder[64]; /* "" until it is made */

static MAYBE_UNUSED void
make_folder(void)
{
	if (folder[0] != '\0')
		return;
	snprintf(folder, sizeof folder, "/tmp/seep-test-target-XXXXXX");
	if (mkdtemp(folder) == NULL)
		abort();
}

static MAYBE_UNUSED const char *
in_folder(const char *name)
{
	static char path[4][256];
	static unsigned turn;

	make_folder();
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
	return path[turn];
}

static MAYBE_UNUSED const char *
write_program(const char *name, const void *data, size_t bytes, mode_t mode)
{
	const char *path = in_folder(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes || fchmod(fd, mode) < 0)
		abort();
	close(fd);
	return path;
}

#endif
