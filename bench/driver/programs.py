# SPDX-License-Identifier: MIT
"""The workloads: how each is built, and the command that does SIZE units of it.

A program has `command(size)` and sizes to start calibration from. Synthetic ones print
`count allocs=N frees=N live_blocks=N live_bytes=N`; installed ones print nothing we count.
What is generated for a size is made once and kept under BUILD/bench/data."""

import os
import shutil
import subprocess

CFLAGS = ["-O2", "-g", "-fomit-frame-pointer", "-Wall", "-Wextra"]


class Command:
    """What to run: arguments, extra environment, and a file for standard input or None."""

    def __init__(self, argv, env=None, stdin=None):
        self.argv = argv
        self.env = env or {}
        self.stdin = stdin


class Program:
    """One workload. `missing` is why it cannot run, or None."""

    server = False  # driven over a socket instead of running to its end by itself
    counts = False  # prints its own number of allocations
    brings_jemalloc = False  # is linked with it

    def __init__(self, name, about, start, least, most):
        self.name = name
        self.about = about
        self.start = start  # where calibration begins
        self.least = least
        self.most = most
        self.missing = None
        self.exe = None  # for report tools that want the binary

    def prepare(self, place):
        pass

    def command(self, size):
        raise NotImplementedError


class Compiled(Program):
    counts = True

    def __init__(self, name, about, start, least, most, source):
        super().__init__(name, about, start, least, most)
        self.source = source

    def prepare(self, place):
        self.exe = place.compile(self.source, self.name, ["-pthread"])

    def command(self, size):
        return Command([self.exe, str(size)])


class Sqlite(Program):
    def prepare(self, place):
        self.place = place
        self.exe = shutil.which("sqlite3")
        if self.exe is None:
            self.missing = "sqlite3 is not installed"

    def command(self, size):
        script = self.place.generated("sqlite.sh", size, "sql")
        return Command([self.exe, "-batch", ":memory:"], stdin=script)


class Python(Program):
    def prepare(self, place):
        self.script = place.source("objects.py")
        self.exe = "/usr/bin/python3"
        if not os.access(self.exe, os.X_OK):
            self.missing = "there is no /usr/bin/python3"

    def command(self, size):
        # Not -I or -E: they would make it ignore the variable.
        return Command([self.exe, self.script, str(size)], {"PYTHONMALLOC": "malloc"})


class Compile(Program):
    def prepare(self, place):
        self.place = place
        found = subprocess.run(["gcc", "-print-prog-name=cc1"], capture_output=True, text=True)
        self.exe = found.stdout.strip()
        if not os.path.isabs(self.exe):
            self.missing = "gcc has no cc1"

    def command(self, size):
        source = self.place.generated("compile.sh", size, "i")
        return Command([self.exe, "-quiet", "-O2", "-fpreprocessed", source, "-o", "/dev/null"])


class Redis(Program):
    server = True
    brings_jemalloc = True

    def prepare(self, place):
        self.load = place.source("redis.sh")
        self.exe = shutil.which("redis-server")
        if self.exe is None or shutil.which("redis-benchmark") is None:
            self.missing = "redis-server or redis-benchmark is not installed"

    def server_command(self, folder, socket):
        return Command([self.exe, "--port", "0", "--unixsocket", socket, "--save", "",
                        "--appendonly", "no", "--dir", folder])

    def load_argv(self, socket, size):
        return [self.load, socket, str(size)]


def all_programs():
    return [
        Compiled("churn1", "tight malloc/free loop, 16-256 bytes, 3 frames deep",
                 2_000_000, 100_000, 10 ** 9, "churn1.c"),
        Compiled("churn2", "two threads, 100,000 live, random replacement, frees across threads",
                 500_000, 200_000, 10 ** 9, "churn2.c"),
        Compiled("deep", "60 frames deep on 200 paths, 20,000 kept",
                 100_000, 20_000, 10 ** 9, "deep.c"),
        Compiled("live", "so many live blocks of 16-128 bytes at once",
                 500_000, 50_000, 12_000_000, "live_million.c"),
        Compiled("cxx", "C++ containers and strings", 100_000, 5_000, 10 ** 9, "cxx.cc"),
        Sqlite("sqlite", "sqlite3 in memory: inserts, then selects", 10_000, 1_000, 10 ** 7),
        Python("python", "python3 with PYTHONMALLOC=malloc: JSON, dicts, objects",
               5_000, 500, 10 ** 8),
        Compile("compile", "cc1 -O2 over a generated file of so many functions", 10, 1, 10 ** 5),
        Redis("redis", "redis-server under redis-benchmark, CPU of the server only",
              20_000, 2_000, 10 ** 7),
    ]


class Place:
    """Where sources are and where built and generated files go."""

    def __init__(self, root, build):
        self.root = root
        self.build = build
        self.bench = os.path.join(build, "bench")
        self.data = os.path.join(self.bench, "data")
        os.makedirs(self.data, exist_ok=True)

    def source(self, name):
        return os.path.join(self.root, "bench", "workloads", name)

    def compile(self, source, name, flags=()):
        path = source if os.path.isabs(source) else self.source(source)
        out = os.path.join(self.bench, name)
        if os.path.exists(out) and os.path.getmtime(out) >= os.path.getmtime(path):
            return out
        compiler = ["g++", "-std=c++17"] if path.endswith(".cc") else ["gcc", "-std=gnu11"]
        subprocess.run(compiler + CFLAGS + ["-o", out, path, *flags], check=True)
        return out

    def generated(self, script, size, suffix):
        """The output of a generating script for `size`, made when it is not there yet."""
        path = self.source(script)
        out = os.path.join(self.data, "%s-%d.%s" % (script.split(".")[0], size, suffix))
        if os.path.exists(out) and os.path.getmtime(out) >= os.path.getmtime(path):
            return out
        with open(out + ".part", "w") as f:
            subprocess.run([path, str(size)], stdout=f, check=True)
        os.replace(out + ".part", out)
        return out
