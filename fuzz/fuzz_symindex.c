/* SPDX-License-Identifier: MIT */
/* fuzz_symindex.c -- indexes of binaries out of the cache: whatever is in the file,
 * answers come from inside of it.
 *
 * The input is put into a cache folder under the build-id it claims, and a binary of that
 * id that is gone is asked about: so every answer has to come from the file. Once as it
 * is, and once with the checksums put right, because what is behind them has to stand on
 * its own. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz.h"
#include "tool/sym/sym.h"
#include "tool/sym/sym_index.h"
#include "tool/util/buf.h"

static char folder[64];

static void
clean_up(void)
{
	rmdir(folder);
}

/* Puts the input where the cache would have it; the path, to be unlinked. */
static bool
place(const uint8_t *data, size_t bytes, const struct sym_index_head *head,
      char *ret_path, size_t room)
{
	size_t n;
	bool ok;
	int fd;

	if (folder[0] == '\0') {
		snprintf(folder, sizeof folder, "/tmp/seep-fuzz.XXXXXX");
		if (mkdtemp(folder) == NULL)
			abort();
		atexit(clean_up);
	}
	n = (size_t)snprintf(ret_path, room, "%s/", folder);
	for (uint32_t i = 0; i < head->build_id_bytes; i++)
		n += (size_t)snprintf(ret_path + n, room - n, "%02x", head->build_id[i]);
	snprintf(ret_path + n, room - n, ".idx");
	fd = open(ret_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	ok = fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes;
	if (fd >= 0)
		close(fd);
	return ok;
}

static void
ask(struct sym *s, uint64_t vaddr)
{
	struct sym_frame f[8];
	unsigned n = sym_find(s, vaddr, f, 8);
	size_t read = 0;

	if (n > 8)
		abort();
	for (unsigned i = 0; i < n; i++)
		read += strlen(f[i].linkage) + strlen(f[i].short_name) +
			strlen(f[i].file);
	if (read > (size_t)1 << 24)
		abort();
}

static void
load(const uint8_t *data, size_t bytes)
{
	struct sym_opts o = {.cache_dir = folder, .debug_dirs = "/nonexistent"};
	struct sym_index_head head;
	struct sym *s;
	char path[256];

	if (bytes < sizeof head)
		return;
	memcpy(&head, data, sizeof head);
	if (head.build_id_bytes == 0 || head.build_id_bytes > SYM_BUILD_ID_MAX ||
	    !place(data, bytes, &head, path, sizeof path))
		return;
	o.cache_dir = folder;
	s = sym_open("/nonexistent/binary", head.build_id, head.build_id_bytes, &o, NULL);
	for (uint64_t i = 0; s != NULL && i < 512; i += 3)
		ask(s, s->base + i);
	if (s != NULL) {
		ask(s, s->base - 1);
		ask(s, s->base + UINT32_MAX);
		ask(s, UINT64_MAX);
		sym_reason(s);
	}
	sym_close(s);
	unlink(path);
}

/* Puts magic, version, size and checksums right, as far as the tables can be followed. */
static void
reseal(uint8_t *data, size_t bytes)
{
	struct sym_index_head head;
	struct sym_index_entry e;
	uint64_t entries, end;

	if (bytes < sizeof head)
		return;
	memcpy(&head, data, sizeof head);
	memcpy(head.magic, SYM_INDEX_MAGIC, sizeof head.magic);
	head.version = SYM_INDEX_VERSION;
	head.bytes = bytes;
	head.crc = 0;
	memcpy(data, &head, sizeof head);
	entries = sizeof head + (uint64_t)head.ncode * sizeof(struct sym_index_code);
	end = entries + ((uint64_t)head.nunits + 1) * sizeof e +
	      (uint64_t)head.nspans * sizeof(struct sym_span) +
	      (uint64_t)head.nblind * sizeof(uint32_t);
	if (end > bytes)
		return;
	for (uint64_t i = 0; i <= head.nunits; i++) {
		memcpy(&e, data + entries + i * sizeof e, sizeof e);
		if (e.off <= bytes && e.bytes <= bytes - e.off)
			e.crc = (uint32_t)crc32_z(0, data + e.off, e.bytes);
		memcpy(data + entries + i * sizeof e, &e, sizeof e);
	}
	head.crc = (uint32_t)crc32_z(0, data, end);
	memcpy(data, &head, sizeof head);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	load(data, bytes);
	memcpy(copy, data, bytes);
	reseal(copy, bytes);
	load(copy, bytes);
	free(copy);
	return 0;
}

/* Two units with lines and inlined calls, one that was not asked about, and symbols. */
size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	static const struct sym_row rows[] = {
		{0, 1, 10}, {16, 2, 20}, {64, 1, 11}, {96, 0, 0}};
	static const struct sym_span spans[] = {
		{0, 0}, {16, 2}, {32, 1}, {48, 0}, {96, SYM_NONE}};
	static const struct sym_node nodes[] = {
		{SYM_NONE, 3, 0, 0, 0}, {0, 4, 1, 12, 16}, {1, 5, 2, 21, 16}};
	static const struct sym_symbol symbols[] = {
		{0, 96, 3}, {96, 200, 6}, {200, 300, 7}};
	struct sym_range code = {0x1000, 0x2000, 0};
	struct sym_span units[] = {{0, 0}, {128, 1}, {256, 2}, {400, SYM_NONE}};
	uint32_t blind[] = {2};
	struct sym_unit all[3] = {0};
	struct sym s = {.build_id = "\1\2\3\4\5\6\7", .build_id_len = 7, .base = 0x1000};
	struct buf out = {0};
	size_t bytes = 0;

	strtab_add(&s.strings, "/src/a.cc");
	strtab_add(&s.strings, "/src/b.h");
	strtab_add(&s.strings, "_ZN2ns3putIiEEvRKT_");
	strtab_add(&s.strings, "_ZN4core3fmt5write17h0123456789abcdefE");
	strtab_add(&s.strings, "ns::outer::<lambda:22>::operator()");
	strtab_add(&s.strings, "main");
	strtab_add(&s.strings, "_RNvNtCs1234_7mycrate3foo3bar");
	s.code.data = &code;
	s.code.len = 1;
	s.units.all.data = all;
	s.units.all.len = 3;
	s.units.spans.data = units;
	s.units.spans.len = 4;
	s.units.blind.data = blind;
	s.units.blind.len = n == 1;
	s.symbols.symbols = symbols;
	s.symbols.nsymbols = n == 0 ? 0 : 3;
	s.symbols_loaded = n > 0;
	for (unsigned i = 0; i < 2; i++) {
		all[i].loaded = n > 0;
		all[i].part = (struct sym_part){.rows = rows,
						.spans = spans,
						.nodes = nodes,
						.nrows = 4,
						.nspans = 5,
						.nnodes = 3};
	}
	if (n < 3 && sym_index_write(&s, NULL, room, &out) == 0) {
		memcpy(to, out.data, out.len);
		bytes = out.len;
	}
	buf_done(&out);
	strtab_done(&s.strings);
	return bytes;
}
