/* SPDX-License-Identifier: MIT */
/* eh_frame.c -- .eh_frame_hdr and .eh_frame, as they lie in memory.
 *
 * The header's sorted table (pairs of 32-bit offsets from the header) is searched by
 * halves; a module whose table has another shape, or none, is walked entry by entry,
 * which is slow but happens once for each new return address. Every read is bounded by
 * the module's range, so a damaged table leads to "no entry" and never outside the
 * module.
 *
 * A table registered at run time has no header and is walked too, in a copy of it.
 * .debug_frame is not read. */
#include "guest/unwind/eh_frame.h"

#include <string.h>

enum {
	EH_PE_ULEB = 0x01,
	EH_PE_UDATA2 = 0x02,
	EH_PE_UDATA4 = 0x03,
	EH_PE_UDATA8 = 0x04,
	EH_PE_SLEB = 0x09,
	EH_PE_SDATA2 = 0x0a,
	EH_PE_SDATA4 = 0x0b,
	EH_PE_SDATA8 = 0x0c,
	EH_PE_PCREL = 0x10,
	EH_PE_DATAREL = 0x30,
	EH_PE_OMIT = 0xff,
};

#define EH_TABLE_ENC (EH_PE_DATAREL | EH_PE_SDATA4)

uint64_t
eh_uint(struct eh_cur *c, unsigned bytes)
{
	uint64_t v = 0;

	if (c->bad || (size_t)(c->end - c->p) < bytes) {
		c->bad = true;
		return 0;
	}
	/* little-endian, as both our processors are */
	memcpy(&v, c->p, bytes);
	c->p += bytes;
	return v;
}

uint64_t
eh_uleb(struct eh_cur *c)
{
	uint64_t v = 0;
	unsigned shift = 0;

	for (;;) {
		uint8_t b = (uint8_t)eh_uint(c, 1);

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if ((b & 0x80) == 0)
			return v;
	}
}

int64_t
eh_sleb(struct eh_cur *c)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = (uint8_t)eh_uint(c, 1);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while ((b & 0x80) != 0);
	if (shift < 64 && (b & 0x40) != 0)
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

void
eh_skip(struct eh_cur *c, uint64_t bytes)
{
	if (c->bad || (uint64_t)(c->end - c->p) < bytes)
		c->bad = true;
	else
		c->p += bytes;
}

uintptr_t
eh_pointer(struct eh_cur *c, uint8_t enc, uintptr_t data_base)
{
	uintptr_t at = (uintptr_t)c->p, v;

	switch (enc & 0x0f) {
	case 0:
	case EH_PE_UDATA8:
	case EH_PE_SDATA8:
		v = eh_uint(c, 8);
		break;
	case EH_PE_UDATA2:
		v = eh_uint(c, 2);
		break;
	case EH_PE_SDATA2:
		v = (uintptr_t)(int16_t)eh_uint(c, 2);
		break;
	case EH_PE_UDATA4:
		v = eh_uint(c, 4);
		break;
	case EH_PE_SDATA4:
		v = (uintptr_t)(int32_t)eh_uint(c, 4);
		break;
	case EH_PE_ULEB:
		v = eh_uleb(c);
		break;
	case EH_PE_SLEB:
		v = (uintptr_t)eh_sleb(c);
		break;
	default:
		c->bad = true;
		return 0;
	}
	switch (enc & 0x70) {
	case 0:
		return v;
	case EH_PE_PCREL:
		return v + at;
	case EH_PE_DATAREL:
		return v + data_base;
	default:
		c->bad = true; /* text- and function-relative are not used on Linux */
		return 0;
	}
}

/* A cursor from `at` to the end of the module; bad when `at` is not inside. */
static struct eh_cur
eh_cur_at(const struct unw_module *m, uintptr_t at)
{
	struct eh_cur c = {.p = (const unsigned char *)at,
			   .end = (const unsigned char *)m->end,
			   .bad = at < m->start || at >= m->end};

	if (c.bad)
		c.p = c.end;
	return c;
}

/* Opens the entry at `c`: `ret_body` is what follows the length, `c` moves past it. False
 * at the terminator or when damaged. */
static bool
eh_entry(struct eh_cur *c, struct eh_cur *ret_body)
{
	uint64_t bytes = eh_uint(c, 4);

	if (bytes == 0xffffffff)
		bytes = eh_uint(c, 8);
	if (c->bad || bytes < 4 || bytes > (uint64_t)(c->end - c->p))
		return false;
	*ret_body = (struct eh_cur){.p = c->p, .end = c->p + bytes};
	c->p += bytes;
	return true;
}

/* Reads the augmentation string at `s` against the data at the cursor. */
static void
eh_augmentation(struct eh_cur *c, const unsigned char *s, struct eh_fde *f)
{
	for (; *s != 0 && !c->bad; s++) {
		switch (*s) {
		case 'R':
			f->enc = (uint8_t)eh_uint(c, 1);
			break;
		case 'P': {
			uint8_t enc = (uint8_t)eh_uint(c, 1);

			/* only skipped: an indirect one is as long as a direct one */
			if (enc != EH_PE_OMIT)
				eh_pointer(c, enc & 0x0f, 0);
			break;
		}
		case 'L':
			eh_skip(c, 1);
			break;
		case 'S':
			f->signal = true;
			break;
		/* return addresses are signed with key B: stripped all the same */
		case 'B':
		case 'G': /* memory tagging */
			break;
		default:
			return; /* unknown: the length given for all of it still holds */
		}
	}
}

static bool
eh_cie(struct eh_cur c, struct eh_fde *f)
{
	const unsigned char *aug;
	uint8_t version;

	if (eh_uint(&c, 4) != 0) /* the id that tells a CIE from an FDE */
		return false;
	version = (uint8_t)eh_uint(&c, 1);
	if (version != 1 && version != 3 && version != 4)
		return false;
	aug = c.p;
	while (eh_uint(&c, 1) != 0)
		;
	if (version == 4)
		eh_skip(&c, 2); /* sizes of an address and of a segment */
	f->code_align = eh_uleb(&c);
	f->data_align = eh_sleb(&c);
	f->ra = version == 1 ? (uint8_t)eh_uint(&c, 1) : (uint8_t)eh_uleb(&c);
	if (c.bad)
		return false;
	f->enc = 0;
	f->signal = false;
	f->aug = *aug == 'z';
	if (f->aug) {
		uint64_t bytes = eh_uleb(&c);
		struct eh_cur data = {.p = c.p, .end = c.p, .bad = c.bad};

		eh_skip(&c, bytes);
		data.end = c.p;
		eh_augmentation(&data, aug + 1, f);
		if (data.bad)
			return false;
	} else if (*aug != 0) {
		return false; /* what follows cannot be told apart */
	}
	f->cie_ins = c;
	return !c.bad;
}

/* Reads the FDE in `body`; false when it is a CIE or damaged. */
static bool
eh_fde(const struct unw_module *m, struct eh_cur body, struct eh_fde *f)
{
	uintptr_t id_at = (uintptr_t)body.p;
	uint64_t back = eh_uint(&body, 4);
	struct eh_cur at, cie;

	if (body.bad || back == 0 || back > id_at - m->start)
		return false;
	at = eh_cur_at(m, id_at - back);
	if (!eh_entry(&at, &cie) || !eh_cie(cie, f))
		return false;
	f->shift = (f->enc & 0x70) == EH_PE_PCREL ? m->shift : 0;
	f->start = eh_pointer(&body, f->enc, 0) + f->shift;
	f->end = f->start + eh_pointer(&body, f->enc & 0x0f, 0);
	if (f->aug)
		eh_skip(&body, eh_uleb(&body));
	f->ins = body;
	return !body.bad;
}

static bool
eh_walk(const struct unw_module *m, uintptr_t frame, uintptr_t addr, struct eh_fde *f)
{
	struct eh_cur c = eh_cur_at(m, frame), body;

	while (eh_entry(&c, &body)) {
		if (eh_fde(m, body, f) && addr >= f->start && addr < f->end)
			return true;
	}
	return false;
}

/* Searches the table of `n` pairs at `table`: last start that is not above `addr`. */
static bool
eh_search(const struct unw_module *m, const unsigned char *table, uint64_t n,
	  uintptr_t addr, struct eh_fde *f)
{
	uintptr_t hdr = (uintptr_t)m->eh_hdr;
	uint64_t low = 0;
	int32_t pair[2];
	struct eh_cur c, body;

	while (n > 1) {
		uint64_t half = n / 2;

		memcpy(pair, table + (low + half) * 8, sizeof pair);
		if (hdr + (uintptr_t)(intptr_t)pair[0] <= addr)
			low += half;
		n -= half;
	}
	memcpy(pair, table + low * 8, sizeof pair);
	c = eh_cur_at(m, hdr + (uintptr_t)(intptr_t)pair[1]);
	return eh_entry(&c, &body) && eh_fde(m, body, f) && addr >= f->start &&
	       addr < f->end;
}

bool
eh_find(const struct unw_module *m, uintptr_t addr, struct eh_fde *ret_fde)
{
	uintptr_t hdr = (uintptr_t)m->eh_hdr, frame;
	struct eh_cur c = eh_cur_at(m, hdr);
	uint8_t version, frame_enc, count_enc, table_enc;
	uint64_t n;

	if (m->copy != NULL)
		return eh_walk(m, (uintptr_t)m->copy, addr, ret_fde);
	if (m->eh_hdr == NULL)
		return false;
	version = (uint8_t)eh_uint(&c, 1);
	frame_enc = (uint8_t)eh_uint(&c, 1);
	count_enc = (uint8_t)eh_uint(&c, 1);
	table_enc = (uint8_t)eh_uint(&c, 1);
	if (c.bad || version != 1 || frame_enc == EH_PE_OMIT)
		return false;
	frame = eh_pointer(&c, frame_enc, hdr);
	if (count_enc == EH_PE_OMIT || table_enc != EH_TABLE_ENC)
		return !c.bad && eh_walk(m, frame, addr, ret_fde);
	n = eh_pointer(&c, count_enc, hdr);
	if (c.bad || n == 0 || n > (uint64_t)(c.end - c.p) / 8)
		return false;
	return eh_search(m, c.p, n, addr, ret_fde);
}

void
eh_range(const struct unw_module *m, uintptr_t *ret_start, uintptr_t *ret_end)
{
	struct eh_cur c = eh_cur_at(m, (uintptr_t)m->copy), body;
	uintptr_t start = UINTPTR_MAX, end = 0;
	struct eh_fde f;

	while (eh_entry(&c, &body)) {
		if (!eh_fde(m, body, &f) || f.end <= f.start)
			continue;
		start = f.start < start ? f.start : start;
		end = f.end > end ? f.end : end;
	}
	*ret_start = start < end ? start : 0;
	*ret_end = start < end ? end : 0;
}
