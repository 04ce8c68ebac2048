# SPDX-License-Identifier: MIT
"""The tool itself: questions about large profiles, and names of many addresses.

Profiles come from bench/gen_profiles.py, the binary with much debug information from
bench/workloads/symbols.py; both are made once and kept with the build. Every command goes through
the measure program, so CPU time and memory are the kernel's account of it. seep finds its folder
of symbol indexes empty each time unless the table says otherwise. A command whose output has not
the answer in it gives no figure."""

import bisect
import gzip
import os
import random
import re
import shutil
import subprocess
import sys

import gen_profiles as pb
from driver.peers import built, plain
from driver.programs import Command
from driver.rounds import Failed

STACKS, DEPTH = 200_000, 40
QUICK_STACKS = 5_000
TOP_TARGET = {"cpu_s": 1.0, "bytes": 300_000_000}
DIFF_TARGET = {"cpu_s": 2.0}

ADDRESSES, UNITS = 60_000, 40
QUICK_ADDRESSES, QUICK_UNITS = 3_000, 1
COLD_TARGET_S, WARM_TARGET_S = 2.0, 0.3
# Beside the generated program, what Debian has of large debug builds.
BINARIES = [
    ("libstdc++.so of libstdc++6-12-dbg", "/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6"),
    ("python3.11d of python3.11-dbg", "/usr/bin/python3.11d"),
]


class Question:
    """A command that answers one. `slow` ones run only when asked for, and once, as do all
    of the peers; `answer` is the pattern of what it found, in what it prints."""

    def __init__(self, what, file, tool, argv, answer, target=None, slow=False):
        self.what, self.file, self.tool, self.argv = what, file, tool, argv
        self.answer = re.compile(answer, re.M)
        self.target = target
        self.slow = slow


def questions(folder, seep, stacks):
    def path(name):
        return os.path.join(folder, name)

    pprof = ["go", "tool", "pprof", "-top", "-symbolize=none"]
    ours = r"^LIVE +(.* in %s stacks)" % format(stacks, ",")
    ours_diff = r"^[A-Z]+ +live (.*)$"
    theirs, jeprof = r" of (\S+ total)", r"^Total: (\S+ \S+)"
    big, later = "big.%s", "later.%s"
    rows = []
    for kind in ("pb.gz", "je.heap", "tc.heap"):
        rows.append(Question("top", kind, "seep report --top",
                             [seep, "report", "--top", path(big % kind)], ours, TOP_TARGET))
        if kind == "je.heap":
            rows.append(Question("top", kind, "jeprof --text",
                                 ["jeprof", "--text", path("big"), path(big % kind)], jeprof,
                                 slow=True))
        else:
            rows.append(Question("top", kind, "go tool pprof -top",
                                 pprof + [path(big % kind)], theirs))
    for kind in ("pb.gz", "je.heap"):
        rows.append(Question("diff", kind, "seep diff",
                             [seep, "diff", path(big % kind), path(later % kind)], ours_diff,
                             DIFF_TARGET))
    rows.insert(-1, Question("diff", "pb.gz", "go tool pprof -top -diff_base",
                             pprof + ["-diff_base=" + path(big % "pb.gz"),
                                      path(later % "pb.gz")], theirs, slow=True))
    rows.append(Question("diff", "je.heap", "jeprof --text --base",
                         ["jeprof", "--text", "--base=" + path(big % "je.heap"), path("big"),
                          path(later % "je.heap")], jeprof, slow=True))
    return rows


def profiles(place, stacks):
    """The folder with the profiles, made when it is not there yet."""
    script = os.path.join(place.root, "bench", "gen_profiles.py")
    folder = os.path.join(place.data, "profiles-%dx%d" % (stacks, DEPTH))
    stamp = os.path.join(folder, "made")
    if not os.path.exists(stamp) or os.path.getmtime(stamp) < os.path.getmtime(script):
        subprocess.run([sys.executable, script, folder, str(stacks), str(DEPTH)], check=True,
                       stdout=subprocess.DEVNULL)
        open(stamp, "w").close()
    return folder


def ask(runner, argv, answer, env=None):
    """Runs a tool in a folder of its own; returns its sample and what it answered."""
    folder = runner.folder()
    own = {"JEPROF_TMPDIR": folder, "PPROF_TMPDIR": folder, "PPROF_BINARY_PATH": folder,
           "SEEP_CACHE": os.path.join(folder, "cache")}
    try:
        sample = runner.run(plain, Command(argv, {**own, **(env or {})}), folder)
        with open(os.path.join(folder, "stdout"), errors="replace") as f:
            found = answer.search(f.read())
        if not found:
            raise Failed("no answer")
        return sample, " ".join(found.group(1).split())
    finally:
        shutil.rmtree(folder)


def answered(runner, question, times, say):
    """A row of the table of questions."""
    row = {"what": question.what, "file": question.file, "tool": question.tool,
           "target": question.target}
    if shutil.which(question.argv[0]) is None:
        return {**row, "failed": "missing"}
    samples = []
    for number in range(times):
        say("%s %s  %d/%d  %s" % (question.what, question.file, number + 1, times,
                                  question.tool))
        try:
            sample, says = ask(runner, question.argv, question.answer)
        except Failed as why:
            return {**row, "failed": str(why)}
        samples.append(sample)
    return {**row, "cpu_s": [s.cpu for s in samples], "wall_s": [s.wall for s in samples],
            "peak_bytes": max(s.peak for s in samples), "says": says}


def analyzer(runner, options, say):
    seep = built(runner.place.build, "seep")
    if seep is None:
        return {"failed": "seep is not built"}
    stacks = QUICK_STACKS if options.quick else STACKS
    say("profiles of %d stacks" % stacks)
    folder = profiles(runner.place, stacks)
    rows = []
    for question in questions(folder, seep, stacks):
        if question.slow and not options.slow:
            rows.append({"what": question.what, "file": question.file, "tool": question.tool,
                         "target": None, "failed": "not run: --slow"})
            continue
        times = max(1, min(options.rounds, 5)) if question.target else 1
        rows.append(answered(runner, question, times, say))
    return {"stacks": stacks, "depth": DEPTH, "judged": not options.quick,
            "rows": rows}


# ---- names of many addresses ----

def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def pick_addresses(binary, count):
    """Distinct addresses spread evenly over the bytes of all functions, in no order."""
    symbols = (line.split() for line in output("nm", "-S", "--defined-only",
                                               binary).splitlines())
    ranges = sorted({(int(f[0], 16), int(f[1], 16)) for f in symbols
                     if len(f) == 4 and f[2] in "tTwWi"})
    starts, ends, last, total = [], [], 0, 0
    for start, size in ranges:
        if start >= last and size > 0:  # else an alias
            last = start + size
            total += size
            starts.append(start)
            ends.append(total)
    if total < count:
        raise Failed("too small")
    chance, picked = random.Random(4711), []
    for i in range(count):
        at = total * i // count + chance.randrange(total // count)
        which = bisect.bisect_right(ends, at)
        picked.append(starts[which] + at - (ends[which - 1] if which else 0))
    chance.shuffle(picked)
    return picked


def code_segment(binary):
    """(offset in the file, address, bytes) of the segment with the code."""
    for line in output("readelf", "-lW", binary).splitlines():
        fields = line.split()
        if fields[:1] == ["LOAD"] and "R E" in line:
            return int(fields[1], 16), int(fields[2], 16), int(fields[5], 16)
    raise Failed("no code")


def write_profile(path, binary, addresses):
    """A profile without names: one stack of one frame for each address."""
    strings = pb.Strings()
    offset, start, size = code_segment(binary)
    build_id = re.search(r"Build ID: (\S+)", output("readelf", "-n", binary))
    out = [pb.piece(1, pb.number(1, strings("inuse_space")) + pb.number(2, strings("bytes")))]
    out += [pb.piece(2, pb.piece(1, pb.varint(i)) + pb.piece(2, pb.varint(16)))
            for i in range(1, len(addresses) + 1)]
    out.append(pb.piece(3, pb.number(1, 1) + pb.number(2, start)
                        + pb.number(3, start + size + 4095 & ~4095) + pb.number(4, offset)
                        + pb.number(5, strings(binary))
                        + pb.number(6, strings(build_id.group(1) if build_id else ""))))
    out += [pb.piece(4, pb.number(1, i) + pb.number(2, 1) + pb.number(3, address))
            for i, address in enumerate(addresses, 1)]
    out += [pb.piece(6, text.encode()) for text in strings.numbers]
    with open(path, "wb") as f:
        f.write(gzip.compress(b"".join(out), 1, mtime=0))


def debug_bytes(binary):
    rows = (line.split() for line in output("size", "-A", binary).splitlines())
    return sum(int(f[1]) for f in rows if f and f[0].startswith(".debug_"))


def generated(place, units):
    """The program with much debug information; test_sym_big of `make soak` uses it too."""
    folder = (os.path.join(place.build, "symbols") if units == UNITS
              else os.path.join(place.data, "symbols-%d" % units))
    subprocess.run([sys.executable, place.source("symbols.py"), folder, str(units)], check=True,
                   stdout=subprocess.DEVNULL)
    return os.path.join(folder, "program")


def cold_and_warm(runner, argv, answer, cache, times):
    """CPU seconds with an empty folder of indexes, and with what that run left in it."""
    cold, warm = [], []
    for _ in range(times):
        shutil.rmtree(cache, ignore_errors=True)
        sample, _ = ask(runner, argv, answer, {"SEEP_CACHE": cache})
        cold.append(sample.cpu)
        sample, says = ask(runner, argv, answer, {"SEEP_CACHE": cache})
        warm.append(sample.cpu)
    return cold, warm, says


def symbols_of(runner, bench, binary, count, times, work):
    """A row of the table of symbols, for one binary."""
    addresses = pick_addresses(binary, count)
    text, profile, cache = (os.path.join(work, name) for name in
                            ("addresses", "addresses.pb.gz", "cache"))
    with open(text, "w") as f:
        f.writelines("%#x\n" % a for a in addresses)
    write_profile(profile, binary, addresses)
    row = {"debug_bytes": debug_bytes(binary)}
    cold, warm, says = cold_and_warm(runner, [bench, binary, text, cache],
                                     re.compile(r"^count (asked=%d .*)$" % count, re.M), cache,
                                     times)
    row.update(cold_s=cold, warm_s=warm,
               **{k: int(v) for k, v in (word.split("=") for word in says.split())})
    seep = built(runner.place.build, "seep")
    if seep is not None:
        row["report_cold_s"], row["report_warm_s"], _ = cold_and_warm(
            runner, [seep, "report", "--top", "-n", "20", profile],
            re.compile(r"in (%s stacks)" % format(count, ",")), cache, times)
    if shutil.which("addr2line"):
        row["addr2line_s"] = runner.run(plain, Command(
            ["addr2line", "-aif", "-e", binary], stdin=text)).cpu
    return row


def symbols(runner, options, say):
    """Names and lines of many addresses, from nothing and from the index that was kept."""
    bench = os.path.join(runner.place.bench, "symbol_bench")
    if not os.access(bench, os.X_OK):
        return {"failed": "bench/symbol_bench is not built"}
    count = QUICK_ADDRESSES if options.quick else ADDRESSES
    times = max(1, min(options.rounds, 3))
    say("a program with much debug information: takes minutes, once")
    units = QUICK_UNITS if options.quick or options.short else UNITS
    binaries = [("generated C++ program, DWARF 5", generated(runner.place, units))]
    rows = []
    for name, path in binaries + BINARIES:
        row = {"binary": name}
        rows.append(row)
        if not os.path.exists(path):
            row["failed"] = "missing"
            continue
        say("%d addresses of %s" % (count, path))
        work = runner.folder()
        try:
            row.update(symbols_of(runner, bench, os.path.realpath(path), count, times, work))
        except Failed as why:
            row["failed"] = str(why)
        finally:
            shutil.rmtree(work)
    return {"addresses": count, "judged": units == UNITS, "cold_target_s": COLD_TARGET_S,
            "warm_target_s": WARM_TARGET_S, "rows": rows}
