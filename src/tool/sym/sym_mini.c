/* SPDX-License-Identifier: MIT */
/* sym_mini.c -- MiniDebugInfo: an xz-packed ELF file with the local symbols, in
 * .gnu_debugdata.
 *
 * Some distributions ship every stripped binary with one. liblzma is loaded when such a
 * section is met (libdw brings it along on most systems) and not linked: a tool that
 * never meets one does not need it. Without it, or with a broken section, there are just
 * fewer names. */
#include "shared/compiler.h"
#include "tool/sym/sym_priv.h"
#include "tool/util/dynlib.h"

#define SYM_MINI_LARGEST ((size_t)256 << 20)  /* unpacked; real ones are under 10 MB */
#define SYM_MINI_MEMORY ((uint64_t)256 << 20) /* what the unpacker may use */

/* liblzma's lzma_stream_buffer_decode, ABI unchanged since 5.0: 0 is done, 10 more room
 * needed. */
typedef int sym_lzma_decode(uint64_t *memory_limit, uint32_t flags, const void *allocator,
			    const uint8_t *in, size_t *in_pos, size_t in_size,
			    uint8_t *out, size_t *out_pos, size_t out_size);
enum { SYM_LZMA_OK = 0, SYM_LZMA_ROOM = 10 };

static bool
sym_mini_unpack(sym_lzma_decode *decode, const Elf_Data *data, struct buf *ret)
{
	uint64_t memory = SYM_MINI_MEMORY;
	size_t in, out, room;
	int r = SYM_LZMA_ROOM;

	/* The unpacked size is only known afterwards: try with more until it fits. */
	for (room = data->d_size * 4 + 4096; room <= SYM_MINI_LARGEST; room *= 4) {
		in = out = 0;
		r = decode(&memory, 0, NULL, data->d_buf, &in, data->d_size,
			   (uint8_t *)buf_room(ret, room), &out, room);
		if (r != SYM_LZMA_ROOM)
			break;
	}
	if (r != SYM_LZMA_OK)
		return false;
	ret->len = out;
	ret->data[out] = '\0';
	return true;
}

void
sym_mini_open(struct sym *s)
{
	Elf_Data *data = sym_file_section(&s->file, ".gnu_debugdata");
	struct buf bytes = {0};
	static const char *const names[] = {"liblzma.so.5", NULL};
	sym_lzma_decode *decode;
	const struct dynlib_symbol symbols[] = {{"lzma_stream_buffer_decode", &decode}};

	if (data == NULL || data->d_size > SYM_MINI_LARGEST / 4)
		return;
	if (dynlib_load(names, symbols, ARRAY_LEN(symbols), "", NULL) == 0 &&
	    sym_mini_unpack(decode, data, &bytes))
		sym_file_open_image(&bytes, &s->mini);
	buf_done(&bytes);
}
