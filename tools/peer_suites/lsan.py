# SPDX-License-Identifier: MIT
"""LeakSanitizer's own tests (compiler-rt, test/lsan/TestCases).

A test has RUN lines, shell commands in lit's words, and CHECK lines for FileCheck. The commands are run as they
are, in one shell for each test: the compiler without -fsanitize=leak, so that the program is an ordinary one, and
`seep run --format=lsan` for %run. `not` and `FileCheck` are small stand-ins (filecheck.py). What differs is the
first command that fails. Only the standalone mode is run, not the one under AddressSanitizer."""
import os
import re
import shlex

from . import common

NAME = "LeakSanitizer"
SKIPPED = {"use_poisoned_asan": "about AddressSanitizer"}
NOT = """#!/bin/bash
"$@"
[ $? -ne 0 ]
"""


def found(directory):
    return (directory / "test/lsan/TestCases").is_dir()


def prepare(suite):
    """Programs that RUN lines name."""
    tools = suite.work / "bin"
    tools.mkdir()
    (tools / "not").write_text(NOT)
    (tools / "FileCheck").write_text(
        f"#!/bin/bash\nexec python3 {shlex.quote(str(common.HERE / 'filecheck.py'))} \"$@\"\n")
    for path in tools.iterdir():
        path.chmod(0o755)
    return tools


def command_of(suite, path, line):
    """A RUN line as a command of the shell."""
    program = suite.work / path.stem
    flags = (f"-g -O0 -w -I{suite.dir}/include -I{suite.dir}/test/lsan -I{suite.dir}/test -I{suite.dir}/lib "
             "-pthread -rdynamic -Wl,--unresolved-symbols=ignore-all ")
    for word, text in (("%clangxx_lsan ", "clang++ " + flags), ("%clang_lsan ", "clang " + flags),
                       ("%clangxx ", "clang++ -g -w -pthread "), ("%clang ", "clang -g -w -pthread "),
                       ("%env_lsan_opts=", "env LSAN_OPTIONS=detect_leaks=1:"),
                       ("%run ", f"{suite.seep} run --no-save --format=lsan -- "),
                       ("%s", str(path)), ("%t", str(program))):
        line = line.replace(word, text)
    return line


def essence(line):
    """A RUN line without what is the same in all of them."""
    line = re.sub(r"\$LSAN_BASE:?|\|\s*FileCheck.*|2>&1|--?check-prefix\S*|[\"']", " ", line)
    return " ".join(line.replace("%run %t", "run").replace("%env_lsan_opts=", "").split())


def one(suite, path, tools):
    source, name = path.read_text(), path.stem + ("" if path.suffix == ".cpp" else path.suffix)
    if path.stem in SKIPPED:
        return common.left_out(name, SKIPPED[path.stem])
    lines = [m[1].strip() for m in re.finditer(r"RUN:(.*)", re.sub(r"\\\n//\s*RUN:", " ", source))]
    assigned, failed = [], []
    for line in lines:
        if re.match(r"[A-Z_]+=\S+$", line):
            assigned.append(line)
            continue
        script = "\n".join(["set -o pipefail", *assigned, command_of(suite, path, line)])
        ran = suite.run(script, env={"PATH": f"{tools}:{os.environ['PATH']}"}, merge=True,
                        timeout=90, shell=True)
        if ran.status is None:
            failed.append(f"{essence(line)}: does not end")
        elif ran.status != 0 and "%run" not in line and "%clang" in line:
            return common.left_out(name, "does not compile here")
        elif ran.status != 0:
            missing = re.search(r"^FileCheck: (.*)", ran.both, re.M)
            failed.append(f"{essence(line)}: {missing[1] if missing else 'another exit status'}")
    return common.differ(name, "; ".join(failed)) if failed else common.agree(name)


def run(suite):
    tools = prepare(suite)
    for path in sorted((suite.dir / "test/lsan/TestCases").rglob("*.c*")):
        if suite.wanted(path.stem) and "Darwin" not in path.parts and path.suffix in (".c", ".cpp"):
            yield one(suite, path, tools)
