# SPDX-License-Identifier: MIT
"""What a figure needs beside it to mean something: machine, versions, and how quiet it was."""

import os
import platform
import re
import shutil
import subprocess

# Command and the pattern of the version in what it prints.
VERSIONS = [
    ("gcc", ["gcc", "-dumpfullversion"], r"([\d.]+)"),
    ("glibc", ["ldd", "--version"], r"\) ([\d.]+\S*)"),
    ("jemalloc", ["jeprof", "--version"], r"jemalloc ([\d.]+)"),
    # google-pprof says 2.0 whatever it came with, so the package is asked.
    ("gperftools", ["dpkg-query", "-W", "libgoogle-perftools4*"], r"\t([\d.]+)"),
    ("heaptrack", ["heaptrack", "--version"], r"([\d.]+)"),
    ("valgrind", ["valgrind", "--version"], r"valgrind-([\d.]+)"),
    ("go", ["go", "version"], r"go([\d.]+)"),
    ("binutils", ["addr2line", "--version"], r"([\d.]+)$"),
    ("python", ["/usr/bin/python3", "--version"], r"Python ([\d.]+)"),
    ("redis", ["redis-server", "--version"], r"v=([\d.]+)"),
    ("sqlite", ["sqlite3", "--version"], r"([\d.]+)"),
]


def first_match(argv, pattern):
    if shutil.which(argv[0]) is None:
        return None
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = re.search(pattern, done.stdout + done.stderr, re.M)
    return found.group(1) if found else None


def versions(seep):
    rows = VERSIONS + ([("seep", [seep, "--version"], r"(\d[\w.+-]*)")] if seep else [])
    found = {name: first_match(argv, pattern) for name, argv, pattern in rows}
    return {name: version for name, version in found.items() if version}


def field(path, name):
    try:
        with open(path) as f:
            for line in f:
                key, _, value = line.partition(":" if ":" in line else "=")
                if key.strip() == name:
                    return value.strip().strip('"')
    except OSError:
        pass
    return "unknown"


def describe():
    memory_kib = int(field("/proc/meminfo", "MemTotal").split()[0])
    return {
        "kernel": "Linux " + platform.release(),
        "system": field("/etc/os-release", "PRETTY_NAME"),
        "cpu": field("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(memory_kib / 2 ** 20, 1),
    }


def load_average():
    return " ".join("%.2f" % x for x in os.getloadavg())


def busy_seconds():
    """CPU seconds all cores together have spent working since the machine started."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
