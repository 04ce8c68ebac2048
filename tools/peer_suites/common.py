# SPDX-License-Identifier: MIT
"""Shared parts of tools/peer-suites: results, running programs, the list of explained differences.

The list is docs/differences.md itself: below "## Peers' own tests" one "### NAME" a suite, and rows
`| tests | difference | why |`. `tests` names one or several tests in backquotes. `difference`
must be what the run finds, word for word; `…` in it stands for anything. So a test that begins to differ in another
way is not covered by its old row.
"""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess

SECTION = "## Peers' own tests"
TIMEOUT_S = 120
HERE = pathlib.Path(__file__).resolve().parent


@dataclasses.dataclass
class Result:
    """One test: verdict is "agree", "differ" or "left out"; what says how it differs, or why it
    was left out."""
    test: str
    verdict: str
    what: str = ""


def agree(test):
    return Result(test, "agree")


def differ(test, what):
    """One difference in one line, without anything that changes from run to run."""
    return Result(test, "differ", " ".join(what.split()).replace("|", "/"))


def left_out(test, why):
    """A test that says nothing about seep (another architecture, a missing program)."""
    return Result(test, "left out", " ".join(why.split()))


@dataclasses.dataclass
class Ran:
    """What became of a command. A negative status is a signal; None means that time was up."""
    status: int
    out: str
    err: str

    @property
    def both(self):
        return self.out + self.err


class Suite:
    """One checkout: `dir`, a folder to `work` in, the tools of the build, and whom to run."""

    def __init__(self, directory, work, build, only):
        self.dir, self.work, self.build, self.only = directory, work, build, only
        self.seep = str(build / "seep")
        self.libseep = str(build / "libseep.so")

    def wanted(self, test):
        return not self.only or any(word in test for word in self.only)

    def run(self, command, cwd=None, env=None, timeout=TIMEOUT_S, merge=False, shell=False):
        """Runs it in a session of its own, so that its children go with it. env adds to ours;
        merge puts stderr where stdout goes."""
        everything = dict(os.environ, LC_ALL="C", **(env or {}))
        child = subprocess.Popen(
            command, cwd=cwd or self.work, env=everything, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT if merge else subprocess.PIPE,
            shell=shell, executable="/bin/bash" if shell else None, start_new_session=True)
        try:
            out, err = child.communicate(timeout=timeout)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            status = None
        return Ran(status, out.decode("utf-8", "replace"), (err or b"").decode("utf-8", "replace"))

    def compile(self, sources, name, flags=(), cxx=False, compiler=None):
        """Builds a program into the work folder: its path, or a Ran that says why not."""
        target = self.work / name
        ran = self.run([compiler or ("g++" if cxx else "gcc"), "-g", "-O0", "-w", "-o",
                        str(target), *map(str, sources), *flags])
        return target if ran.status == 0 else ran


class Counts:
    """How many tests agreed, differ as the docs say, differ otherwise, or were left out."""

    def __init__(self):
        self.agree = self.explained = self.unexplained = self.left_out = 0

    def add(self, result, why):
        if result.verdict == "agree":
            self.agree += 1
        elif result.verdict == "left out":
            self.left_out += 1
        elif why:
            self.explained += 1
        else:
            self.unexplained += 1

    def join(self, other):
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def __str__(self):
        return (f"{self.agree} agree, {self.explained} differ as explained, "
                f"{self.unexplained} differ unexplained, {self.left_out} left out")


class Explained:
    """The rows of docs/differences.md."""

    def __init__(self, path):
        self.rows, suite, inside = [], None, False
        for line in pathlib.Path(path).read_text().splitlines():
            if line.startswith("## "):
                inside = line == SECTION
            elif inside and line.startswith("### "):
                suite = line[4:].strip()
            elif inside and suite and line.startswith("| `"):
                cells = [c.strip() for c in line.strip().strip("|").split(" | ")]
                if len(cells) == 3:
                    for test in re.findall(r"`([^`]+)`", cells[0]):
                        self.rows.append((suite, test, cells[1], cells[2]))

    @staticmethod
    def _same(row, what):
        pattern = ".*".join(re.escape(part) for part in row.replace("`", "").split("…"))
        return re.fullmatch(pattern, what.replace("`", "")) is not None

    def why(self, suite, result):
        """The reason for this very difference, or None."""
        for name, test, what, why in self.rows:
            if result.verdict == "differ" and name == suite and test == result.test \
                    and self._same(what, result.what):
                return why
        return None

    def unused(self, suite, results):
        used = {r.test for r, why in results if why}
        return [test for name, test, _, _ in self.rows if name == suite and test not in used]


def show(result, why, verbose):
    """One line of the table."""
    if result.verdict == "agree":
        if verbose:
            print(f"agree     {result.test}")
    elif result.verdict == "left out":
        print(f"left out  {result.test}: {result.what}")
    elif why:
        print(f"differ    {result.test}: {result.what}; why: {why}")
    else:
        print(f"DIFFER    {result.test}: {result.what}; NOT EXPLAINED")


def markdown(name, counts, rows):
    """The section of docs/differences.md that this run would need."""
    grouped = {}
    for result, why in rows:
        if result.verdict == "differ":
            grouped.setdefault((result.what, why or "?"), []).append(result.test)
    print(f"\n### {name}\n\n{counts.agree} agree, {counts.explained + counts.unexplained} differ, "
          f"{counts.left_out} left out.\n")
    print("| test | difference | why |\n|---|---|---|")
    for (what, why), tests in grouped.items():
        print(f"| {' '.join(f'`{t}`' for t in tests)} | {what} | {why} |")
    agreed = [r.test for r, _ in rows if r.verdict == "agree"]
    print(f"\nAgree: {' '.join(f'`{t}`' for t in agreed)}.\n")
