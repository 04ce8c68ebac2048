/* SPDX-License-Identifier: MIT */
/* fuzz_heaptrack.c -- the reader of heaptrack's data files under arbitrary bytes, plain
 * or packed, from a file as it is read line by line and from memory.
 *
 * Whatever is accepted must be sound; a plain text says the same both ways. What sites
 * have must add up to what the process has, as long as no sum saturates. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_check.h"
#include "tool/format/format.h"
#include "tool/format/heaptrack/ht.h"
#include "tool/util/err.h"

static const char *const seeds[] = {
	"v 10400 3\nX ./prog a\nI 1000 5e298d\ns 9 /bin/prog\ns 4 main\ns 3 a.c\ns 1c operator "
	"new(unsigned long)\ns 3 inl\ni 401000 1 2 3 7\ni 7f01 1 4\ni 402000 1 5 3 8 2 3 9\n"
	"t 1 0\nt 2 1\nt 3 1\na 10 2\na 3f5 3\n+ 0\n+ 1\nc a\nR 3c7\n+ 1\n- 1\n- 0\nc 14\n"
	"# strings: 5\n",
	"v 10200 2\nX ./x y z\ns /a b\ns f\ni 10 1 2\nt 1 0\na 8 1\n+ 0\nA\nS leak:x\n- 0\n- 0\n",
	"v 10200\nX x\ni 10 0\nt 1 0\na ffffffffffffffff 1\na 7fffffffffffffff 1\n+ 1\n+ 1\n+ 1\n- 1\n",
	"v 10400 3\nx 9 /bin/prog\nX prog\nt 1 0\n+ 10 1 55d0\n",
	"v 10400 3\nX x\ns 5 ab\ni 1 9\nt 7 7\na 10 9\n+ 5\n- 0\nc ffffffffffffffff\n?\ns",
};

static struct prof *
from_file(const uint8_t *data, size_t bytes)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct prof *p = NULL;

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	if (format_load_fd(fd, "x", &p, NULL) < 0)
		p = NULL;
	close(fd);
	return p;
}

static void
check(const struct prof *p)
{
	fuzz_check_ids(p);
	for (uint32_t i = 0; i < p->npoints; i++)
		FUZZ_CHECK(p->points[i].process < p->nprocesses);
	fuzz_check_pack(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct prof *file = from_file(data, bytes), *memory = NULL;

	if (file != NULL && file->nprocesses == 2 && file->format != 0)
		check(file);
	if (ht_detect(data, bytes < FORMAT_HEAD_BYTES ? bytes : FORMAT_HEAD_BYTES)) {
		struct buf a = {0}, b = {0};
		int r = format_load_bytes(data, bytes, "x", NULL, &memory, NULL);

		FUZZ_CHECK((r == 0) == (file != NULL));
		if (r == 0) {
			pack_write(file, &a);
			pack_write(memory, &b);
			FUZZ_CHECK(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
		}
		buf_done(&a);
		buf_done(&b);
	}
	prof_free(file);
	prof_free(memory);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	return n < ARRAY_LEN(seeds) ? fuzz_text_seed(seeds[n], to, room) : 0;
}
