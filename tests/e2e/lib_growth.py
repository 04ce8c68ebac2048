#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes programs that leak slowly and programs that only look so, for growth.sh.

    lib_growth.py FOLDER [COUNT]

Each program runs 500 steps of 5 ms, by the clock, so that a machine under load does not make it
longer: a step that comes late is followed by the next at once. A dozen places of its own go up and
down by a fifth all the time. One place more is its subject. FOLDER/list gets a line for each:

    NAME frees|keeps|quiet KIND LINE RATE

where LINE is that of the subject's allocation, and RATE is a distance of samples at which a leak is
expected to have 60. A leak "frees" if it frees most of its blocks, and "keeps" if it never freed any:
then it looks like a cache that fills. Sizes, numbers and moments come from the program's number, so they are the same
every time.
"""
import math
import pathlib
import random
import sys

STEPS = 500
NOISES = 12
SAMPLES = 60

HEAD = """\
/* %(name)s: %(kind)s, %(truth)s. Written by lib_growth.py. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = %(steps)d };
static unsigned long long seed = %(seed)dull;
static void *volatile sink;

static unsigned
chance(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) %% n;
}

static void
pause_until(long ms)
{
	static struct timespec start;
	struct timespec at;

	if (start.tv_sec == 0)
		clock_gettime(CLOCK_MONOTONIC, &start);
	at = start;
	at.tv_nsec += ms %% 1000 * 1000000;
	at.tv_sec += ms / 1000 + at.tv_nsec / 1000000000;
	at.tv_nsec %%= 1000000000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}
"""

NOISE = """
static void *slots_%(n)d[%(slots)d];
__attribute__((noinline)) static void
noise_%(n)d(unsigned times)
{
	while (times-- > 0) {
		unsigned i = chance(%(slots)d);

		if (slots_%(n)d[i] == NULL) {
			slots_%(n)d[i] = malloc(%(least)d + chance(%(range)d));
		} else {
			free(slots_%(n)d[i]);
			slots_%(n)d[i] = NULL;
		}
	}
}
"""

MAIN = """
%(subject)s

int
main(void)
{
%(before)s
	for (int step = 0; step < STEPS; step++) {
%(noises)s
		if (step == 0) {
%(first)s
		}
%(step)s
		pause_until((step + 1) * 5);
	}
%(after)s
	return 0;
}
"""


def function(body, result="void *", arguments="void"):
    return f"__attribute__((noinline)) static {result}\nsubject({arguments})\n{{\n{body}\n}}\n"


# ---- leaks: each gives (subject, before, step, after, blocks leaked, bytes of one).
# FREES has those that free most. ----


def leak_steady(r):
    every, size = r.randint(2, 7), r.choice([24, 72, 200, 1000, 4000])
    return (function(f"\treturn malloc({size}); /* HERE */"), "", f"\t\tif (step % {every} == 0)\n\t\t\tsink = subject();",
            "", STEPS // every, size)


def leak_by_chance(r):
    one_in, size = r.randint(2, 6), r.choice([32, 120, 600, 2000])
    return (function(f"\treturn calloc(1, {size}); /* HERE */"), "", f"\t\tif (chance({one_in}) == 0)\n\t\t\tsink = subject();",
            "", STEPS // one_in, size)


def leak_any_size(r):
    every, most = r.randint(2, 5), r.choice([200, 900, 3000])
    return (function(f"\treturn malloc(16 + chance({most})); /* HERE */"), "",
            f"\t\tif (step % {every} == 1)\n\t\t\tsink = subject();", "", STEPS // every, 16 + most // 2)


def leak_later(r):
    start, size = r.randint(120, 160), r.choice([64, 300, 1500])
    body = (f"\tchar text[{size}];\n\n\tmemset(text, 'x', sizeof text - 1);\n\ttext[sizeof text - 1] = 0;\n"
            "\treturn strdup(text); /* HERE */")
    return (function(body), "", f"\t\tif (step > {start} && step % 3 == 0)\n\t\t\tsink = subject();", "",
            (STEPS - start) // 3, size)


def leak_after_table(r):
    table, size = r.randint(100, 300), r.choice([48, 160, 512])
    return (function(f"\treturn malloc({size}); /* HERE */"),
            f"\tfor (int i = 0; i < {table}; i++)\n\t\tsink = subject();",
            "\t\tif (step % 4 == 0)\n\t\t\tsink = subject();", "", STEPS // 4, size)


def leak_in_thread(r):
    size = r.choice([40, 250, 1200])
    subject = (function(f"\treturn malloc({size}); /* HERE */") +
               "static void *\nwork(void *unused)\n{\n\tfor (int i = 0; i < STEPS / 3; i++) {\n\t\tsink = subject();\n"
               "\t\tusleep(14500);\n\t}\n\treturn unused;\n}\n")
    return (subject, "\tpthread_t t;\n\n\tpthread_create(&t, NULL, work, NULL);", "", "\tpthread_join(t, NULL);",
            STEPS // 3, size)


def leak_on_rare_path(r):
    one_in, size = r.randint(3, 5), r.choice([80, 400, 1800])
    body = f"\tvoid *p = malloc({size}); /* HERE */\n\n\treturn p;"
    step = (f"\t\tfor (int i = 0; i < 6; i++) {{\n\t\t\tvoid *p = subject();\n\n\t\t\tif (i > 0 || step % {one_in} != 0)\n"
            "\t\t\t\tfree(p);\n\t\t\tsink = p;\n\t\t}")
    return function(body), "", step, "", STEPS // one_in, size


def leak_into_list(r):
    size = r.choice([56, 128, 720])
    subject = "static void **list;\n" + function(f"\tvoid **p = malloc({size}); /* HERE */\n\n\t*p = list;\n\tlist = p;\n\treturn p;")
    return subject, "", "\t\tif (step % 3 != 0)\n\t\t\tsubject();", "", STEPS * 2 // 3, size


def leak_in_bursts(r):
    every, burst, size = r.randint(12, 20), r.randint(3, 9), r.choice([64, 333])
    return (function(f"\treturn malloc({size}); /* HERE */"), "",
            f"\t\tfor (int i = 0; step % {every} == 0 && i < {burst}; i++)\n\t\t\tsink = subject();", "",
            STEPS // every * burst, size)


def leak_in_child(r):
    size = r.choice([90, 640])
    return (function(f"\treturn malloc({size}); /* HERE */"),
            "\tint child = fork();\n\n\tif (child != 0) {\n\t\twaitpid(child, NULL, 0);\n\t\treturn 0;\n\t}",
            "\t\tif (step % 5 == 2)\n\t\t\tsink = subject();", "", STEPS // 5, size)


def leak_of_sessions(r):
    life, one_in, size = r.randint(6, 20), r.randint(4, 8), r.choice([96, 480, 2200])
    subject = f"static void *session[{life}];\n" + function(f"\treturn malloc({size}); /* HERE */")
    step = (f"\t\tif (step % {one_in} != 0)\n\t\t\tfree(session[step % {life}]);\n"
            f"\t\tsession[step % {life}] = subject();")
    return subject, "", step, "", STEPS // one_in, size


def leak_of_batches(r):
    batch, size = r.randint(8, 12), r.choice([64, 300, 1100])
    subject = f"static void *batch[{batch}];\n" + function(f"\treturn calloc(1, {size}); /* HERE */")
    step = (f"\t\tbatch[step % {batch}] = subject();\n\t\tif (step % {batch} == {batch - 1}) {{\n"
            f"\t\t\tfor (int i = 1; i < {batch}; i++)\n\t\t\t\tfree(batch[i]);\n\t\t}}")
    return subject, "", step, "", STEPS // batch, size


def leak_of_some(r):
    one_in, size = r.randint(12, 20), r.choice([40, 256, 900])
    step = (f"\t\tfor (int i = 0; i < 3; i++) {{\n\t\t\tsink = subject();\n\t\t\tif (chance({one_in}) != 0)\n"
            "\t\t\t\tfree(sink);\n\t\t}")
    return function(f"\treturn malloc({size}); /* HERE */"), "", step, "", STEPS * 3 // one_in, size


# ---- what is no leak ----


def cache_fills(r):
    full, size = r.randint(150, 320), r.choice([100, 900, 5000])
    return (function(f"\treturn malloc({size}); /* HERE */"), "", f"\t\tif (step < {full})\n\t\t\tsink = subject();", "", 0, 0)


def cache_random_keys(r):
    slots = r.randint(60, 150)
    return (f"static void *cache[{slots}];\n" + function(f"\treturn malloc({r.randint(100, 4000)}); /* HERE */"), "",
            f"\t\tunsigned key = chance({slots});\n\n\t\tif (cache[key] == NULL)\n\t\t\tcache[key] = subject();", "", 0, 0)


def cache_evicts(r):
    slots = r.randint(50, 200)
    return (f"static void *cache[{slots}];\n" + function(f"\treturn malloc({r.randint(100, 4000)}); /* HERE */"), "",
            f"\t\tunsigned key = chance({slots});\n\n\t\tfree(cache[key]);\n\t\tcache[key] = subject();", "", 0, 0)


def pool_on_demand(r):
    most = r.randint(20, 60)
    subject = (f"static void *pool[{most + 1}];\nstatic unsigned pooled, out;\n" +
               function(f"\treturn malloc({r.randint(200, 3000)}); /* HERE */"))
    step = (f"\t\tunsigned want = {most // 2} + chance({most // 2});\n\n\t\twhile (pooled < want)\n"
            "\t\t\tpool[pooled++] = subject();\n\t\tout = want;\n\t\tsink = pool[out - 1];")
    return subject, "", step, "", 0, 0


def ramp_up(r):
    workers, ramp = r.randint(40, 120), r.randint(100, 250)
    return (function(f"\treturn malloc({r.randint(500, 9000)}); /* HERE */"), "",
            f"\t\tif (step < {ramp} && step * {workers} / {ramp} != (step + 1) * {workers} / {ramp})\n\t\t\tsink = subject();",
            "", 0, 0)


def periodic_job(r):
    period = r.randint(60, 200)
    subject = ("static void *work[1000];\nstatic unsigned works;\n" +
               function(f"\treturn malloc({r.randint(100, 3000)}); /* HERE */"))
    return (subject, "", f"\t\twork[works++] = subject();\n\t\tif (step % {period} == {period - 1}) {{\n"
            "\t\t\twhile (works > 0)\n\t\t\t\tfree(work[--works]);\n\t\t}", "", 0, 0)


def queue_in_waves(r):
    level, wave = r.randint(60, 200), r.randint(80, 300)
    subject = (f"static void *queue[{level * 2}];\nstatic unsigned head, tail;\n" +
               function(f"\treturn malloc({r.randint(100, 3000)}); /* HERE */"))
    step = (f"\t\tunsigned want = {level} + (step / {wave} % 2 == 0 ? 1 : -1) * (int)chance({level // 5});\n\n"
            f"\t\tdo {{\n\t\t\tqueue[head++ % {level * 2}] = subject();\n\t\t}} while (head - tail < want);\n"
            f"\t\twhile (head - tail > want)\n\t\t\tfree(queue[tail++ % {level * 2}]);")
    return subject, "", step, "", 0, 0


def vector_doubles(r):
    subject = ("static char *vector;\nstatic size_t used, room;\n" +
               function(f"\tif (used + {r.randint(40, 200)} > room)\n\t\tvector = realloc(vector, room = room * 2 + 64); /* HERE */\n"
                        f"\tused += {r.randint(40, 200)};\n\treturn vector;"))
    return subject, "", "\t\tsink = subject();", "", 0, 0


def log_grows(r):
    subject = ("static char *text;\nstatic size_t used;\n" +
               function(f"\ttext = realloc(text, used += {r.randint(20, 300)}); /* HERE */\n\treturn text;"))
    return subject, "", "\t\tsink = subject();", "", 0, 0


def sessions_end(r):
    slots, one_in = r.randint(80, 200), r.randint(80, 130)
    subject = (f"static void *session[{slots}];\n" + function(f"\treturn malloc({r.randint(300, 5000)}); /* HERE */"))
    step = (f"\t\tfor (unsigned i = 0; i < {slots}; i++) {{\n\t\t\tif (session[i] != NULL && chance({one_in}) == 0) {{\n"
            "\t\t\t\tfree(session[i]);\n\t\t\t\tsession[i] = NULL;\n\t\t\t}\n\t\t}\n"
            f"\t\tfor (unsigned i = 0; i < {slots}; i++) {{\n\t\t\tif (session[i] == NULL) {{\n\t\t\t\tsession[i] = subject();\n"
            "\t\t\t\tbreak;\n\t\t\t}\n\t\t}")
    return subject, "", step, "", 0, 0


def held_until_exit(r):
    subject = ("static void **list;\n" + function(f"\tvoid **p = malloc({r.randint(64, 900)}); /* HERE */\n\n\t*p = list;\n"
                                                  "\tlist = p;\n\treturn p;") +
               "static void\nclean_up(void)\n{\n\twhile (list != NULL) {\n\t\tvoid **p = list;\n\n\t\tlist = *p;\n"
               "\t\tfree(p);\n\t}\n}\n")
    return subject, "\tatexit(clean_up);", "\t\tif (step % 2 == 0)\n\t\t\tsubject();", "", 0, 0


def big_start(r):
    blocks = r.randint(200, 900)
    return (function(f"\treturn malloc({r.randint(100, 3000)}); /* HERE */"),
            f"\tfor (int i = 0; i < {blocks}; i++)\n\t\tsink = subject();", "\t\tif (step % 100 == 99)\n\t\t\tfree(malloc(9999));",
            "", 0, 0)


LEAKS = [leak_steady, leak_by_chance, leak_any_size, leak_later, leak_after_table, leak_in_thread, leak_on_rare_path,
         leak_into_list, leak_in_bursts, leak_in_child, leak_of_sessions, leak_of_batches, leak_of_some]
FREES = [leak_on_rare_path, leak_of_sessions, leak_of_batches, leak_of_some]
QUIET = [cache_fills, cache_random_keys, cache_evicts, pool_on_demand, ramp_up, periodic_job, queue_in_waves, vector_doubles,
         log_grows, sessions_end, held_until_exit, big_start]


def noises(r):
    """The functions, and the calls that fill them at first and keep them moving."""
    text, first, step = "", "", ""
    for n in range(NOISES):
        slots = r.choice([20, 60, 150])
        text += NOISE % {"n": n, "slots": slots, "least": r.randint(16, 400), "range": r.choice([1, 100, 3000])}
        first += f"\t\t\tnoise_{n}({slots * 2});\n"
        step += f"\t\tnoise_{n}({max(1, slots // 25)});\n"
    return text, first, step


def write(folder, number, kind, leaks):
    r = random.Random(1009 * number + leaks)
    name = f"{'leak' if leaks else 'quiet'}_{number:02d}"
    subject, before, step, after, blocks, size = kind(r)
    text, first, moving = noises(r)
    head = {"name": name, "kind": kind.__name__.replace("_", " "), "truth": "a leak" if leaks else "no leak",
            "steps": STEPS, "seed": r.getrandbits(40) | 1}
    source = HEAD % head + text + MAIN % {"subject": subject, "before": before, "noises": moving, "first": first,
                                          "step": step, "after": after}
    (folder / f"{name}.c").write_text(source)
    line = next(i for i, text in enumerate(source.split("\n"), 1) if "/* HERE */" in text)
    rate = int(size / -math.log(1 - SAMPLES / blocks)) if blocks > SAMPLES else 1 if leaks else 1000
    truth = "quiet" if not leaks else "frees" if kind in FREES else "keeps"
    return f"{name} {truth} {kind.__name__} {line} {rate}\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 24
    rows = ""
    for i in range(count):
        rows += write(folder, i, LEAKS[i % len(LEAKS)], True)
        rows += write(folder, i, QUIET[i % len(QUIET)], False)
    (folder / "list").write_text(rows)


main()
