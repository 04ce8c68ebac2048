/* SPDX-License-Identifier: MIT */
/* test_exec_env.c -- our two variables, added to environments, taken out of them, and
 * hidden again. */
/* sources: src/guest/life/exec_env.c */
#include "t.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "guest/life/exec_env.h"

static char dir[] = "/tmp/seep-exec-env-XXXXXX";
static char library[64], preload[80];
static char *began[] = {preload, "SEEP=mode=exact,run=1", NULL};

/* As the recorder finds it when it begins. */
static void
begin(void)
{
	static bool made;

	if (!made) {
		made = mkdtemp(dir) != NULL;
		snprintf(library, sizeof library, "%s/libseep.so", dir);
		snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
		close(open(library, O_CREAT | O_WRONLY, 0600));
	}
	environ = began;
	exec_env_keep(true);
}

/* The entries with a blank between, our own library's path as OURS. */
static const char *
shown(char *const *env)
{
	static char text[2048];
	char *at;

	text[0] = '\0';
	for (; *env != NULL; env++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
			 text[0] != '\0' ? " " : "", *env);
	while ((at = strstr(text, library)) != NULL) {
		memmove(at + 4, at + strlen(library), strlen(at + strlen(library)) + 1);
		memcpy(at, "OURS", 4);
	}
	return text;
}

static const char *
with(char **env)
{
	static char *room[1024];

	T_CHECK(exec_env_bytes(env) <= sizeof room);
	return shown(exec_env_with(env, room));
}

static const char *
without(char **env)
{
	static char *room[1024];

	T_CHECK(exec_env_bytes(env) <= sizeof room);
	return shown(exec_env_without(env, room));
}

#define ENV(...)                                                                         \
	(char *[])                                                                       \
	{                                                                                \
		__VA_ARGS__, NULL                                                        \
	}

T_TEST(added_where_missing)
{
	begin();
	T_CHECK(exec_env_follows());
	T_EQ(exec_env_cannot_add(), REC_UNSEEN_NONE);
	T_CHECK(exec_env_is_whole(began));
	T_CHECK(!exec_env_is_whole(NULL));
	T_CHECK(!exec_env_is_whole(ENV("A=1")));
	T_CHECK(!exec_env_is_whole(ENV(preload)));
	T_CHECK(!exec_env_is_whole(ENV("LD_PRELOAD=x.so", "SEEP=")));
	T_STR(with(NULL), "LD_PRELOAD=OURS SEEP=mode=exact,run=1,hidden=1");
	T_STR(with(ENV("A=1", "B=2")),
	      "LD_PRELOAD=OURS SEEP=mode=exact,run=1,hidden=1 A=1 B=2");
	T_STR(with(ENV("A=1", "LD_PRELOAD=x.so:y.so")),
	      "LD_PRELOAD=OURS:x.so:y.so SEEP=mode=exact,run=1,hidden=1 A=1");
	T_STR(with(ENV("A=1", preload)),
	      "SEEP=mode=exact,run=1,hidden=1 A=1 LD_PRELOAD=OURS");
	/* what the program says itself is left alone */
	T_STR(with(ENV("SEEP=mode=off")), "LD_PRELOAD=OURS SEEP=mode=off");
}

T_TEST(taken_out)
{
	begin();
	T_STR(without(ENV("A=1", preload, "SEEP=x", "B=2")), "A=1 B=2");
	T_STR(without(ENV("LD_PRELOAD=a.so:/q/libseep.so b.so:/q/libseep_copy.so")),
	      "LD_PRELOAD=a.so:b.so");
	T_STR(without(ENV("A=1", "LD_PRELOADS=libseep.so", "SEEPS=1")),
	      "A=1 LD_PRELOADS=libseep.so SEEPS=1");
	T_STR(without((char *[]){NULL}), "");
}

static const char *
hidden(char **env)
{
	environ = env;
	exec_env_hide();
	return shown(environ);
}

T_TEST(hidden_again)
{
	char *room[64], text[256];

	begin();
	T_STR(hidden((char **)(uintptr_t)exec_env_with(ENV("A=1"), room)), "A=1");
	T_STR(hidden((char **)(uintptr_t)exec_env_with(NULL, room)), "");
	T_STR(hidden((char **)(uintptr_t)exec_env_with(ENV("A=1", "LD_PRELOAD=x.so:y.so"),
						       room)),
	      "LD_PRELOAD=x.so:y.so A=1");
	snprintf(text, sizeof text, "%s", preload);
	T_STR(hidden((char **)(uintptr_t)exec_env_with(ENV("A=1", text), room)),
	      "A=1 LD_PRELOAD=OURS");
	/* inherited: as it is */
	T_STR(hidden(ENV(text, "SEEP=mode=exact", "A=1")),
	      "LD_PRELOAD=OURS SEEP=mode=exact A=1");
	T_STR(hidden((char *[]){NULL}), "");
}

/* The mark is not added twice when it is handed on. */
T_TEST(handed_on)
{
	char *room[64];

	begin();
	exec_env_with(NULL, room);
	room[0] = strdup(room[0]);
	room[1] = strdup(room[1]);
	environ = room;
	exec_env_keep(true);
	free(room[0]);
	free(room[1]);
	T_STR(with(ENV("A=1")), "LD_PRELOAD=OURS SEEP=mode=exact,run=1,hidden=1 A=1");
}

T_TEST(cannot_be_added)
{
	begin();
	T_EQ(unlink(library), 0);
	T_EQ(exec_env_cannot_add(), REC_UNSEEN_LIBRARY);
	T_EQ(rmdir(dir), 0);
}

T_MAIN()
