/* SPDX-License-Identifier: MIT */
/* tracee_stub.c -- the instructions by which a stopped thread makes system calls. See
 * tracee_stub.h.
 *
 * They are written for the time being into the unused end of a page of code: first a
 * fixed part, in which the thread waits for us afterwards, but not for ever (if we were
 * killed, it puts all registers back by itself, from the words behind the fixed part),
 * then the system calls, one after the other. Each leaves its result below the thread's
 * stack. The first that fails is the last. */
#include "tool/target/trace/tracee_stub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "shared/compiler.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/buf.h"

#define MOV_FROM(rex, modrm, word) rex, 0x8b, modrm, WORD_AT(word)
#define WORD_AT(word) (word), 0, 0, 0 /* patched: distance to saved[word] */

enum saved_word {
	SAVED_R15,
	SAVED_R14,
	SAVED_R13,
	SAVED_R12,
	SAVED_RBP,
	SAVED_RBX,
	SAVED_R11,
	SAVED_R10,
	SAVED_R9,
	SAVED_R8,
	SAVED_RAX,
	SAVED_RCX,
	SAVED_RDX,
	SAVED_RSI,
	SAVED_RDI,
	SAVED_RSP,
	SAVED_FLAGS,
	SAVED_RIP,
	SAVED_WORDS,
};

static const uint8_t stub_code[] = {
	0x48,
	0xc7,
	0x44,
	0x24,
	0xf8,
	1,
	0,
	0,
	0, /*    movq $1, -8(%rsp) */
	0xb9,
	0x00,
	0x00,
	0x00,
	0x01, /*    mov $0x1000000, %ecx */
	0xf3,
	0x90, /* 1: pause */
	0xff,
	0xc9, /*    dec %ecx */
	0x75,
	0xfa, /*    jnz 1b */
	0xff,
	0x35,
	WORD_AT(SAVED_FLAGS),		 /*    push flags */
	0x9d,				 /*    popfq */
	MOV_FROM(0x4c, 0x3d, SAVED_R15), /*    mov word(%rip), %r15 … */
	MOV_FROM(0x4c, 0x35, SAVED_R14),
	MOV_FROM(0x4c, 0x2d, SAVED_R13),
	MOV_FROM(0x4c, 0x25, SAVED_R12),
	MOV_FROM(0x48, 0x2d, SAVED_RBP),
	MOV_FROM(0x48, 0x1d, SAVED_RBX),
	MOV_FROM(0x4c, 0x1d, SAVED_R11),
	MOV_FROM(0x4c, 0x15, SAVED_R10),
	MOV_FROM(0x4c, 0x0d, SAVED_R9),
	MOV_FROM(0x4c, 0x05, SAVED_R8),
	MOV_FROM(0x48, 0x05, SAVED_RAX),
	MOV_FROM(0x48, 0x0d, SAVED_RCX),
	MOV_FROM(0x48, 0x15, SAVED_RDX),
	MOV_FROM(0x48, 0x35, SAVED_RSI),
	MOV_FROM(0x48, 0x3d, SAVED_RDI),
	MOV_FROM(0x48, 0x25, SAVED_RSP),
	0xff,
	0x25,
	WORD_AT(SAVED_RIP), /*    jmp *word(%rip) */
};

enum {
	STUB_WORDS = (sizeof stub_code + 15) & ~15,
	STUB_TEXT = STUB_WORDS + SAVED_WORDS * 8, /* what tracee.text is */
	STUB_TEXT_BYTES = 16,
	STUB_CALLS = STUB_TEXT + STUB_TEXT_BYTES,
	STUB_LEAST = STUB_CALLS + 48, /* room for a single call */
};

_Static_assert((int)STUB_CALLS == (int)STUB_ENTRY, "where the calls begin");

static uint64_t
stub_word(const struct user_regs_struct *r, enum saved_word word)
{
	switch (word) {
	case SAVED_R15:
		return r->r15;
	case SAVED_R14:
		return r->r14;
	case SAVED_R13:
		return r->r13;
	case SAVED_R12:
		return r->r12;
	case SAVED_RBP:
		return r->rbp;
	case SAVED_RBX:
		return r->rbx;
	case SAVED_R11:
		return r->r11;
	case SAVED_R10:
		return r->r10;
	case SAVED_R9:
		return r->r9;
	case SAVED_R8:
		return r->r8;
	case SAVED_RAX:
		return r->rax;
	case SAVED_RCX:
		return r->rcx;
	case SAVED_RDX:
		return r->rdx;
	case SAVED_RSI:
		return r->rsi;
	case SAVED_RDI:
		return r->rdi;
	case SAVED_RSP:
		return r->rsp;
	case SAVED_FLAGS:
		return r->eflags;
	default:
		return r->rip;
	}
}

/* As the kernel would do it when the thread goes on: an interrupted system call begins
 * again. */
static struct user_regs_struct
restarted(struct user_regs_struct r)
{
	int64_t got = (int64_t)r.rax;

	if ((int64_t)r.orig_rax < 0 || got > -512 || got < -516 || got == -515)
		return r;
	r.rip -= 2;
	r.rax = got == -516 ? SYS_restart_syscall : r.orig_rax;
	return r;
}

/* ---- the calls ---- */

/* What has been written of a stub. */
struct emit {
	uint8_t *at;
	size_t len, room;
	uint64_t known[6]; /* what the registers of arguments hold */
	bool sure[6];
};

static void
emit_bytes(struct emit *m, const void *bytes, size_t n)
{
	if (m->len + n <= m->room)
		memcpy(m->at + m->len, bytes, n);
	m->len += n;
}

#define EMIT(m, ...)                                                                     \
	emit_bytes(m, (const uint8_t[]){__VA_ARGS__},                                    \
		   sizeof(const uint8_t[]){__VA_ARGS__})

static void
emit_u32(struct emit *m, uint32_t value)
{
	emit_bytes(m, &value, sizeof value);
}

static void
emit_u64(struct emit *m, uint64_t value)
{
	emit_bytes(m, &value, sizeof value);
}

/* The distance from here to an earlier place of the stub. */
static void
emit_back_to(struct emit *m, size_t to)
{
	emit_u32(m, (uint32_t)((int64_t)to - (int64_t)(m->len + 4)));
}

/* Registers in the order of a system call's arguments, as instructions number them. */
static const uint8_t arg_regs[6] = {7, 6, 2, 10, 8, 9};

static void
emit_arg(struct emit *m, unsigned i, uint64_t value)
{
	uint8_t reg = arg_regs[i] & 7, high = arg_regs[i] >= 8;

	if (m->sure[i] && m->known[i] == value)
		return;
	if (value <= UINT32_MAX) { /* mov $value, %e.. */
		if (high)
			EMIT(m, 0x41);
		EMIT(m, (uint8_t)(0xb8 + reg));
		emit_u32(m, (uint32_t)value);
	} else {
		EMIT(m, (uint8_t)(0x48 + high), (uint8_t)(0xb8 + reg));
		emit_u64(m, value);
	}
	m->known[i] = value;
	m->sure[i] = true;
}

/* mov SLOT(%rsp), REG */
static void
emit_arg_from(struct emit *m, unsigned i, unsigned slot)
{
	EMIT(m, (uint8_t)(0x48 + (arg_regs[i] >= 8) * 4), 0x8b,
	     (uint8_t)(0x44 | (arg_regs[i] & 7) << 3), 0x24,
	     (uint8_t)STUB_SLOT_OFF(slot));
	m->sure[i] = false;
}

/* Waits until we have written 1 into the word for that; 2 is the end, and nothing for too
 * long the way back. */
static void
emit_gate(struct emit *m)
{
	size_t loop;

	EMIT(m, 0xb9, 0, 0, 0, 1); /* mov $0x1000000, %ecx */
	loop = m->len;
	EMIT(m, 0x48, 0x8b, 0x44, 0x24,
	     (uint8_t)STUB_GATE_OFF);		       /* mov GATE(%rsp), %rax */
	EMIT(m, 0x48, 0x85, 0xc0);		       /* test %rax, %rax */
	EMIT(m, 0x75, 0x0b);			       /* jnz 2f */
	EMIT(m, 0xf3, 0x90);			       /* pause */
	EMIT(m, 0xff, 0xc9);			       /* dec %ecx */
	EMIT(m, 0x75, (uint8_t)(loop - (m->len + 2))); /* jnz 1b */
	EMIT(m, 0xe9);				       /* jmp BACK */
	emit_back_to(m, STUB_BACK);
	EMIT(m, 0x48, 0xff, 0xc8); /* 2: dec %rax */
	EMIT(m, 0x0f, 0x85);	   /* jnz END */
	emit_back_to(m, STUB_END);
}

/* movabs $word, %rax; orl or andl $bits, (%rax) */
static void
emit_bits(struct emit *m, uint64_t word, bool set, uint32_t bits)
{
	EMIT(m, 0x48, 0xb8);
	emit_u64(m, word);
	EMIT(m, 0x81, set ? 0x08 : 0x20);
	emit_u32(m, set ? bits : ~bits);
}

static void
emit_check(struct emit *m, const struct tracee_call *c)
{
	if (c->maps) {
		EMIT(m, 0x48, 0x39, 0xf8); /* cmp %rdi, %rax */
		EMIT(m, 0x0f, 0x85);	   /* jne END */
		emit_back_to(m, STUB_END);
	} else if (!c->may_fail) {
		EMIT(m, 0x48, 0x85, 0xc0); /* test %rax, %rax */
		EMIT(m, 0x0f, 0x88);	   /* js END */
		emit_back_to(m, STUB_END);
	}
}

static void
emit_call(struct emit *m, const struct stub_run *run, unsigned i)
{
	const struct tracee_call *c = &run->calls[i];

	if (i > 0 && c->before != NULL)
		emit_gate(m);
	if (i > 0 && c->word != 0 && c->clears)
		emit_bits(m, c->word, false, c->bits);
	for (unsigned k = 0; k < 6; k++) {
		if (i > 0 && c->first_arg == k + 1 && run->first != NULL)
			emit_arg_from(m, k, (unsigned)(run->first - run->calls));
		else
			emit_arg(m, k, c->args[k]);
	}
	if (i > 0) {
		EMIT(m, 0xb8); /* mov $nr, %eax */
		emit_u32(m, (uint32_t)c->nr);
	}
	EMIT(m, 0x0f, 0x05); /* syscall */
}

/* From the return of a call to the next one. */
static void
emit_after(struct emit *m, const struct stub_run *run, unsigned i)
{
	const struct tracee_call *c = &run->calls[i];

	if (c->nr == SYS_clone) {	   /* the copy of the process must never go on */
		EMIT(m, 0x48, 0x85, 0xc0); /* test %rax, %rax */
		EMIT(m, 0x75, 0x09);	   /* jnz 1f */
		EMIT(m, 0xb8, 0xe7, 0x00, 0x00, 0x00); /* mov $SYS_exit_group, %eax */
		EMIT(m, 0x31, 0xff);		       /* xor %edi, %edi */
		EMIT(m, 0x0f, 0x05);		       /* syscall */
	}
	EMIT(m, 0x48, 0x89, 0x44, 0x24,
	     (uint8_t)STUB_SLOT_OFF(i)); /* 1: mov %rax, SLOT(%rsp) */
	emit_check(m, c);
	if (c->word != 0 && !c->clears)
		emit_bits(m, c->word, true, c->bits);
}

/* Writes as many calls as there is room for. */
static void
emit_calls(struct stub_run *run, uint8_t *stub, size_t room)
{
	struct emit m = {.at = stub, .len = STUB_CALLS, .room = room - 5};
	unsigned n = run->n;

	/* The arguments of the first are in its registers. */
	memcpy(m.known, run->calls[0].args, sizeof m.known);
	memset(m.sure, 1, sizeof m.sure);
	for (run->n = 0; run->n < n && run->n < STUB_CALLS_MAX; run->n++) {
		struct emit before = m;

		if (run->n > 0 && run->calls[run->n].before != NULL && run->gate > 0)
			break; /* one gate is enough */
		emit_call(&m, run, run->n);
		run->after[run->n] = (uint16_t)m.len;
		emit_after(&m, run, run->n);
		if (m.len > m.room && run->n > 0) {
			m = before;
			break;
		}
		if (m.len > m.room) { /* a small cave: without the bits, which we set */
			m = before;
			EMIT(&m, 0x0f, 0x05);
			run->after[0] = (uint16_t)m.len;
			emit_after(
				&m,
				&(struct stub_run){.calls =
							   &(struct tracee_call){
								   .nr = run->calls[0].nr,
								   .may_fail = true}},
				0);
			run->n = 1;
			break;
		}
		if (run->n > 0 && run->calls[run->n].before != NULL)
			run->gate = run->n;
		if (tracee_point_is(run->calls[run->n].point)) {
			run->n++;
			break;
		}
	}
	m.room += 5;
	EMIT(&m, 0xe9); /* jmp END */
	emit_back_to(&m, STUB_END);
}

int
tracee_stub_write(struct tracee *t, const struct user_regs_struct *before,
		  struct stub_run *run)
{
	struct user_regs_struct back = restarted(*before);
	uint8_t stub[STUB_ROOM] = {0};
	uint64_t *saved = (uint64_t *)(void *)(stub + STUB_WORDS);

	memcpy(stub, stub_code, sizeof stub_code);
	for (size_t i = STUB_BACK; i < sizeof stub_code;) {
		size_t opcode = stub_code[i] == 0x9d ? 1 : stub_code[i] == 0xff ? 2 : 3;
		int32_t distance;

		i += opcode;
		if (opcode == 1)
			continue;
		distance = (int32_t)(STUB_WORDS + stub_code[i] * 8) - (int32_t)(i + 4);
		memcpy(stub + i, &distance, 4);
		i += 4;
	}
	for (unsigned i = 0; i < SAVED_WORDS; i++) {
		uint64_t word = stub_word(&back, i);

		memcpy(&saved[i], &word, sizeof word);
	}
	if (t->text != NULL)
		snprintf((char *)stub + STUB_TEXT, STUB_TEXT_BYTES, "%s", t->text);
	emit_calls(run, stub, t->cave_bytes);
	return tracee_write(t, t->cave, stub, t->cave_bytes, NULL);
}

uint64_t
tracee_text_at(const struct tracee *t)
{
	return t->cave + STUB_TEXT;
}

/* ---- where it is ---- */

/* The end of a mapping, if that can be used: all zero, or one of ours that was left there
 * when we were killed. */
static uint64_t
unused_end(const struct tracee *t, const struct procfs_map *m, size_t want)
{
	uint8_t end[STUB_ROOM + 64];
	uint64_t from = (m->end - want - 64) & ~UINT64_C(63);
	size_t zeros = 0;

	if (m->perms[2] != 'x' || m->perms[3] != 'p' || m->perms[1] == 'w' ||
	    (m->inode == 0 && strcmp(m->path, "[vdso]") != 0) ||
	    tracee_read_some(t, from, end, want) < want)
		return 0;
	while (zeros < want && end[zeros] == 0)
		zeros++;
	return zeros == want || memcmp(end, stub_code, STUB_BACK) == 0 ? from : 0;
}

/* Room for the stub: the unused end of an executable mapping. Nothing else is ever there:
 * code ends before, and what else is in that page of the file is read elsewhere. Where
 * there is little of it, fewer calls are made at once. */
int
tracee_find_cave(struct tracee *t, struct err *e)
{
	static const size_t wants[] = {STUB_ROOM, STUB_LEAST + 128, STUB_LEAST};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(wants) && t->cave == 0; i++) {
		struct procfs_maps maps;
		struct procfs_map m;

		r = procfs_maps_open(&maps, t->pid, e);
		while (t->cave == 0 && procfs_maps_next(&maps, &m))
			t->cave = unused_end(t, &m, wants[i]);
		t->cave_bytes = wants[i];
		procfs_maps_close(&maps);
	}
	if (r == 0 && t->cave == 0)
		r = err_set(
			e, -ENOSPC,
			"%d: no unused end of a page of code found to work from; use seep watch",
			t->pid);
	return r;
}

void
tracee_stub_hurry(const struct tracee *t)
{
	uint8_t code[STUB_BACK];

	if (tracee_read(t, t->cave, code, sizeof code, NULL) < 0 ||
	    memcmp(code, stub_code, sizeof code) != 0)
		return;
	for (size_t i = 0; i < t->threads.len; i++) {
		const struct tracee_thread *th = &t->threads.data[i];
		struct user_regs_struct regs;

		if (th->ip < t->cave || th->ip >= t->cave + STUB_BACK ||
		    ptrace(PTRACE_GETREGS, th->tid, NULL, &regs) < 0)
			continue;
		regs.rip = t->cave + STUB_BACK;
		ptrace(PTRACE_SETREGS, th->tid, NULL, &regs);
	}
}

void
tracee_stub_remove(struct tracee *t)
{
	static const uint8_t zeros[STUB_ROOM];

	if (t->cave_used)
		tracee_write(t, t->cave, zeros, t->cave_bytes, NULL);
	t->cave_used = false;
}
