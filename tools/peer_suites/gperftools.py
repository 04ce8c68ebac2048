# SPDX-License-Identifier: MIT
"""gperftools' own tests of its heap profiler and of its heap checker (src/tests).

heap-profiler_unittest.sh is run as it is: its program is built against compat's heap-profiler.h and runs with libseep.so
preloaded, and `pprof` is `seep pprof` of that program. The checker's test (all that is left of them in
releases without a checker) runs with libseep.so and HEAPCHECK, once for each mode."""
import os
import re
import shlex

from . import common

NAME = "gperftools"
MODES = ("minimal", "normal", "strict", "draconian", "as-is", "local")
# What the tests want of gperftools' own headers, without gperftools.
PORTAL = """#pragma once
#include <cstddef>
namespace tcmalloc {
struct TestingPortal {
  static TestingPortal *Get() { static TestingPortal p; return &p; }
  long sample = 0;
  long &GetSampleParameter() { return sample; }
};
}
"""
BASICS = """#pragma once
#include <cstdio>
#include <cstdlib>
#define ATTRIBUTE_NOINLINE __attribute__((noinline))
#define HAVE_UNISTD_H 1
#define CHECK(x) do { if (!(x)) { fprintf(stderr, "CHECK failed: %s\\n", #x); abort(); } } while (0)
"""


def found(directory):
    return (directory / "src/tests/heap-profiler_unittest.sh").is_file()


def headers(suite):
    place = suite.work / "include"
    (place / "base").mkdir(parents=True)
    (place / "testing_portal.h").write_text(PORTAL)
    for name in ("base/basictypes.h", "base/logging.h", "config_for_unittests.h", "config.h"):
        (place / name).write_text(BASICS)
    compat = common.HERE.parent.parent / "compat/include"
    return [f"-I{place}", f"-I{compat}"]


def profiler(suite, flags):
    tests, name = suite.dir / "src/tests", "heap-profiler_unittest"
    program = suite.compile([tests / (name + ".cc")], name + ".real",
                            flags + [suite.libseep, f"-Wl,-rpath,{suite.build}"], cxx=True)
    if isinstance(program, common.Ran):
        return common.left_out(name, "does not compile here")
    tools = suite.work / "bin"
    tools.mkdir()
    seep, lib = shlex.quote(suite.seep), shlex.quote(suite.libseep)
    wrapper = suite.work / name
    wrapper.write_text(f"#!/bin/sh\nLD_PRELOAD={lib} exec {shlex.quote(str(program))} \"$@\"\n")
    (tools / "pprof").write_text(
        "#!/bin/bash\nlast=${!#}\nset -- \"${@:1:$#-1}\"\n"
        f"exec {seep} pprof \"$@\" {shlex.quote(str(program))} \"$last\"\n")
    for path in (wrapper, tools / "pprof"):
        path.chmod(0o755)
    ran = suite.run(["sh", str(tests / (name + ".sh")), str(wrapper)], merge=True,
                    env={"PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(suite.work)})
    if ran.status == 0:
        return common.agree(name)
    said = re.findall(r"(?:^--- Test failed[^\n]*|^Profile not found[^\n]*|CHECK failed[^\n]*)", ran.both, re.M)
    return common.differ(name, "; ".join(re.sub(r"\S*/", "", s) for s in said) or f"status {ran.status}")


def checker(suite, flags):
    source = suite.dir / "src/tests/heap-checker-stub-test.cc"
    if not source.exists():
        return
    # The test's own include of the checker's header; what is left of it in gperftools is
    # empty.
    text = re.sub(r'#include\s+[<"]gperftools/heap-checker\.h[>"]', "", source.read_text())
    copy = suite.work / "checker.cc"
    copy.write_text("#include <gperftools/heap-checker.h>\n#include <cstdio>\n" + text)
    program = suite.compile([copy], "checker", flags, cxx=True)
    for mode in MODES:
        name = f"heap-checker-stub-test:{mode}"
        if isinstance(program, common.Ran):
            yield common.left_out(name, "does not compile here")
            continue
        ran = suite.run([str(program)], env={"LD_PRELOAD": suite.libseep, "HEAPCHECK": mode,
                                             "SEEP_BIN": suite.seep}, merge=True)
        yield common.agree(name) if ran.status == 0 else common.differ(name, f"status {ran.status} instead of 0")


def run(suite):
    flags = headers(suite)
    if suite.wanted("heap-profiler_unittest"):
        yield profiler(suite, flags)
    if suite.wanted("heap-checker-stub-test"):
        yield from checker(suite, flags)
