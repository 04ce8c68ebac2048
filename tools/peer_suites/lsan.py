# SPDX-License-Identifier: MIT
"""LeakSanitizer's own tests (compiler-rt, test/lsan/TestCases).

A test has RUN lines, shell commands in lit's words, and CHECK lines for FileCheck. The compiler's option -fsanitize=leak
is left out, so that the program is an ordinary one, and `seep run --format=lsan` runs it. Compared is what a
report is about: the exit status (not 0 where the test says `not`), and whether the CHECK lines' words come in
their order. Only the standalone mode is run, not the one under AddressSanitizer."""
import re

from . import common

NAME = "LeakSanitizer"
PLACE = re.compile(r"\[\[.*?\]\]|\{\{(.*?)\}\}")


def found(directory):
    return (directory / "test/lsan/TestCases").is_dir()


def pattern_of(text):
    """A CHECK line as a regular expression: {{x}} is one already, [[x]] stands for anything."""
    out, at = "", 0
    for m in PLACE.finditer(text):
        out += re.escape(text[at:m.start()]) + (f"(?:{m[1]})" if m[1] is not None else ".*?")
        at = m.end()
    return re.sub(r"(\\ )+", r"\\s+", out + re.escape(text[at:]))


def missing_line(source, prefix, output):
    """The first CHECK line that the output has not, in order; None: all are there."""
    at, end = 0, len(output)
    for m in re.finditer(rf"//\s*{prefix}(-NOT|-DAG|-NEXT)?: *(.*)", source):
        hit = re.compile(pattern_of(m[2].strip())).search(output, at, end)
        if m[1] == "-NOT":
            if hit:
                return "has " + m[2].strip()
        elif hit is None:
            return "lacks " + m[2].strip()
        elif m[1] != "-DAG":
            at = hit.end()
    return None


def run_line(suite, path, line, program):
    """One RUN line that starts the program. Returns what differs, or None."""
    source = path.read_text()
    options = re.search(r"%env_lsan_opts=(\S+)", line)
    value = "detect_leaks=1" + (":" + options[1].strip("\"'") if options else "")
    value = value.replace("%t", str(program))
    after = re.search(r"%run %t\b([^|&>]*)", line)
    arguments = after[1].split() if after else []
    ran = suite.run([suite.seep, "run", "--format=lsan", "--", str(program), *arguments],
                    env={"LSAN_OPTIONS": value}, merge=True, timeout=60)
    if ran.status is None:
        return "does not end"
    fails = re.search(r"\bnot\b", line) is not None
    if (ran.status != 0) != fails:
        return f"status {ran.status} where {'another' if fails else '0'} is wanted"
    if "FileCheck" not in line:
        return None
    prefix = re.search(r"--?check-prefix(?:es)?[= ](\S+)", line)
    return missing_line(source, prefix[1] if prefix else "CHECK", ran.both)


def one(suite, path):
    source, name = path.read_text(), path.stem
    lines = re.sub(r"\\\n//\s*RUN:", " ", source)
    runs = [m[1] for m in re.finditer(r"RUN:(.*)", lines)]
    if any("asan" in r and "lsan" not in r for r in runs):
        return common.left_out(name, "about AddressSanitizer")
    flags = [f"-I{suite.dir}/include", f"-I{suite.dir}/test/lsan", f"-I{suite.dir}/test",
             f"-I{suite.dir}/lib", "-pthread", "-rdynamic", "-ldl", "-Wl,--unresolved-symbols=ignore-all"]
    program = None
    for line in runs:
        if "%clang" in line:
            more = re.findall(r"\s(-D\S+|-O\d|-std=\S+)", line)
            program = suite.compile([path], name, flags + more, cxx=path.suffix == ".cpp",
                                    compiler="clang++" if path.suffix == ".cpp" else "clang")
            if isinstance(program, common.Ran):
                return common.left_out(name, "does not compile here")
        if "%run" in line and program is not None:
            why = run_line(suite, path, line, program)
            if why is not None:
                return common.differ(name, why)
    return common.agree(name) if program else common.left_out(name, "has nothing to run")


def run(suite):
    for path in sorted((suite.dir / "test/lsan/TestCases").rglob("*.c*")):
        if suite.wanted(path.stem) and "Darwin" not in path.parts and path.suffix in (".c", ".cpp"):
            yield one(suite, path)
