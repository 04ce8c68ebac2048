# SPDX-License-Identifier: MIT
"""Results to text: tables for the terminal, and the page docs/performance.md.

Reads only the results dictionary (what --json writes), so both say the same."""

import statistics

from driver.peers import ABOUT


def ratio(x):
    if x is None:
        return "-"
    return "%.*f" % (3 if x < 2 else 2 if x < 10 else 1 if x < 100 else 0, x)


def size_text(n):
    if n is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(n) < 1024 or unit == "GiB":
            return "%d B" % n if unit == "B" else "%.1f %s" % (n, unit)
        n /= 1024


def seconds(x):
    return "-" if x is None else "%.2f" % x


def ns(x):
    return "-" if x is None else "%.1f" % x if abs(x) < 100 else "%.0f" % x


def report_text(row):
    report = row.get("report")
    if report is None:
        return "-"
    return report.get("failed") or seconds(report["wall_s"])


# Column name -> how a row of the main table shows it.
CELLS = {
    "cpu": lambda r: ratio(r["cpu"]),
    "spread": lambda r: "%s..%s" % (ratio(r["cpu_least"]), ratio(r["cpu_most"])),
    "wall": lambda r: ratio(r["wall"]),
    "memory": lambda r: ratio(r["peak_bytes"] / r["base_peak_bytes"]),
    "extra": lambda r: ns(r["extra_ns"]),
    "out": lambda r: size_text(r["out_bytes"]),
    "report": report_text,
}


def cell(row, what):
    return row["failed"] if "failed" in row else CELLS[what](row)


def text_table(head, rows):
    """First column to the left, the others to the right."""
    rows = [[str(c) for c in row] for row in [head] + rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def markdown_table(head, rows, left=1):
    lines = ["| " + " | ".join(head) + " |"]
    lines.append("|" + "|".join("---" if i < left else "---:" for i in range(len(head))) + "|")
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines)


def program_text(name, result):
    """One workload on the terminal, all columns."""
    sizes = ", ".join("%s %s" % (level, format(n, ",")) for level, n in result["sizes"].items())
    head = ["peer", "against", "lv", "CPU x", "least..most", "wall x", "memory x",
            "ns/alloc", "output", "report s"]
    rows = []
    for row in result["rows"]:
        start = [row["peer"], row["against"], row["level"]]
        if "failed" in row:
            rows.append(start + [row["failed"]] + [""] * 6)
        else:
            rows.append(start + [cell(row, what) for what in CELLS])
    bases = ", ".join("%s %s %.2f s" % (b["base"], b["level"], statistics.median(b["cpu_s"]))
                      for b in result["bases"])
    return "%s: %s\nsizes %s; CPU of the bases: %s\n%s\n" % (
        name, result["about"], sizes, bases, text_table(head, rows))


NOTHING = ("-", "0 B", "missing")


def matrix(programs, what):
    """Head and rows of peer x workload for one column of CELLS."""
    keys = []
    for result in programs.values():
        keys += [k for k in ((r["peer"], r["against"], r["level"]) for r in result["rows"])
                 if k not in keys]
    head = ["peer", "against", "lv"] + list(programs)
    rows = []
    for key in sorted(keys, key=lambda k: ("LMS".index(k[2]), list(ABOUT).index(k[0]))):
        line = list(key)
        for result in programs.values():
            found = [r for r in result["rows"] if (r["peer"], r["against"], r["level"]) == key]
            line.append(cell(found[0], what) if found else "-")
        if what not in ("out", "report") or any(c not in NOTHING for c in line[3:]):
            rows.append(line)
    return head, rows


def base_matrix(programs):
    keys = sorted({(b["base"], b["level"]) for r in programs.values() for b in r["bases"]},
                  key=lambda k: ("LMS".index(k[1]), k[0]))
    rows = []
    for key in keys:
        line = list(key)
        for result in programs.values():
            found = [b for b in result["bases"] if (b["base"], b["level"]) == key]
            line.append("%.3f" % statistics.median(found[0]["cpu_s"]) if found else "-")
        rows.append(line)
    return ["base", "lv"] + list(programs), rows


def memory_rows(table):
    sizes = ["%gM" % (n / 1e6) for n in table["sizes"]]
    head = ["peer", "against"] + sizes + ["a block", "fixed"]
    rows = []
    for row in table["rows"]:
        if "failed" in row:
            rows.append([row["peer"], row["failed"]] + ["-"] * (len(sizes) + 2))
            continue
        each = ["%.1f" % (b / n) for b, n in zip(row["above_bytes"], table["sizes"])]
        rows.append([row["peer"], row["against"]] + each
                    + ["%.1f" % row["a_block"], size_text(row["fixed_bytes"])])
    return head, rows


def startup_rows(table):
    head = ["/bin/true under", "runs", "CPU ms", "least..most", "wall ms", "resident"]
    rows = []
    for row in table:
        if "failed" in row:
            rows.append([row["name"], row["failed"]] + ["-"] * 4)
            continue
        rows.append([row["name"], row["runs"], "%.2f" % row["cpu_ms"],
                     "%.2f..%.2f" % (row["least_ms"], row["most_ms"]),
                     "%.2f" % row["wall_ms"], size_text(row["peak_bytes"])])
    return head, rows


def busy_text(busy):
    if not busy:
        return "-"
    return "%.2f, %.2f" % (statistics.median(busy), sorted(busy)[int(0.9 * (len(busy) - 1))])


HOW_TO_READ = """\
## How to read this

- Every multiple is against the same allocator without profiling ("against"): `plain` is the
  program as installed, on glibc's malloc (redis links jemalloc itself). 1.00 costs nothing.
- CPU is user and system time of everything started: helpers, compressors and what seep's own
  tool does at the end are in it. For redis it is the server's alone.
- `control` is the base against itself. A multiple within the control's range of rounds (see the
  spread) is not told apart from 1.
- Levels: L is a size at which the base takes about {base_seconds:g} s, M a fifth of it, S a
  twenty-fifth. Slow peers run at M or S because L would take minutes; their start-up is in their
  figure. Compare heaptrack and LeakSanitizer with seep-exact at M, a run of the same size.
- Rounds are interleaved, {rounds} at L and {slow_rounds} at M and S after one that is only looked
  at for memory; figures are medians of the rounds' own ratios.
- Times are of this machine. Repeat with `bench/run`; compare multiples, not seconds.
"""

MATRICES = [
    ("cpu", "CPU time, as a multiple of the same allocator unprofiled", ""),
    ("spread", "Spread of that over the rounds", "Least and largest of the rounds' own ratios."),
    ("wall", "Wall time, as a multiple", "For redis: how long the client took."),
    ("memory", "Peak memory, as a multiple",
     "The whole process tree, shared pages counted once, or its largest process if that was more."),
    ("extra", "Extra CPU time an allocation, nanoseconds",
     "With its free where there is one; starting and ending taken off. Workloads that count "
     "their allocations only."),
    ("out", "What it leaves on disk", ""),
    ("report", "Time to a text report, seconds",
     "`seep report`, `heaptrack_print`, `jeprof --text`, `google-pprof --text`, `ms_print`."),
]


def markdown_head(results):
    m, o = results["machine"], results["options"]
    lines = ["# What seep costs, beside its peers", "",
             "Written by `bench/run --markdown`; not edited by hand.", "",
             "- date: %s; took %.0f min; load average %s before, %s after" % (
                 results["date"], results["minutes"], results["load_before"],
                 results["load_after"]),
             "- machine: %s, %d cores, %s GiB; %s; %s" % (
                 m["cpu"], m["cores"], m["memory_gib"], m["kernel"], m["system"]),
             "- versions: " + ", ".join("%s %s" % v for v in results["versions"].items())]
    if results["missing"]:
        lines.append("- missing here: " + "; ".join(
            "%s (%s)" % m for m in results["missing"].items()))
    if o["quick"]:
        lines.append("- **a quick run: one round of small sizes, for checking the driver only**")
    return lines + ["", HOW_TO_READ.format(**o)]


def markdown(results, more=()):
    """The whole page; `more` are the lines at its end."""
    parts = markdown_head(results)
    programs = results.get("programs")
    if programs:
        parts += ["## Workloads", "", markdown_table(
            ["workload", "what it does", "size L / M / S", "cores busy elsewhere"],
            [[name, r["about"], " / ".join(format(r["sizes"][lv], ",") if lv in r["sizes"]
                                           else "-" for lv in "LMS"), busy_text(r["busy"])]
             for name, r in programs.items()], left=2), "",
            "Cores busy elsewhere: median and 90th percentile over the runs; not taken for redis, "
            "whose client keeps one busy.", ""]
        parts += ["## Peers", ""] + ["- `%s`: %s" % about for about in ABOUT.items()] + [""]
        for what, title, note in MATRICES:
            head, rows = matrix(programs, what)
            if rows:
                parts += ["## " + title, ""] + ([note, ""] if note else [])
                parts += [markdown_table(head, rows, left=3), ""]
        parts += ["## CPU seconds of the bases", "", markdown_table(*base_matrix(programs), left=2),
                  ""]
    if results.get("memory"):
        parts += ["## Extra memory a live block, bytes", "",
                  "`live` at so many million blocks: (peak with it - peak without) / blocks. "
                  "\"A block\" and \"fixed\" are the line through these points.", "",
                  markdown_table(*memory_rows(results["memory"]), left=2), ""]
    if results.get("startup"):
        parts += ["## Starting and ending", "",
                  markdown_table(*startup_rows(results["startup"])), ""]
    if "text" in results.get("unwind", {}):
        parts += ["## The unwinder alone", "", "```", results["unwind"]["text"], "```", ""]
    return "\n".join(parts + list(more)).rstrip() + "\n"
