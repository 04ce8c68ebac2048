# SPDX-License-Identifier: MIT
"""Measuring: one run, calibration of sizes, interleaved rounds, and what follows from them.

A run goes through the measure program, which accounts for everything the command starts.
Rounds are interleaved (base, A, B, base, A, B) so that a machine that slows down for a while
slows all of them; ratios are taken within a round, then the median over the rounds. The
first round looks at memory, which disturbs, so its times are not used."""

import os
import re
import shutil
import socket
import statistics
import subprocess
import time

from driver import machine
from driver.peers import LEVELS
from driver.programs import Command

LOOK_MS = 50
SHORT_S = 0.3  # a base shorter than this is run three times a round
# Variables that would change what is measured if the caller happened to have them set.
FOREIGN = ["LD_PRELOAD", "SEEP", "MALLOC_CONF", "HEAPPROFILE", "LSAN_OPTIONS", "PYTHONMALLOC",
           "MALLOC_TRACE", "GLIBC_TUNABLES", "VALGRIND_OPTS"]


class Failed(Exception):
    """A run that gives no figure; the message is what the table says instead."""


class Sample:
    """What one run took. `peak` is the largest resident size of any one process of it, or
    of the tree together if that was looked at and was larger."""

    def __init__(self, values):
        self.cpu = values["user_s"] + values["sys_s"]
        self.wall = values["wall_s"]
        self.peak = max(values["maxrss_bytes"], values["tree_bytes"])
        self.procs = int(values["procs"])
        self.counts = {}
        self.out_bytes = 0
        self.busy_elsewhere = None  # cores, None when the run was too short to say


class Runner:
    def __init__(self, place, work, limit_s):
        self.place = place
        self.work = work  # folder for files of the runs
        self.limit_s = limit_s
        self.measure = place.compile(
            os.path.join(place.root, "bench", "driver", "measure.c"), "measure")
        self.serial = 0

    def folder(self):
        self.serial += 1
        path = os.path.join(self.work, "%d" % self.serial)
        os.makedirs(os.path.join(path, "out"))
        return path

    def popen(self, folder, argv, env, stdin, look):
        args = [self.measure, "-r", os.path.join(folder, "result"), "-t", str(self.limit_s)]
        if look:
            args += ["-i", str(LOOK_MS)]
        for name, value in env.items():
            args += ["-e", "%s=%s" % (name, value)]
        clean = {k: v for k, v in os.environ.items() if k not in FOREIGN}
        with open(stdin or os.devnull) as fin, \
                open(os.path.join(folder, "stdout"), "w") as fout, \
                open(os.path.join(folder, "stderr"), "w") as ferr:
            return subprocess.Popen(args + ["--"] + argv, stdin=fin, stdout=fout, stderr=ferr,
                                    env=clean, cwd=folder)

    def finish(self, folder):
        """The sample of a run that has ended, or Failed."""
        try:
            with open(os.path.join(folder, "result")) as f:
                values = {name: float(value) for name, value in map(str.split, f)}
        except OSError:
            raise Failed("did not start") from None
        if values["timed_out"]:
            raise Failed("over %d s" % self.limit_s)
        if values["no_memory"]:
            raise Failed("out of memory")
        if values["status"]:
            raise Failed("fails (%d)" % values["status"])
        sample = Sample(values)
        with open(os.path.join(folder, "stdout"), errors="replace") as f:
            found = re.search(r"^count (.*)$", f.read(), re.M)
        if found:
            sample.counts = {k: int(v) for k, v in
                             (word.split("=") for word in found.group(1).split())}
        sample.out_bytes = folder_bytes(os.path.join(folder, "out"))
        return sample

    def run(self, start, command, folder=None, look=False):
        """Runs a Command under `start` (of a peer or a base); keeps files if given a folder."""
        own = folder is None
        folder = folder or self.folder()
        argv, env = start(command, os.path.join(folder, "out"))
        before, began = machine.busy_seconds(), time.monotonic()
        try:
            self.popen(folder, argv, {**command.env, **env}, command.stdin, look).wait()
            sample = self.finish(folder)
            took = time.monotonic() - began
            if took > 0.2:
                spent = machine.busy_seconds() - before - sample.cpu
                sample.busy_elsewhere = max(0.0, spent / took)
            return sample
        finally:
            if own:
                shutil.rmtree(folder)

    def run_server(self, start, program, size, folder=None, look=False):
        """As run, for a server: the load runs outside, wall is the time the load took."""
        own = folder is None
        folder = folder or self.folder()
        path = os.path.join(folder, "socket")
        argv, env = start(program.server_command(folder, path), os.path.join(folder, "out"))
        server = self.popen(folder, argv, env, None, look)
        try:
            server_wait(server, path, self.limit_s)
            began = time.monotonic()
            load = subprocess.run(program.load_argv(path, size), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=self.limit_s)
            took = time.monotonic() - began
            server_stop(path)
            server.wait()
            if load.returncode:
                raise Failed("load fails (%d)" % load.returncode)
            sample = self.finish(folder)
            sample.wall = took
            return sample
        except subprocess.TimeoutExpired:
            raise Failed("over %d s" % self.limit_s) from None
        finally:
            server.wait()  # the time limit of measure ends it if nothing else did
            if own:
                shutil.rmtree(folder)

    def program(self, start, program, size, folder=None, look=False):
        if program.server:
            return self.run_server(start, program, size, folder, look)
        sample = self.run(start, program.command(size), folder, look)
        if program.counts and not sample.counts:
            raise Failed("no count")
        return sample

    def true_cpu(self, start, times):
        """CPU seconds for /bin/true: the fixed cost of starting and ending."""
        command = Command(["/bin/true"])
        return statistics.median(self.run(start, command).cpu for _ in range(times))


def folder_bytes(path):
    return sum(os.path.getsize(os.path.join(top, name))
               for top, _, names in os.walk(path) for name in names)


def server_say(path, text):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(30)
        s.connect(path)
        s.sendall(text)
        return s.recv(64)


def server_stop(path):
    try:
        server_say(path, b"SHUTDOWN NOSAVE\r\n")
    except OSError:
        pass  # it need not answer; whether it ends is seen by waiting for it


def server_wait(server, path, limit_s):
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        if server.poll() is not None:
            raise Failed("ended before it served")
        try:
            if server_say(path, b"PING\r\n").startswith(b"+PONG"):
                return
        except OSError:
            pass
        time.sleep(0.02)
    raise Failed("over %d s" % limit_s)


def round_up(n):
    """Two digits that matter: sizes a person can read and repeat."""
    unit = 10 ** max(0, len(str(int(n))) - 2)
    return -(-int(n) // unit) * unit


def calibrate(runner, base, program, seconds):
    """A size at which the plain base takes about `seconds` of CPU time, seldom less."""
    size = program.start
    while True:
        cpu = max(runner.program(base, program, size).cpu, 0.001)
        if cpu >= 0.4 * seconds or size >= program.most:
            break
        size = round_up(min(program.most, size * min(10, max(2, 0.6 * seconds / cpu))))
    return min(program.most, max(program.least, round_up(1.1 * size * seconds / cpu)))


class Row:
    """A peer (or a base) at one size: its samples, the first of them with looking."""

    def __init__(self, peer, name, start, base):
        self.peer, self.name, self.start, self.base = peer, name, start, base
        self.samples = []
        self.failed = None
        self.report = None

    def timed(self, what):
        """Per round; of the round that looked only when there is no other."""
        return [getattr(s, what) for s in (self.samples[1:] or self.samples)]


def run_level(runner, program, size, peers, bases, rounds, say):
    """Runs all rounds at one size. Returns rows: bases first, then peers."""
    used = {}
    for peer in peers:
        if peer.base not in used and bases[peer.base] is not None:
            used[peer.base] = Row(None, peer.base, bases[peer.base], None)
    rows = [Row(p, p.name, p.start, used[p.base]) for p in peers if p.base in used]
    order = []
    for base in used.values():
        order += [base] + [row for row in rows if row.base is base]

    for number in range(rounds + 1):
        for row in order:
            if row.failed or row.base is not None and row.base.failed:
                continue
            say("%s %d  round %d/%d  %s" % (program.name, size, number, rounds, row.name))
            run_row(runner, program, size, row, look=number == 0, last=number == rounds)
    return list(used.values()) + rows


def run_row(runner, program, size, row, look, last):
    folder = runner.folder()
    try:
        sample = runner.program(row.start, program, size, folder, look)
        if row.base is None and not look and sample.cpu < SHORT_S:
            more = [sample] + [runner.program(row.start, program, size) for _ in range(2)]
            sample.cpu = statistics.median(s.cpu for s in more)
            sample.wall = statistics.median(s.wall for s in more)
        row.samples.append(sample)
        if last and row.peer is not None and row.peer.report is not None:
            row.report = time_report(runner, row.peer, folder, program.exe, 1 if look else 3)
    except Failed as why:
        row.failed = str(why)
    finally:
        shutil.rmtree(folder)


def time_report(runner, peer, folder, exe, times):
    """Median wall seconds and largest memory of the peer's own text report."""
    argv = peer.report(os.path.join(folder, "out"), exe)
    if argv is None:
        return None
    samples = []
    for _ in range(times):
        try:
            samples.append(runner.run(lambda c, out: (c.argv, {}), Command(argv)))
        except Failed as why:
            return {"failed": str(why)}
    return {"wall_s": statistics.median(s.wall for s in samples),
            "peak_bytes": max(s.peak for s in samples)}


def ratios(row, what):
    pairs = zip(row.timed(what), row.base.timed(what))
    return [a / b for a, b in pairs if b > 0]


def summary(row, level, size, fixed):
    """What the tables need of a peer's row, as plain values."""
    done = {"peer": row.name, "kind": row.peer.kind, "against": row.base.name,
            "level": level, "size": size}
    if row.failed or row.base.failed:
        return {**done, "failed": row.failed or "base " + row.base.failed}
    cpu, wall = ratios(row, "cpu"), ratios(row, "wall")
    allocs = row.samples[0].counts.get("allocs")
    extra = statistics.median(row.timed("cpu")) - statistics.median(row.base.timed("cpu"))
    extra -= fixed.get(row.name, 0) - fixed.get(row.base.name, 0)
    return {
        **done,
        "cpu_s": row.timed("cpu"), "wall_s": row.timed("wall"),
        "cpu": statistics.median(cpu), "cpu_least": min(cpu), "cpu_most": max(cpu),
        "wall": statistics.median(wall),
        "peak_bytes": row.samples[0].peak, "base_peak_bytes": row.base.samples[0].peak,
        "procs": row.samples[0].procs,
        "extra_ns": extra * 1e9 / allocs if allocs else None,
        "out_bytes": row.samples[-1].out_bytes,
        "report": row.report,
    }


def missing_rows(peers, bases, sizes):
    """Rows of peers that are not here: they are named, never left out in silence."""
    return [{"peer": p.name, "kind": p.kind, "against": p.base, "level": level,
             "size": sizes.get(level), "failed": "missing"}
            for p in peers if p.missing or bases[p.base] is None for level in p.levels]


def run_program(runner, program, peers, bases, fixed, options, say):
    """All levels of one program; returns the part of the results that is about it."""
    size_l = calibrate(runner, bases["plain"], program, options.base_seconds)
    result = {"about": program.about, "sizes": {}, "bases": [], "rows": [], "busy": []}
    for level, share in LEVELS.items():
        chosen = [p for p in peers if level in p.levels and not p.missing]
        if not chosen:
            continue
        size = max(program.least, round_up(size_l * share))
        rounds = options.rounds if level == "L" else min(options.rounds, options.slow_rounds)
        result["sizes"][level] = size
        for row in run_level(runner, program, size, chosen, bases, rounds, say):
            result["busy"] += [s.busy_elsewhere for s in row.samples[1:]
                               if s.busy_elsewhere is not None]
            if row.peer is not None:
                result["rows"].append(summary(row, level, size, fixed))
            elif row.samples:
                result["bases"].append({
                    "base": row.name, "level": level, "size": size,
                    "cpu_s": row.timed("cpu"), "wall_s": row.timed("wall"),
                    "peak_bytes": row.samples[0].peak, "counts": row.samples[0].counts})
    result["rows"] += missing_rows(peers, bases, result["sizes"])
    return result
