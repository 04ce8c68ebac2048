# SPDX-License-Identifier: MIT
"""Programs with many stacks, and runs with many processes: bytes a site, the tool's memory, the sizes of what it
writes, and wall time and room of thousands of short processes and of forks."""

import glob
import gzip
import os
import subprocess
import time

from driver.peers import built

SITES = 264_000
RUNS = 10_000
FORKS = 300
SITES_FLAGS = ["-O1", "-fno-inline", "-fno-optimize-sibling-calls"]
MB = 1e6
LOOP = "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done"
ALLOCATORS = [("glibc", None), ("jemalloc", "libjemalloc.so.2"), ("tcmalloc", "libtcmalloc_minimal.so.4"),
              ("mimalloc", "libmimalloc.so.2")]


def anonymous(argv):
    """Most anonymous memory that the command itself had, in MB."""
    most = 0
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as p:
        while p.poll() is None:
            try:
                with open("/proc/%d/status" % p.pid) as f:
                    most = max([most] + [int(line.split()[1]) for line in f
                                         if line.startswith("RssAnon:")])
            except OSError:
                pass
            time.sleep(0.002)
    return most * 1024 / MB


def wall(argv, env=None):
    start = time.monotonic()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                   env={**os.environ, **(env or {})})
    return time.monotonic() - start


def on_disk(folder):
    return sum(os.stat(path).st_blocks * 512 for path in glob.glob(os.path.join(folder, "*"))) / MB


def row(what, figure, unit, target):
    return {"what": what, "figure": figure, "unit": unit, "target": target}


def packed_mb(path):
    with open(path, "rb") as f:
        return len(gzip.compress(f.read(), 6)) / MB


def stacks(runner, options, say):
    seep, work = built(runner.place.build, "seep"), runner.work
    rec, pprof, scope = (os.path.join(work, "many." + end) for end in ("rec", "pb.gz", "speedscope.json"))
    json = os.path.join(work, "many.json")
    sites = SITES // 100 if options.quick else SITES
    binary = runner.place.compile("sites.c", "sites", SITES_FLAGS)
    say("many: %d sites" % sites)
    rows = [row("seep run, %d sites: anonymous memory" % sites,
                anonymous([seep, "run", "-o", rec, "--", binary, str(sites)]), "MB", 128),
            row("seep report of it", anonymous([seep, "report", rec]), "MB", 128),
            row("seep report --json", anonymous([seep, "report", "--json", rec]), "MB", None)]
    for out in (pprof, scope):
        subprocess.run([seep, "convert", rec, out], check=True, stderr=subprocess.DEVNULL)
    with open(json, "wb") as f:
        subprocess.run([seep, "report", "--json", rec], check=True, stdout=f)
    base = os.path.getsize(pprof) / MB
    for name, path in (("--json", json), ("speedscope", scope)):
        rows.append(row("%s, packed, beside pprof's %.1f MB" % (name, base), packed_mb(path) / base, "x", 5))
    return rows


def processes(runner, options, say):
    seep, work = built(runner.place.build, "seep"), runner.work
    runs = RUNS // 100 if options.quick else RUNS
    loop, rec = ["/bin/bash", "-c", LOOP % runs], os.path.join(work, "loop.rec")
    rows = []
    say("many: %d runs of /bin/true" % runs)
    base = wall(loop)
    for name, extra, target in (("--no-leak-check", ["--no-leak-check"], 3), ("leak check", [], 6)):
        took = wall([seep, "run", *extra, "-o", rec, "--", *loop])
        rows.append(row("%d runs of /bin/true, %s, plain %.1f s" % (runs, name, base), took / base, "x", target))
    rows.append(row("recording of these", os.path.getsize(rec) / MB, "MB", 200))
    folder = os.path.join(work, "live")
    os.mkdir(folder)
    took = wall(loop, {"LD_PRELOAD": built(runner.place.build, "libseep.so"),
                       "SEEP": "mode=exact,dir=" + folder})
    rows.append(row("the same with SEEP=dir=", took / base, "x", None))
    rows.append(row("its files", on_disk(folder), "MB", 200))
    return rows


def forks(runner, options, say):
    seep = built(runner.place.build, "seep")
    source = os.path.join(runner.place.root, "tests", "programs", "many_forks.c")
    binary = runner.place.compile(source, "many_forks", ["-pthread", "-fno-builtin"])
    count = FORKS // 10 if options.quick else FORKS
    rows = []
    for name, library in ALLOCATORS:
        found = glob.glob("/usr/lib/*/" + library) if library else [""]
        if not found:
            continue
        say("many: forks over " + name)
        env, rec = {"LD_PRELOAD": found[0]}, os.path.join(runner.work, "forks.rec")
        base = wall([binary, str(count)], env)
        for words, extra in (("--no-leak-check", ["--no-leak-check"]), ("leak check", [])):
            took = wall([seep, "run", *extra, "-o", rec, "--", binary, str(count)], env)
            rows.append(row("%d forks, 4 threads, %s, %s, plain %.2f s" % (count, name, words, base),
                            took / base, "x", 3))
    return rows


def many(runner, options, say):
    return {"judged": not options.quick,
            "rows": stacks(runner, options, say) + processes(runner, options, say)
            + forks(runner, options, say)}
