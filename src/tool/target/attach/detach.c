/* SPDX-License-Identifier: MIT */
/* detach.c -- the recorder taken out of a process again. See attach.h.
 *
 * All that is needed is in the process: the recording is found among its mappings by its
 * name, and the control page in it says the rest, also if whoever attached died on the
 * way. Two parts. First the replaced bytes are put back; from then on no thread comes
 * into our code any more. Then, as soon as none is in there or will come back to it,
 * everything is unmapped.
 *
 * Whether one will come back: its registers and stack hold no address of ours. A stack
 * can hold one for ever that means nothing, left over from an earlier call; so after some
 * tries it is asked more closely: is the thread's own word `busy` set, is it in our code,
 * or is there a signal frame that would take it there? */
#include "tool/target/attach/attach.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "shared/recording.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/find.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

enum {
	UNMAP_TRIES = 60,
	STRICT_TRIES = 6, /* with the whole stack looked at */
	NAP_MS = 5,
	NAP_MOST_MS = 50,
	SPANS_MAX = 1 + ATTACH_ISLANDS,
};

#define MEMFD_PATH "/memfd:" ATTACH_NAME

/* What the process has of ours. */
struct ours {
	uint64_t self, self_bytes; /* the recording's mapping; 0 = none */
	bool controlled;	   /* and its control page makes sense */
	/* It is the recording of the process that forked this one: the two share it, so
	 * nothing is written there. */
	bool inherited;
	int parent;	/* that process, by its number in its namespace */
	uint64_t whose; /* inherited: enum blob_fork */
	struct attach_control control;
	int fd; /* of it, if the process still has it; -1 = none */
};

/* ---- finding ---- */

static int
find_fd(int pid)
{
	char path[64], target[64];
	struct dirent *d;
	DIR *dir;
	int fd = -1;

	snprintf(path, sizeof path, "/proc/%d/fd", file_proc_task(pid));
	dir = opendir(path);
	while (dir != NULL && fd < 0 && (d = readdir(dir)) != NULL) {
		ssize_t n = readlinkat(dirfd(dir), d->d_name, target, sizeof target - 1);

		target[n > 0 ? n : 0] = '\0';
		if (strncmp(target, MEMFD_PATH, strlen(MEMFD_PATH)) == 0)
			fd = atoi(d->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	return fd;
}

/* Other processes of seep's have recordings open and mapped, too. */
static bool
is_seep(int pid)
{
	struct stat a, b;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/exe", file_proc_task(pid));
	return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Is the recording at `o->self` one of this process, or of the one that forked it, whose
 * code it has then? Whoever only looks at a recording has it mapped as well. */
static bool
is_its_own(const struct tracee *t, struct ours *o)
{
	char magic[sizeof BLOB_MAGIC - 1];
	struct rec_head h = {0};

	if (tracee_read(t, o->self, &h, sizeof h, NULL) == 0 &&
	    memcmp(h.magic, REC_MAGIC, sizeof h.magic) == 0 &&
	    (int)h.pid == procfs_ns_pid(t->pid))
		return true;
	/* The kernel wipes that page in a child. Where it did not, the memory is not a
	 * copy but the very same (vfork), and what is done to it here is done to the
	 * other's running threads. */
	o->inherited =
		o->control.config != 0 &&
		tracee_read(t, o->control.config, magic, sizeof magic, NULL) == 0 &&
		memcmp(magic, BLOB_MAGIC, sizeof magic) == 0 &&
		(tracee_read(t, o->control.data.start, &o->whose, sizeof o->whose, NULL) <
			 0 ||
		 o->whose != BLOB_FORK_OWN);
	o->parent = (int)h.pid;
	return o->inherited;
}

static int
find_ours(const struct tracee *t, struct ours *ret, struct err *e)
{
	struct ours o = {.fd = -1};
	struct procfs_maps maps;
	struct procfs_map m;
	int r = 0;

	if (is_seep(t->pid)) {
		*ret = o;
		return 0;
	}
	r = procfs_maps_open(&maps, t->pid, e);
	while (o.self == 0 && procfs_maps_next(&maps, &m)) {
		if (strncmp(m.path, MEMFD_PATH, strlen(MEMFD_PATH)) != 0 || m.offset != 0)
			continue;
		o.self = m.start;
		o.self_bytes = m.end - m.start;
	}
	procfs_maps_close(&maps);
	if (o.self != 0 &&
	    tracee_read(t, o.self + ATTACH_OFF, &o.control, sizeof o.control, NULL) == 0)
		o.controlled = memcmp(o.control.magic, ATTACH_MAGIC,
				      sizeof o.control.magic) == 0 &&
			       o.control.patches <= ATTACH_PATCHES_MAX;
	if (o.self != 0 && !is_its_own(t, &o))
		o = (struct ours){.fd = -1};
	else
		o.fd = find_fd(t->pid);
	if (r == 0)
		*ret = o;
	return r;
}

static bool
nothing(const struct ours *o)
{
	return o->self == 0 && o->fd < 0;
}

int
detach_recording(int pid, struct livefile *ret, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	struct ours o;
	int fd, r = target_find_pid(pid, ret, e);

	if (r == 0)
		return 0;
	r = tracee_open(pid, &t, e);
	if (r == 0)
		r = find_ours(&t, &o, e);
	if (r == 0 && o.self == 0)
		r = err_set(e, -ENOENT, "%d: not recorded", pid);
	if (r == 0) {
		fd = livefile_copy(pid, o.self, o.self_bytes, e);
		r = fd < 0 ? fd : livefile_adopt(fd, ATTACH_NAME, ret, e);
	}
	if (r == 0)
		ret->pid = pid;
	tracee_close(&t);
	return r;
}

/* ---- bytes ---- */

static int
set_word(const struct tracee *t, const struct ours *o, size_t off, uint32_t value,
	 struct err *e)
{
	return o->inherited ? 0
			    : tracee_write(t, o->self + ATTACH_OFF + off, &value,
					   sizeof value, e);
}

static int
put_back(const struct tracee *t, const struct ours *o, struct detached *d, struct err *e)
{
	uint64_t at = o->self + ATTACH_OFF + sizeof o->control;
	struct attach_patch p;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < o->control.patches; i++) {
		uint8_t now[ATTACH_PATCH_BYTES];

		r = tracee_read(t, at + i * sizeof p, &p, sizeof p, e);
		if (r < 0 || p.bytes == 0 || p.bytes > ATTACH_PATCH_BYTES)
			continue;
		/* Not mapped any more, or another's: an object that has gone. */
		if (tracee_read(t, p.addr, now, p.bytes, NULL) < 0)
			continue;
		if (memcmp(now, p.after, p.bytes) == 0) {
			r = tracee_write(t, p.addr, p.before, p.bytes, e);
			d->patches++;
		} else if (memcmp(now, p.before, p.bytes) != 0 && p.bytes != 8) {
			d->foreign++;
		}
	}
	return r;
}

int
detach_patches(int pid, struct detached *ret, struct err *e)
{
	struct tracee t = TRACEE_NONE;
	struct detached d = {0};
	struct ours o = {.fd = -1};
	int r = tracee_open(pid, &t, e);

	if (r == 0)
		r = find_ours(&t, &o, e);
	d.found = r == 0 && !nothing(&o);
	if (r == 0 && o.controlled) {
		t.suspend_seccomp = false;
		r = tracee_stop(&t, e);
		if (r == 0)
			r = find_ours(&t, &o, e); /* as it is now */
		/* Not before: who cannot take it out leaves it recording. */
		if (r == 0)
			set_word(&t, &o, offsetof(struct attach_control, off), 1, NULL);
		if (r == 0)
			set_word(&t, &o, offsetof(struct attach_control, state),
				 ATTACH_UNDOING, NULL);
		if (r == 0)
			r = put_back(&t, &o, &d, e);
		tracee_point(TRACEE_UNPATCHED);
		if (r == 0)
			r = set_word(&t, &o, offsetof(struct attach_control, state),
				     ATTACH_PATCHES_UNDONE, e);
		tracee_go(&t);
		d.stopped_ns = clock_ns(CLOCK_MONOTONIC) - t.since_ns;
	}
	if (r == 0 && o.inherited) {
		d.parent = o.parent;
		d.counted = o.whose == BLOB_FORK_COUNTED;
	}
	tracee_close(&t);
	if (r == 0 && ret != NULL)
		*ret = d;
	return r;
}

/* ---- mappings ---- */

static unsigned
code_spans(const struct ours *o, struct tracee_span *spans)
{
	unsigned n = 0;

	if (o->controlled && o->control.code.bytes != 0)
		spans[n++] = (struct tracee_span){o->control.code.start,
						  o->control.code.start +
							  o->control.code.bytes};
	for (unsigned i = 0; o->controlled && i < ATTACH_ISLANDS; i++) {
		const struct attach_range *is = &o->control.islands[i];

		if (is->bytes != 0)
			spans[n++] =
				(struct tracee_span){is->start, is->start + is->bytes};
	}
	return n;
}

/* Does the word at `at` belong to a signal frame, as the place to go on at? Then the
 * frame begins with the address of code that ends the handler. */
static bool
is_signal_frame(const struct tracee *t, uint64_t at)
{
	static const uint8_t wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	enum {
		IP_OFF = 8 + 40 + 16 * 8
	}; /* of uc_mcontext's rip in struct rt_sigframe */
	uint64_t restorer;
	uint8_t code[sizeof wide];

	return tracee_read(t, at - IP_OFF, &restorer, sizeof restorer, NULL) == 0 &&
	       tracee_read(t, restorer, code, sizeof code, NULL) == 0 &&
	       memcmp(code, wide, sizeof wide) == 0;
}

static bool
returns_by_signal(const struct tracee *t, const struct tracee_thread *th,
		  const struct tracee_span *spans, unsigned n)
{
	static uint64_t words[(256 << 10) / 8];
	size_t got = tracee_read_some(t, th->sp, words, sizeof words) / 8;

	for (size_t i = 0; i < got; i++) {
		if (tracee_in_spans(words[i], spans, n) &&
		    is_signal_frame(t, th->sp + i * 8))
			return true;
	}
	return false;
}

/* Is a thread that has this thread pointer in our code, by its own account? Unknown
 * counts as yes. */
static bool
is_busy(const struct tracee *t, const struct blob_config *c, const unsigned char *slots,
	uint64_t tp)
{
	(void)t;
	for (uint32_t i = 0; i < c->slot_count; i++) {
		const unsigned char *s = slots + (size_t)i * c->slot_bytes;
		uint64_t key, busy;

		memcpy(&key, s + c->slot_key_off, sizeof key);
		memcpy(&busy, s + c->slot_busy_off, sizeof busy);
		if (key == tp && busy != 0)
			return true;
	}
	return false;
}

/* Is any thread? Also where nothing on its stack leads to us: a signal handler that came
 * while it was in a function that we have called may run on a stack of its own. */
static bool
any_busy(const struct tracee *t, const struct ours *o)
{
	struct blob_config c;
	unsigned char *slots = NULL;
	bool busy = true;

	if (o->control.config == 0 ||
	    tracee_read(t, o->control.config, &c, sizeof c, NULL) < 0 ||
	    memcmp(c.magic, BLOB_MAGIC, sizeof c.magic) != 0 || c.slot_count > 1 << 20 ||
	    c.slot_bytes > 4096 || c.slot_key_off + 8 > c.slot_bytes ||
	    c.slot_busy_off + 8 > c.slot_bytes)
		return o->control.config != 0;
	slots = xcalloc(c.slot_count, c.slot_bytes);
	if (tracee_read(t, (uint64_t)(uintptr_t)c.slots, slots,
			(size_t)c.slot_count * c.slot_bytes, NULL) == 0) {
		busy = false;
		for (size_t i = 0; i < t->threads.len && !busy; i++)
			busy = is_busy(t, &c, slots, t->threads.data[i].tp);
	}
	free(slots);
	return busy;
}

/* The closer look, without the words that nobody is busy. */
static bool
is_inside_closely(const struct tracee *t, const struct tracee_span *spans, unsigned n)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		const struct tracee_thread *th = &t->threads.data[i];

		if (tracee_in_spans(th->ip, spans, n) ||
		    returns_by_signal(t, th, spans, n))
			return true;
	}
	return false;
}

enum { UNMAP_CALLS = 5 + ATTACH_ISLANDS };

/* System calls that take all away, made in one go. */
struct unmapping {
	const struct ours *o;
	struct tracee_call calls[UNMAP_CALLS];
	unsigned n;
};

/* First it is forgotten, then unmapped: whatever the process maps there afterwards is its
 * own. */
static void
add_unmap(struct unmapping *u, uint32_t made, uint64_t start, uint64_t bytes)
{
	if (bytes == 0 || start == 0)
		return;
	u->calls[u->n] = (struct tracee_call){.nr = SYS_munmap, .args = {start, bytes}};
	if (made != 0 && !u->o->inherited) {
		u->calls[u->n].word =
			u->o->self + ATTACH_OFF + offsetof(struct attach_control, made);
		u->calls[u->n].bits = made;
		u->calls[u->n].clears = true;
	}
	u->n++;
}

/* But for jumps that somebody may know of. What lies behind them was never used. */
static void
add_unmap_code(struct unmapping *u, struct detached *d)
{
	const struct attach_range code = u->o->control.code, stubs = u->o->control.stubs;
	uint64_t end = stubs.start + stubs.bytes;

	if (stubs.bytes == 0 || code.bytes == 0 || stubs.start < code.start ||
	    end > code.start + code.bytes || stubs.start % 4096 != 0 || end % 4096 != 0) {
		add_unmap(u, ATTACH_MADE_CODE, code.start, code.bytes);
	} else {
		add_unmap(u, ATTACH_MADE_CODE, code.start, stubs.start - code.start);
		add_unmap(u, ATTACH_MADE_CODE, end, code.start + code.bytes - end);
		d->stub_bytes = stubs.bytes;
	}
	if (u->n > 0)
		u->calls[u->n - 1].point = TRACEE_UNMAPPED_ONE;
}

/* The recording last: it says what the others are. */
static void
unmap_all(struct tracee *t, const struct ours *o, struct detached *d)
{
	struct unmapping u = {.o = o};

	if (o->controlled) {
		add_unmap_code(&u, d);
		for (unsigned i = 0; i < ATTACH_ISLANDS; i++)
			add_unmap(&u, (uint32_t)ATTACH_MADE_ISLAND << i,
				  o->control.islands[i].start,
				  o->control.islands[i].bytes);
		add_unmap(&u, ATTACH_MADE_DATA, o->control.data.start,
			  o->control.data.bytes);
	}
	if (o->fd >= 0)
		u.calls[u.n++] = (struct tracee_call){
			.nr = SYS_close, .args = {(uint64_t)o->fd}, .may_fail = true};
	add_unmap(&u, 0, o->self, o->self_bytes);
	tracee_calls(t, u.calls, u.n, NULL);
	for (unsigned i = 0; i < u.n; i++) {
		if (u.calls[i].nr == SYS_munmap &&
		    (!u.calls[i].made || u.calls[i].value != 0)) {
			d->kept++;
			d->kept_bytes += u.calls[i].args[1];
		}
	}
}

static void
count_kept(const struct ours *o, struct detached *d)
{
	const struct attach_range *r[] = {&o->control.code, &o->control.data};

	for (size_t i = 0; o->controlled && i < ARRAY_LEN(r); i++) {
		d->kept += r[i]->bytes != 0;
		d->kept_bytes += r[i]->bytes;
	}
	d->kept++;
	d->kept_bytes += o->self_bytes;
}

/* One that we meant to make when we died, or that was taken out of the process that
 * forked this one: is it there, exactly as it would be? Parts of it may have rights and
 * marks of their own. */
static bool
is_mapped_as(int pid, const struct attach_range *r)
{
	struct procfs_maps maps;
	struct procfs_map m;
	uint64_t end = r->start; /* of what is there */

	procfs_maps_open(&maps, pid, NULL);
	while (end < r->start + r->bytes && procfs_maps_next(&maps, &m)) {
		if (m.start == end && m.inode == 0)
			end = m.end;
	}
	procfs_maps_close(&maps);
	return r->bytes > 0 && end == r->start + r->bytes;
}

/* Or, since its parts have different rights, does it say so itself? */
static bool
is_our_code(const struct tracee *t, const struct ours *o)
{
	char magic[sizeof BLOB_MAGIC - 1];

	return o->control.config != 0 &&
	       tracee_read(t, o->control.config, magic, sizeof magic, NULL) == 0 &&
	       memcmp(magic, BLOB_MAGIC, sizeof magic) == 0;
}

static void
forget_unmade(const struct tracee *t, struct ours *o)
{
	uint32_t made = o->control.made;
	int pid = t->pid;

	if (!o->controlled)
		return;
	if ((made & ATTACH_MADE_CODE) == 0 && !is_mapped_as(pid, &o->control.code) &&
	    !is_our_code(t, o))
		o->control.code.bytes = 0;
	if ((made & ATTACH_MADE_DATA) == 0 && !is_mapped_as(pid, &o->control.data))
		o->control.data.bytes = 0;
	for (unsigned i = 0; i < ATTACH_ISLANDS; i++) {
		if ((made & (uint32_t)ATTACH_MADE_ISLAND << i) == 0 &&
		    !is_mapped_as(pid, &o->control.islands[i]))
			o->control.islands[i].bytes = 0;
	}
}

int
detach_unmap(int pid, struct detached *ret, struct err *e)
{
	struct tracee_span spans[SPANS_MAX];
	struct tracee t = TRACEE_NONE;
	struct detached d = {0};
	struct ours o;
	uint64_t ns;
	unsigned n, nap_ms = NAP_MS;
	bool done = false, gone;
	int r = tracee_open(pid, &t, e);

	if (ret != NULL)
		d = *ret;
	if (r == 0)
		r = find_ours(&t, &o, e);
	if (r == 0 && nothing(&o))
		done = true;
	while (r == 0 && !done && d.tries++ < UNMAP_TRIES) {

		r = tracee_stop(&t, e);
		if (r < 0)
			break;
		r = find_ours(&t, &o,
			      e); /* as it is now: somebody else may have been here */
		gone = r < 0 || nothing(&o);
		if (!gone)
			forget_unmade(&t, &o);
		n = !gone ? code_spans(&o, spans) : 0;
		done = gone || n == 0 ||
		       (!any_busy(&t, &o) &&
			(!tracee_inside(&t, spans, n) ||
			 (d.tries > STRICT_TRIES && !is_inside_closely(&t, spans, n))));
		if (done && !gone)
			unmap_all(&t, &o, &d);
		tracee_go(&t);
		ns = clock_ns(CLOCK_MONOTONIC) - t.since_ns;
		if (ns > d.stopped_ns)
			d.stopped_ns = ns;
		if (!done) {
			clock_nap((uint64_t)nap_ms * 1000000);
			nap_ms = nap_ms * 2 < NAP_MOST_MS ? nap_ms * 2 : NAP_MOST_MS;
		}
	}
	if (r == 0 && !done)
		count_kept(&o, &d);
	tracee_close(&t);
	if (r == 0 && ret != NULL)
		*ret = d;
	return r;
}
