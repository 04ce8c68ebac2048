# SPDX-License-Identifier: MIT
"""What seep adds to a program in instructions, counted by valgrind's cachegrind.

The same whatever else the machine does, so this is where a change of the hot path shows that a
noisy machine's CPU times hide. It is the program's own instructions, with libseep.so preloaded
as `seep run` does it: not the kernel's, and not those of the tool. Every count is made twice, and
the difference of the two stands beside it: hashes of addresses are not the same in each run."""

import os
import re
import shutil

from driver.peers import built

# Sizes of about a second under cachegrind.
SIZES = {"churn1": 2_000_000, "churn2": 300_000, "deep": 100_000, "live": 500_000, "cxx": 40_000,
         "sqlite": 20_000, "python": 20_000, "compile": 20}
MODES = ["off", "sample", "exact"]


def counted(folder, number):
    log = os.path.join(folder, "log%d" % number)

    def start(command, _out):
        return (["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                 "--log-file=" + log] + command.argv, {})
    return log, start


def count(runner, command, env):
    """Instructions of two runs, least first."""
    found = []
    for number in range(2):
        folder = runner.folder()
        log, start = counted(folder, number)

        def with_env(command, out, start=start):
            argv, _ = start(command, out)
            return argv, {"PYTHONHASHSEED": "0", **{k: v.replace("{out}", out)
                                                    for k, v in env.items()}}
        runner.run(with_env, command, folder)
        with open(log) as f:
            refs = re.search(r"I\s+refs:\s+([\d,]+)", f.read())
        found.append(int(refs.group(1).replace(",", "")))
        shutil.rmtree(folder)
    return sorted(found)


def instructions(runner, programs, options, say):
    libseep = built(runner.place.build, "libseep.so")
    if libseep is None or shutil.which("valgrind") is None:
        return {"failed": "libseep.so is not built" if libseep is None
                else "valgrind is not installed"}
    rows = []
    for program in programs:
        if program.name not in SIZES:
            continue
        program.prepare(runner.place)
        if program.missing:
            continue
        size = SIZES[program.name] // (20 if options.quick else 1)
        command = program.command(size)
        row = {"program": program.name, "size": size}
        say("%s  instructions" % program.name)
        row["plain"] = count(runner, command, {})
        for mode in MODES:
            say("%s  instructions  %s" % (program.name, mode))
            row[mode] = count(runner, command, {"LD_PRELOAD": libseep,
                                                "SEEP": "mode=%s,dir={out}" % mode})
        rows.append(row)
    return {"rows": rows}
