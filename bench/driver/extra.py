# SPDX-License-Identifier: MIT
"""The tables beside the main one: memory a live block, start-up, and the unwinder alone."""

import os
import statistics
import subprocess

from driver.programs import Command
from driver.rounds import Failed

HOLD_MS = 400  # `live` sleeps so long at its peak: the look comes every 50 ms
# jemalloc-exact would need 4 KiB a block here, gperftools seven microseconds a block.
MEMORY_SKIPS = ["jemalloc-exact", "gperftools", "control"]
SLOW_START_S = 0.05


def fit(points):
    """Least squares line through (x, y): slope and value at 0."""
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    return slope, mean_y - slope * mean_x


def memory(runner, live, peers, bases, named, quick, say):
    """Bytes a live block above plain, at several numbers of blocks."""
    sizes = [n * (100_000 if quick else 1_000_000) for n in (3, 4, 5, 6, 7)]
    peers = [p for p in peers if not p.missing and bases[p.base] is not None
             and (p.name not in MEMORY_SKIPS or p.name in named)]
    used = {p.base for p in peers} | {"plain"}
    starts = [(name, bases[name]) for name in bases if name in used]
    peaks = {}
    for size in sizes:
        command = Command(live.command(size).argv + [str(HOLD_MS)])
        for name, start in starts + [(p.name, p.start) for p in peers]:
            say("live %d  memory  %s" % (size, name))
            try:
                peaks[name, size] = runner.run(start, command, look=True).peak
            except Failed as why:
                peaks[name, size] = str(why)
    rows = []
    for peer in peers:
        both = [(peaks[peer.name, n], peaks[peer.base, n]) for n in sizes]
        if any(isinstance(value, str) for pair in both for value in pair):
            rows.append({"peer": peer.name, "failed": next(
                v for pair in both for v in pair if isinstance(v, str))})
            continue
        above = [a - b for a, b in both]
        slope, fixed = fit(list(zip(sizes, above)))
        rows.append({"peer": peer.name, "against": peer.base, "above_bytes": above,
                     "a_block": slope, "fixed_bytes": fixed})
    return {"sizes": sizes, "plain_bytes": [peaks["plain", n] for n in sizes], "rows": rows}


def startup(runner, peers, bases, quick, say):
    """/bin/true under each: CPU and wall milliseconds, largest resident size."""
    command = Command(["/bin/true"])
    peers = [p for p in peers if not p.missing and bases[p.base] is not None]
    used = {p.base for p in peers} | {"plain"}
    starts = {name: bases[name] for name in bases if name in used}
    starts.update((p.name, p.start) for p in peers)
    samples, wanted = {}, {}
    for name, start in starts.items():
        say("/bin/true  %s" % name)
        try:
            samples[name] = [runner.run(start, command, look=True)]
            slow = samples[name][0].cpu > SLOW_START_S
            wanted[name] = (3 if slow else 10) if quick else (10 if slow else 100)
        except Failed as why:
            samples[name] = str(why)
    for number in range(max(wanted.values())):
        for name in starts:
            if number < wanted.get(name, 0):
                samples[name].append(runner.run(starts[name], command))
    rows = []
    for name, got in samples.items():
        if isinstance(got, str):
            rows.append({"name": name, "failed": got})
            continue
        cpu = [1000 * s.cpu for s in got[1:]]
        rows.append({"name": name, "runs": len(cpu), "cpu_ms": statistics.median(cpu),
                     "least_ms": min(cpu), "most_ms": max(cpu),
                     "wall_ms": statistics.median(1000 * s.wall for s in got[1:]),
                     "peak_bytes": got[0].peak})
    return rows


def unwind(place, limit_s):
    """What unwind_bench prints, or why there is nothing."""
    path = os.path.join(place.bench, "unwind_bench")
    if not os.access(path, os.X_OK):
        return {"failed": "bench/unwind_bench is not built"}
    try:
        done = subprocess.run([path], capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"failed": "over %d s" % limit_s}
    if done.returncode:
        return {"failed": "fails (%d)" % done.returncode}
    return {"text": done.stdout.rstrip()}
