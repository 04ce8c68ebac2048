# SPDX-License-Identifier: MIT
"""Results of the analyzer, the symbols and the drop-in to text: terminal and docs/performance.md.

As tables.py, reads only the results dictionary. Where there is a target it stands beside the
figure, with whether it was met; results that say `judged: False` are too small to be compared."""

import statistics

from driver.tables import markdown_table, ratio, seconds, size_text, text_table


def median(values):
    return statistics.median(values) if values else None


def spread(values, text):
    return "%s..%s" % (text(min(values)), text(max(values)))


def megabytes(n):
    return "%.0f MB" % (n / 1e6)


def verdict(met):
    return "met" if met else "MISSED"


def with_verdict(table, value, met):
    return "%s: %s" % (value, verdict(met)) if table["judged"] else value


# ---- analyzer ----

def target_text(table, row):
    target = row["target"]
    if not target:
        return "-"
    met = median(row["cpu_s"]) <= target["cpu_s"]
    text = "<= %g s" % target["cpu_s"]
    if "bytes" in target:
        met = met and row["peak_bytes"] <= target["bytes"]
        text += ", %s" % megabytes(target["bytes"])
    return with_verdict(table, text, met)


def analyzer_rows(table):
    head = ["command", "on", "CPU s", "least..most", "wall s", "peak", "target", "it says"]
    rows = []
    for row in table["rows"]:
        start = [row["tool"], row["file"] if row["what"] == "top" else "two " + row["file"]]
        if "failed" in row:
            rows.append(start + [row["failed"]] + ["-"] * 5)
            continue
        rows.append(start + [seconds(median(row["cpu_s"])), spread(row["cpu_s"], seconds),
                             seconds(median(row["wall_s"])), megabytes(row["peak_bytes"]),
                             target_text(table, row), row["says"]])
    return head, rows


# ---- symbols ----

def under(table, values, target):
    value = median(values)
    return with_verdict(table, seconds(value), value <= target)


def symbols_rows(table):
    head = ["binary", "debug sections", "frames",
            "cold, <= %g s" % table["cold_target_s"],
            "from the cache, <= %g s" % table["warm_target_s"],
            "addr2line -aif", "seep report, cold", "from the cache"]
    rows = []
    for row in table["rows"]:
        if "failed" in row:
            rows.append([row["binary"], row["failed"]] + ["-"] * 6)
            continue
        rows.append([row["binary"], megabytes(row["debug_bytes"]), format(row["frames"], ","),
                     under(table, row["cold_s"], table["cold_target_s"]),
                     under(table, row["warm_s"], table["warm_target_s"]),
                     seconds(row.get("addr2line_s")), seconds(median(row.get("report_cold_s"))),
                     seconds(median(row.get("report_warm_s")))])
    return head, rows


# ---- in jemalloc's place ----

def times_text(row):
    if "failed" in row:
        return row["failed"]
    return "%s (%s..%s)" % (ratio(row["cpu"]), ratio(row["cpu_least"]), ratio(row["cpu_most"]))


def rate_verdict(table, rows):
    """No more than jemalloc's own, within how far seep's control strays from 1."""
    ours, theirs, control = (rows[n] for n in ("seep", "jemalloc", "seep's control"))
    if not table["judged"] or any("failed" in r for r in (ours, theirs, control)):
        return "-"
    stray = max(control["cpu_most"] - 1, 1 - control["cpu_least"])
    return verdict(ours["cpu"] <= theirs["cpu"] + stray)


RATE_PEERS = ["seep", "seep's control", "jemalloc", "jemalloc's control"]


def rate_rows(table):
    head = ["workload", "size"] + RATE_PEERS + ["no more than jemalloc's"]
    rows = []
    for name, found in table["programs"].items():
        if "failed" in found:
            rows.append([name, found["failed"]] + ["-"] * 5)
            continue
        rate = found["rate"]
        rows.append([name, format(found["size"], ",")] + [times_text(rate[p]) for p in RATE_PEERS]
                    + [rate_verdict(table, rate)])
    return head, rows


def factor_text(table, value):
    if value is None:
        return "-"
    return with_verdict(table, ratio(value), value >= table["factor_target"])


def exact_pair(row):
    """CPU time and memory above the base, as two cells."""
    if "failed" in row:
        return [row["failed"], "-"]
    return ["%s s (x %s)" % ("%+.3f" % row["above_s"], ratio(row["cpu"])),
            size_text(row["above_bytes"])]


def exact_rows(table):
    least = "times less, >= %g" % table["factor_target"]
    head = ["workload", "size", "seep CPU", "jemalloc CPU", least, "seep memory",
            "jemalloc memory", least]
    rows = []
    for name, found in table["programs"].items():
        if "failed" in found:
            rows.append([name, found["failed"]] + ["-"] * 6)
            continue
        ours, theirs = (exact_pair(found["exact"][p]) for p in ("seep", "jemalloc"))
        rows.append([name, format(found["exact_size"], ","), ours[0], theirs[0],
                     factor_text(table, found["time_factor"]), ours[1], theirs[1],
                     factor_text(table, found["memory_factor"])])
    return head, rows


def milliseconds(us):
    return "%.3f ms" % (us / 1000)


def dump_rows(table):
    head = ["profiler", "runs", "stacks", "a dump takes",
            "longest wait, <= %g ms" % (table["wait_target_us"] / 1000), "pairs over 1 ms",
            "longest between dumps", "longest, preempted or not"]
    rows = []
    for row in table["dumps"]:
        if "failed" in row:
            rows.append([row["peer"], row["failed"]] + ["-"] * 6)
            continue
        wait = milliseconds(row["wait_us"])
        if row["peer"] == "seep":  # the target is ours alone
            wait = with_verdict(table, wait, row["wait_us"] <= table["wait_target_us"])
        rows.append([row["peer"], len(row["runs"]), format(row["stacks"], ","),
                     "%.0f ms" % (row["dump_us"] / 1000), wait,
                     "%d of %s" % (row["over"], format(row["pairs"], ",")),
                     milliseconds(row["quiet_us"]), milliseconds(row["any_us"])])
    return head, rows


# ---- titles, and what the page says about them ----

ANALYZER = """\
`bench/run --analyzer{slow}`. Profiles of {stacks:,} stacks of {depth} frames each, of a made-up
program with 20,000 functions and 60,000 addresses (`bench/gen_profiles.py`): pprof's protobuf
with names in it, and the text of jemalloc (`je.heap`) and of gperftools (`tc.heap`), whose names
have to be looked up; seep does so with nothing in its cache, pprof is told not to. pprof does not
read jemalloc's text. "Two" is a profile and one of the same program later. CPU is user and system
time; peak is the largest resident size."""

SYMBOLS = """\
`bench/run --symbols`. Function, file, line and inlined calls of {addresses:,} addresses all over
a binary, in CPU seconds: the lookups alone (`bench/symbol_bench`), with nothing in the cache, so
that the index is made and kept, and from it; then `seep report --top` on a profile that has these
addresses and no names, reading and report included. `make soak` compares every line with
addr2line's."""

RATE = """\
`bench/run --dropin`. The same `MALLOC_CONF=prof:true,prof_final:true` for `libseep.so` over glibc
and for `libjemalloc.so.2`: CPU time as a multiple of the same allocator unprofiled (glibc;
jemalloc with `prof:false`), median and, in brackets, least and largest of the rounds. The
controls are those bases against themselves; the last column allows for as much as seep's control
strays from 1. redis has a jemalloc of its own: seep profiles over it, told to by
`SEEP=compat=jemalloc`."""

EXACT = """\
The same with `lg_prof_sample:0`, at a twenty-fifth of the size: CPU time and peak memory above
the same allocator unprofiled, and how many times less seep's is. churn1 keeps nothing and sqlite
few blocks: there seep's memory is what it takes to begin with."""

DUMPS = """\
One thread writes a profile with `mallctl("prof.dump")`, ten times a run, another allocates and
frees (`bench/workloads/dump_wait.c`). Its longest wait of all runs while a dump is written, and
between dumps: that is the machine's own. Where the kernel took the processor away, its CPU time
counts; but for the last column."""


LEAK_RUNS = """
`bench/run --leaks`. Whole runs, every allocation recorded and the leak check made at the end, against the same
program alone; memcheck and LeakSanitizer at sizes that they can do.
""".strip()

LEAK_EXIT = """
CPU seconds of a run with the check at its end less those of one without it.
""".strip()

LEAK_PAUSES = """
`seep leaks` on a program with four threads that allocate and wait: how long it takes until all stand still, how long they do, as the
tool says, and the longest that any thread makes no progress, measured inside the program. Median, and least to most, of ten.
""".strip()


def leak_run_rows(table):
    head = ["workload", "tool", "size", "CPU", "least..most", "target"]
    rows = []
    for row in table["runs"]:
        start = [row["program"], row["peer"], "%d" % row["size"]]
        if "failed" in row:
            rows.append(start + [row["failed"], "-", "-"])
            continue
        target = "-" if row["target"] is None else with_verdict(
            table, "<= %g" % row["target"], row["cpu"] <= row["target"])
        rows.append(start + [ratio(row["cpu"]),
                             "%s..%s" % (ratio(row["cpu_least"]), ratio(row["cpu_most"])), target])
    return head, rows


def leak_exit_rows(table):
    found = table["exit"]
    cpu = found["cpu_s"]
    return (["blocks", "CPU s of the check", "least..most", "target"],
            [["%d" % found["blocks"], seconds(median(cpu)), spread(cpu, seconds),
              with_verdict(table, "<= %g s" % found["target_s"], median(cpu) <= found["target_s"])]])


def leak_pause_rows(table):
    head = ["memory", "until all stand", "pause", "least..most", "inside, longest gap", "without a look",
            "CPU s", "target"]
    rows = []
    for row in table["pauses"]:
        if "failed" in row:
            rows.append([row["size"], row["failed"]] + ["-"] * 6)
            continue
        def column(what, of=row["looks"]):
            return [look[what] for look in of]
        pause = column("pause_ms")
        rows.append([row["size"], "%.1f ms" % median(column("stop_ms")), "%.1f ms" % median(pause),
                     spread(pause, lambda x: "%.1f" % x), "%.1f ms" % median(column("gap_ms")),
                     "%.1f ms" % row["idle_gap_ms"], seconds(median(column("cpu_s"))),
                     with_verdict(table, "<= %g ms" % row["target_ms"],
                                  median(pause) <= row["target_ms"])])
    return head, rows


INSTRUCTIONS = """
`bench/run --instructions`. Instructions of the program itself, counted by cachegrind, as a multiple of those without
seep: no CPU time, but the same on a busy machine. In brackets how far two counts differ.
""".strip()


def instruction_rows(table):
    head = ["workload", "size", "alone", "off", "sampled at 512K", "exact"]
    rows = []
    for row in table["rows"]:
        base = row["plain"][0]
        rows.append([row["program"], format(row["size"], ","), "%.0f M" % (base / 1e6)] +
                    ["%.4f (%.4f)" % (row[m][0] / base, (row[m][1] - row[m][0]) / base)
                     for m in ("off", "sample", "exact")])
    return head, rows


MANY = """`bench/run --many`. A program with 264,000 sites, and short processes by the thousand: what the tool needs and writes, and
wall time as a multiple of the same without seep. Of each row one run; a busy machine makes the ratios larger."""


def many_rows(table):
    rows = []
    for row in table["rows"]:
        target = "-"
        if row["target"] is not None:
            target = with_verdict(table, "<= %g %s" % (row["target"], row["unit"]), row["figure"] <= row["target"])
        rows.append([row["what"], "%.4g %s" % (row["figure"], row["unit"]), target])
    return ["what", "figure", "target"], rows


def parts(results):
    """(title, text, head, rows, columns to the left) of each table that there is."""
    found = []
    analyzer, symbols, dropin, leaks, counts = (
        results.get(k) or {} for k in ("analyzer", "symbols", "dropin", "leaks", "instructions"))
    if counts.get("rows"):
        found.append(("Instructions", INSTRUCTIONS, *instruction_rows(counts), 1))
    if "rows" in analyzer:
        slow = " --slow" if results["options"].get("slow") else ""
        found.append(("Questions about large profiles",
                      ANALYZER.format(slow=slow, **analyzer), *analyzer_rows(analyzer), 2))
    if "rows" in symbols:
        found.append(("Names of many addresses", SYMBOLS.format(**symbols),
                      *symbols_rows(symbols), 1))
    if "programs" in dropin:
        if dropin["programs"]:
            found.append(("In jemalloc's place, at the default rate", RATE,
                          *rate_rows(dropin), 1))
            found.append(("In jemalloc's place, every allocation", EXACT, *exact_rows(dropin), 1))
        found.append(("Who waits for a dump", DUMPS, *dump_rows(dropin), 1))
    if "runs" in leaks:
        found.append(("Runs with the leak check", LEAK_RUNS, *leak_run_rows(leaks), 2))
        found.append(("A million blocks at the end", LEAK_EXIT, *leak_exit_rows(leaks), 0))
        found.append(("Leaks on demand", LEAK_PAUSES, *leak_pause_rows(leaks), 1))
    if results.get("many"):
        found.append(("Many stacks, many processes", MANY, *many_rows(results["many"]), 1))
    return found


def text(results):
    """The tables for the terminal."""
    out = ["%s: missing: %s" % (name, results[name]["failed"])
           for name in ("instructions", "analyzer", "symbols", "dropin", "leaks")
           if "failed" in (results.get(name) or {})]
    out += ["%s\n%s\n" % (title, text_table(head, rows))
            for title, _, head, rows, _ in parts(results)]
    return "\n".join(out)


def markdown(results):
    """The end of the page."""
    lines = []
    for title, about, head, rows, left in parts(results):
        lines += ["## " + title, "", about, "", markdown_table(head, rows, left), ""]
    return lines
