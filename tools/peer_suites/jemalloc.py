# SPDX-License-Identifier: MIT
"""jemalloc's own tests of its profiler and of mallctl (test/unit of 5.3).

They are written for a jemalloc that they can look into. Here they are built over the public interface, with
jemalloc_test.h beside this file in the place of jemalloc's headers and the macros of the checkout's test.h, and run
twice with the same MALLOC_CONF: with Debian's libjemalloc.so.2, and with libseep.so over the C library. A check that fails over
jemalloc too, in this form, says nothing about seep and does not count; what fails only with seep is a difference."""
import glob
import re

from . import common

NAME = "jemalloc"
INTERNAL = ("ctl", "hook", "util", "prof_data", "prof_sys", "prof_log", "prof_recent", "prof_stats", "san", "spin")
# name: (source, settings for a profiler that the test's own .sh does not make)
EXTRA = {"mallctl": None, "mallctl+prof": "prof:true", "malloc_conf_2": None}
# Look further inside than this header lets them.
INSIDE = {"batch_alloc_prof", "arena_reset_prof"}
# Tests of mallctl that are about arenas, caches and size classes of the heap.
HEAP = re.compile(r"arena|tcache|thread_idle|short_mib|short_name|bymibname|manpage_example")
TESTS_MOST = 200
CRASHED = "it did not come to its end"
SETTINGS = re.compile(r'MALLOC_CONF="(?:\$\{MALLOC_CONF\},)?([^"]*)"')


def found(directory):
    return (directory / "test/unit/prof_accum.c").is_file() and (directory / "test/include/test/test.h").is_file()


def headers(suite):
    place = suite.work / "include"
    (place / "test").mkdir(parents=True)
    (place / "jemalloc/internal").mkdir(parents=True)
    for name in INTERNAL:
        (place / f"jemalloc/internal/{name}.h").write_text("")
    (place / "test/jemalloc_test.h").write_text((common.HERE / "jemalloc_test.h").read_text())
    macros = (suite.dir / "test/include/test/test.h").read_text()
    # Up to the declarations of what jemalloc_test.h has; but for its own words of a
    # status.
    macros = re.sub(r"typedef enum \{.*?\} test_status_t;\s*typedef void \(test_t\)\s*\([^)]*\);", "", macros, flags=re.S)
    macros = re.sub(r"^bool test_is_reentrant.*", "", macros, flags=re.S | re.M)
    macros = macros.replace("abort();", "p_test_fail(prefix, message); abort();")
    (place / "test/test_macros.h").write_text(macros)
    return [f"-I{place}", "-D_GNU_SOURCE", "-fno-builtin", "-pthread"]


def source_of(suite, name):
    """Whether a profile was written is asked of the folder."""
    text = (suite.dir / f"test/unit/{name}.c").read_text()
    text = re.sub(r"\bdid_prof_dump_open = false;", "peer_profiles(true);", text)
    text = re.sub(r"(expect_(?:true|false))\(did_prof_dump_open", r"\1(peer_profiles(false) > 0", text)
    text = re.sub(r"\bprof_sys_thread_name_read = (\w+);", r"peer_thread_name(\1);", text)
    path = suite.work / f"{name}.c"
    path.write_text(text)
    return path


def conf_of(suite, name):
    script = suite.dir / f"test/unit/{name}.sh"
    values = SETTINGS.findall(script.read_text()) if script.exists() else []
    return ",".join(values)


def outcome(ran):
    """For each test what has failed, None if it was skipped; and those that were given up."""
    tests, stopped, last = {}, set(), None
    for line in ran.out.splitlines():
        kind, _, rest = line.partition("\t")
        test, _, what = rest.partition("\t")
        what = re.sub(r"^\((.*)\) ([=!<>]+) \((.*)\)$", r"\1 \2 \3", what)
        if kind == "TEST":
            tests[test], last = [], test
        elif kind == "FAIL" and what not in (tests.get(test) or []):
            tests.setdefault(test, []).append(what)
        elif kind == "SKIP":
            tests[test], last = None, None
        elif kind == "STOP":
            stopped.add(test)
            last = None
        elif kind == "DONE":
            last = None
    if last is not None:
        tests[last] = (tests[last] or []) + [CRASHED]
        stopped.add(last)
    return tests, stopped


def run_over(suite, program, name, conf, library):
    folder = suite.work / f"run-{name}"
    folder.mkdir(exist_ok=True)
    tests, stopped = {}, set()
    for number in range(TESTS_MOST):
        some, given_up = outcome(suite.run([str(program)], cwd=folder, env={
            "LD_PRELOAD": library, "MALLOC_CONF": conf, "SEEP_BIN": suite.seep, "PEER_TEST": str(number)}))
        if not some:
            break
        tests.update(some)
        stopped |= given_up
    return tests, stopped


def one(suite, flags, name, conf, library):
    source = name.split("+")[0]
    # One program for each: mallctl of the other must not be there at all.
    programs = [suite.compile([source_of(suite, source)], source + end, flags + ["-O1", "-rdynamic", which, "-lm"])
                for end, which in ((".control", library), (".test", suite.libseep))]
    if any(isinstance(p, common.Ran) for p in programs):
        yield common.left_out(name, "asks for what only jemalloc's own headers have")
        return
    theirs, given_up = run_over(suite, programs[0], name, conf, library)
    ours, _ = run_over(suite, programs[1], name, conf, suite.libseep)
    for test, failed in theirs.items():
        full, mine = f"{name}:{test}", ours.get(test, ["it was not come to"])
        if failed is None or mine is None:
            yield common.left_out(full, "skips itself")
            continue
        if name.startswith("mallctl") and HEAP.search(test):
            yield common.left_out(full, "about arenas and caches of the heap")
            continue
        more = [what for what in mine if what not in failed]
        if more:
            yield common.differ(full, "; ".join(more))
        elif test in given_up:
            yield common.left_out(full, "looks further inside")
        else:
            yield common.agree(full)


def run(suite):
    library = next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), None)
    if library is None:
        yield common.left_out("all", "there is no libjemalloc.so.2 to compare with")
        return
    flags = headers(suite)
    names = sorted(p.stem for p in (suite.dir / "test/unit").glob("prof_*.c"))
    for name in [*names, *EXTRA, *sorted(INSIDE)]:
        if not suite.wanted(name):
            continue
        if name in INSIDE:
            yield common.left_out(name, "looks further inside")
            continue
        yield from one(suite, flags, name, EXTRA.get(name) or conf_of(suite, name), library)
