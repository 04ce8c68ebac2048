/* SPDX-License-Identifier: MIT */
/* unseen.c -- see unseen.h.
 *
 * The list is in the recording itself, so it outlives the process and the exec that it is
 * about. A forked child that has not begun a recording of its own writes into its
 * parent's, which it still has mapped. A row is claimed by an atomic addition and
 * published by `why`: neither a reader nor another process sees half of one. */
#include "guest/life/unseen.h"

#include "guest/life/life.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <fcntl.h>
#include <string.h>

/* Appends the path of the file that `path` leads to, or `path` as it is. */
static void
add_path(struct text *t, const char *path)
{
	char link[32];
	struct text l = text_on(link, sizeof(link));
	long fd = rt_sealed ? -1 : sys_open(path, O_PATH | O_CLOEXEC, 0), n = -1;

	if (fd >= 0) {
		text_add(&l, "/proc/self/fd/");
		text_dec(&l, (uint64_t)fd);
		n = SYS4(SYS_readlinkat, -100, link, t->at + t->len, t->cap - t->len - 1);
		sys_close((int)fd);
	}
	if (n > 0) {
		t->len += (size_t)n;
		t->at[t->len] = '\0';
	} else {
		text_add(t, path);
	}
}

static void
fill(struct rec_unseen *row, const char *path, char *const *argv)
{
	/* Half of it is for the arguments. */
	struct text t = text_on(row->text, sizeof(row->text) / 2);

	add_path(&t, path != NULL		       ? path
		     : argv != NULL && argv[0] != NULL ? argv[0]
						       : "");
	t = text_on(row->text + t.len + 1, sizeof(row->text) - t.len - 1);
	for (size_t i = 0; argv != NULL && argv[i] != NULL && !t.cut; i++) {
		text_add(&t, i > 0 ? " " : "");
		text_add(&t, argv[i]);
	}
}

/* The row of the same program, or NULL. */
static struct rec_unseen *
known(struct rec_unseen *rows, uint32_t n, const struct rec_unseen *like)
{
	for (uint32_t i = 0; i < n && i < REC_UNSEEN_MAX; i++) {
		if (__atomic_load_n(&rows[i].why, __ATOMIC_ACQUIRE) == like->why &&
		    text_same(rows[i].text, like->text))
			return &rows[i];
	}
	return NULL;
}

/* A row of its own, or NULL when there is no room. */
static struct rec_unseen *
publish(struct rec_head *h, struct rec_unseen *rows, const struct rec_unseen *like)
{
	uint32_t i = __atomic_load_n(&h->unseen, __ATOMIC_RELAXED);

	if (i < REC_UNSEEN_MAX)
		i = __atomic_fetch_add(&h->unseen, 1, __ATOMIC_RELAXED);
	if (i >= REC_UNSEEN_MAX)
		return NULL;
	rows[i].count = 1;
	rows[i].pid = like->pid;
	rows[i].ms = like->ms;
	memcpy(rows[i].text, like->text, sizeof(like->text));
	__atomic_store_n(&rows[i].why, like->why, __ATOMIC_RELEASE);
	return &rows[i];
}

struct unseen
unseen_note(enum rec_unseen_why why, uint32_t pid, const char *path, char *const *argv)
{
	bool whole;
	struct unseen u = {.head = life_notes(&whole)};
	struct rec_unseen *rows, mine;

	if (u.head == NULL)
		return u;
	__atomic_fetch_add(&u.head->lost[REC_LOST_EXEC], 1, __ATOMIC_RELAXED);
	if (!whole)
		return u;
	rows = (struct rec_unseen *)(void *)((unsigned char *)u.head + REC_UNSEEN_OFF);
	mine.why = why;
	mine.pid = pid;
	mine.ms = (uint32_t)u.head->clock_ms;
	fill(&mine, path, argv);
	/* What this process itself becomes has a row of its own: its end is known by its
	 * number. */
	if (pid != u.head->pid)
		u.row = known(rows, __atomic_load_n(&u.head->unseen, __ATOMIC_RELAXED),
			      &mine);
	if (u.row != NULL)
		__atomic_fetch_add(&u.row->count, 1, __ATOMIC_RELAXED);
	else
		u.row = publish(u.head, rows, &mine);
	return u;
}

void
unseen_take_back(const struct unseen *u)
{
	if (u->head == NULL)
		return;
	__atomic_fetch_sub(&u->head->lost[REC_LOST_EXEC], 1, __ATOMIC_RELAXED);
	if (u->row != NULL)
		__atomic_fetch_sub(&u->row->count, 1, __ATOMIC_RELAXED);
}
