# SPDX-License-Identifier: MIT
"""The leak checker: whole runs with the check at the end beside memcheck and a preloaded LeakSanitizer, what the check
itself costs for a million blocks, and how long a program stands still for a look on demand.

The pause is told by the tool, and measured inside the program: the longest time that any of its threads makes no
progress (tests/programs/leak_busy.c)."""

import os
import re
import shutil
import subprocess
import time

from driver.peers import LEVELS, all_peers, built, plain, wrapped
from driver.programs import Compiled
from driver.rounds import Failed, calibrate, round_up, run_level, summary

BASE_SECONDS = 2.0
RUN_TARGETS = {"churn1": 4.0, "work": 1.5}
BLOCKS = 1_000_000
CHECK_TARGET_S = 0.7
THREADS = 4
BLOCK_BYTES = 152  # a block of leak_busy with what malloc adds
PAUSES = [("150 MB", 150_000_000, 12.0), ("1 GB", 1_000_000_000, 60.0)]
LOOKS = 10


def programs():
    return [Compiled("churn1", "tight loop", 1_000_000, 1_000_000, 2_000_000_000, "churn1.c"),
            Compiled("work", "130 ns of work a pair", 100_000, 100_000, 200_000_000, "work.c")]


def whole_runs(runner, options, say):
    """Rows by workload and peer: seep at size L, the others at the sizes of the main table."""
    rows = []
    seconds = options.base_seconds if options.quick else max(BASE_SECONDS, options.base_seconds)
    peers = [p for p in all_peers(runner.place.build)
             if p.name in ("control", "seep-exact", "memcheck", "lsan") and not p.missing]
    for program in programs():
        program.prepare(runner.place)
        size = calibrate(runner, plain, program, seconds)
        for level, factor in LEVELS.items():
            chosen = [p for p in peers if level in p.levels and (level == "L" or p.kind == "leak")]
            if not chosen:
                continue
            at = max(program.least, round_up(size * factor))
            rounds = options.rounds if level == "L" else min(options.rounds, options.slow_rounds)
            for row in run_level(runner, program, at, chosen, {"plain": plain}, rounds, say):
                if row.peer is not None:
                    rows.append({"program": program.name, "peer": row.name, "size": at,
                                 **summary(row, level, at, {}),
                                 "target": RUN_TARGETS[program.name]
                                 if row.name == "seep-exact" else None})
    return rows


def check_at_exit(runner, options, say):
    """CPU seconds of a run with the check less those of one without, round by round."""
    seep = built(runner.place.build, "seep")
    lists = Compiled("lists", "", BLOCKS, BLOCKS, BLOCKS, "lists.c")
    lists.prepare(runner.place)
    blocks = BLOCKS // 10 if options.quick else BLOCKS
    starts = {"with": wrapped(seep, "run", "--no-names", "-o", "{out}/a.rec", "--"),
              "without": wrapped(seep, "run", "--no-names", "--no-leak-check", "-o",
                                 "{out}/a.rec", "--")}
    found = {name: [] for name in starts}
    for number in range(1 if options.quick else max(3, options.rounds)):
        for name, start in starts.items():
            say("lists  round %d  %s the check" % (number + 1, name))
            found[name].append(runner.run(start, lists.command(blocks)).cpu)
    return {"blocks": blocks, **found, "target_s": CHECK_TARGET_S,
            "cpu_s": [a - b for a, b in zip(found["with"], found["without"])]}


class Busy:
    """A recorded program that works, to be looked at."""

    def __init__(self, runner, seep, blocks):
        root = runner.place.root
        exe = runner.place.compile(os.path.join(root, "tests", "programs", "leak_busy.c"),
                                   "leak_busy", ["-pthread"])
        self.seep = seep
        self.folder = runner.folder()
        self.control = os.path.join(self.folder, "control")
        os.makedirs(self.control)
        self.out = open(os.path.join(self.folder, "stdout"), "w+")
        self.env = {**os.environ, "XDG_STATE_HOME": self.folder}
        self.tool = subprocess.Popen(
            [seep, "run", "--no-names", "-o", os.path.join(self.folder, "a.rec"), "--", exe,
             str(THREADS), str(blocks), self.control], stdout=self.out,
            stderr=subprocess.DEVNULL, env=self.env)
        self.wait("ready", True, 120)
        children = subprocess.run(["pgrep", "-P", str(self.tool.pid)], capture_output=True,
                                  text=True).stdout.split()
        self.pid = children[0]

    def path(self, name):
        return os.path.join(self.control, name)

    def wait(self, name, there, seconds):
        until = time.monotonic() + seconds
        while os.path.exists(self.path(name)) != there:
            if time.monotonic() > until or self.tool.poll() is not None:
                raise Failed("the program does not answer")
            time.sleep(0.002)

    def gap_ms(self):
        """The longest that a thread made no progress since this was last asked."""
        before = len(self.gaps())
        open(self.path("ask"), "w").close()
        until = time.monotonic() + 60
        while len(self.gaps()) == before:
            if time.monotonic() > until or self.tool.poll() is not None:
                raise Failed("the program does not answer")
            time.sleep(0.002)
        return self.gaps()[-1] / 1000

    def gaps(self):
        with open(self.out.name) as f:
            return [int(us) for us in re.findall(r"^gap (\d+)$", f.read(), re.M)]

    def look(self):
        """stop, pause and gap in ms, CPU seconds of the tool."""
        self.gap_ms()
        before = os.times()
        done = subprocess.run([self.seep, "leaks", self.pid], capture_output=True, text=True,
                              env=self.env)
        after = os.times()
        told = re.search(r"^stopped ([\d.]+) ms \+ ([\d.]+) ms, .*; (.*)$", done.stdout, re.M)
        if told is None:
            raise Failed("seep leaks: " + (done.stderr or done.stdout).strip()[-100:])
        return {"stop_ms": float(told.group(1)), "pause_ms": float(told.group(2)),
                "way": told.group(3), "gap_ms": self.gap_ms(),
                "cpu_s": after.children_user + after.children_system
                         - before.children_user - before.children_system}

    def end(self):
        open(self.path("go"), "w").close()
        self.tool.wait()
        self.out.close()
        shutil.rmtree(self.folder)


def pauses(runner, options, say):
    seep = built(runner.place.build, "seep")
    rows = []
    for name, size, target_ms in PAUSES[:1] if options.quick else PAUSES:
        busy = None
        try:
            say("leak_busy  " + name)
            busy = Busy(runner, seep, size // BLOCK_BYTES)
            busy.gap_ms()
            time.sleep(1)
            idle = busy.gap_ms()
            looks = []
            for number in range(2 if options.quick else LOOKS):
                say("leak_busy  %s  look %d" % (name, number + 1))
                looks.append(busy.look())
                time.sleep(0.2)
            rows.append({"size": name, "looks": looks, "idle_gap_ms": idle,
                         "target_ms": target_ms})
        except Failed as why:
            rows.append({"size": name, "failed": str(why)})
        finally:
            if busy is not None:
                busy.end()
    return rows


def leaks(runner, options, say):
    if built(runner.place.build, "seep") is None:
        return {"failed": "seep is not built"}
    return {"judged": not options.quick, "runs": whole_runs(runner, options, say),
            "exit": check_at_exit(runner, options, say), "pauses": pauses(runner, options, say)}
