# SPDX-License-Identifier: MIT
"""seep in the place of jemalloc's profiler, beside that profiler itself.

Both get the same MALLOC_CONF, each is measured against its own allocator unprofiled: libseep.so
over glibc against glibc, libjemalloc.so.2 with prof:true against itself with prof:false. Rounds are
interleaved and each base runs twice: the second is the control. Three tables come of it: the
default rate at size L; every allocation (lg_prof_sample:0) at size S, where jemalloc takes 4 KiB a
block; and how long a malloc of another thread waits while profiles are dumped.

A program that brings its own jemalloc (redis) is profiled by seep over that jemalloc, because
seep has been told to (SEEP=compat=jemalloc)."""

import os
import re
import shutil
import statistics

from driver.peers import LEVELS, Peer, built, library, plain, preload
from driver.programs import Command
from driver.rounds import Failed, calibrate, round_up, run_level, summary

RATE_CONF = "prof:true,prof_final:true,prof_prefix:{out}/je"
EXACT_CONF = RATE_CONF + ",lg_prof_sample:0"
PROGRAMS = ["churn1", "churn2", "deep", "live", "cxx", "sqlite", "python", "redis"]
SHORT_PROGRAMS = ["churn1", "live", "sqlite"]
FACTOR_TARGET = 5.0

DUMP_STACKS = 20_000
DUMP_RUNS = 5
WAIT_TARGET_US = 1000


class Libraries:
    """Where both are, and why they cannot be compared, or None."""

    def __init__(self, build):
        self.seep = built(build, "libseep.so")
        self.jemalloc = library("libjemalloc.so.2")
        self.missing = ("libseep.so is not built" if self.seep is None else
                        "libjemalloc.so.2 is not installed" if self.jemalloc is None else None)

    def bases(self):
        return {"glibc": plain, "jemalloc": preload(self.jemalloc, MALLOC_CONF="prof:false")}

    def peers(self, program, conf, level):
        force = {"SEEP": "compat=jemalloc"} if program.brings_jemalloc else {}
        bases = self.bases()
        return [
            Peer("seep's control", "control", "glibc", level, plain),
            Peer("seep", "dropin", "glibc", level,
                 preload(self.seep, MALLOC_CONF=conf, **force)),
            Peer("jemalloc's control", "control", "jemalloc", level, bases["jemalloc"]),
            Peer("jemalloc", "dropin", "jemalloc", level,
                 preload(self.jemalloc, MALLOC_CONF=conf)),
        ]


def level_rows(runner, libraries, program, conf, level, size, rounds, say):
    """Rows by the peer's name, with CPU seconds and memory above the base."""
    rows = {}
    for row in run_level(runner, program, size, libraries.peers(program, conf, level),
                         libraries.bases(), rounds, say):
        if row.peer is None:
            continue
        found = summary(row, level, size, {})
        if "failed" not in found:
            above = [a - b for a, b in zip(row.timed("cpu"), row.base.timed("cpu"))]
            found["above_s"] = statistics.median(above)
            found["base_s"] = statistics.median(row.base.timed("cpu"))
            found["above_bytes"] = found["peak_bytes"] - found["base_peak_bytes"]
            # Nothing written: it was not profiled, whatever it cost.
            if row.peer.kind == "dropin" and row.samples[-1].out_bytes == 0:
                found["failed"] = "no profile"
        rows[row.name] = found
    return rows


def factor(rows, what):
    """How many times less seep's is than jemalloc's; None without both, or for next to nothing."""
    ours, theirs = rows["seep"], rows["jemalloc"]
    if "failed" in ours or "failed" in theirs or ours[what] <= 0:
        return None
    return theirs[what] / ours[what]


def of_program(runner, libraries, program, options, say):
    size = calibrate(runner, plain, program, options.base_seconds)
    exact_size = max(program.least, round_up(size * LEVELS["S"]))
    rate = level_rows(runner, libraries, program, RATE_CONF, "L", size, options.rounds, say)
    exact = level_rows(runner, libraries, program, EXACT_CONF, "S", exact_size,
                       min(options.rounds, options.slow_rounds), say)
    return {"size": size, "rate": rate, "exact_size": exact_size, "exact": exact,
            "time_factor": factor(exact, "above_s"),
            "memory_factor": factor(exact, "above_bytes")}


def stacks_written(path):
    try:
        with open(path, errors="replace") as f:
            return len(re.findall(r"^@ ", f.read(), re.M))
    except OSError:
        return 0


def dump_runs(runner, libraries, name, times, say):
    """One row of the table of waits: the worst of all runs."""
    library_path = libraries.seep if name == "seep" else libraries.jemalloc
    exe = runner.place.compile("dump_wait.c", "dump_wait", ["-pthread"])
    start = preload(library_path, MALLOC_CONF="prof:true,lg_prof_sample:0")
    runs = []
    for number in range(times):
        say("dump_wait  %d/%d  %s" % (number + 1, times, name))
        folder = runner.folder()
        path = os.path.join(folder, "out", "wait.heap")
        try:
            sample = runner.run(start, Command([exe, str(DUMP_STACKS), path]), folder)
            if stacks_written(path) < DUMP_STACKS:
                raise Failed("%d stacks written" % stacks_written(path))
            runs.append(sample.counts)
        except Failed as why:
            return {"peer": name, "failed": str(why)}
        finally:
            shutil.rmtree(folder)
    worst = {"wait_us", "any_us", "quiet_us"}
    return {"peer": name, "runs": runs,
            **{key: (max if key in worst else statistics.median)(r[key] for r in runs)
               for key in runs[0]},
            "over": sum(r["over"] for r in runs), "pairs": sum(r["pairs"] for r in runs)}


def dropin(runner, programs, options, say):
    libraries = Libraries(runner.place.build)
    if libraries.missing:
        return {"failed": libraries.missing}
    wanted = SHORT_PROGRAMS if options.short else PROGRAMS
    result = {"programs": {}, "judged": not options.quick, "factor_target": FACTOR_TARGET,
              "wait_target_us": WAIT_TARGET_US}
    for program in programs:
        if program.name not in wanted and not options.only:
            continue
        program.prepare(runner.place)
        if program.missing:
            result["programs"][program.name] = {"failed": program.missing}
            continue
        try:
            result["programs"][program.name] = of_program(runner, libraries, program, options,
                                                          say)
        except Failed as why:
            result["programs"][program.name] = {"failed": str(why)}
    times = 1 if options.quick else DUMP_RUNS
    result["dumps"] = [dump_runs(runner, libraries, name, times, say)
                       for name in ("seep", "jemalloc")]
    return result
