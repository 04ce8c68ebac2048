#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Feeds every reader of seep changed copies of sound files, through the real command.

    tools/mutate.py [--build DIR] [--count N] [--from N] [--keep DIR] [READER...]

Each input is read by one `seep` of its own under `ulimit -v` 4 GiB, for at most 10 seconds: of processor time, since
others may use the machine too; one that sleeps is waited for two minutes. A signal, a time-out, or an exit status that is none of seep's own is a find: the input is kept (--keep, else the
present folder) and named, and the script leaves with 1. The same number of the same reader is always the
same input, if the sound files are. The sound files are made by --build's seep and by the compiler here.
"""
import argparse
import gzip
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SPACE, SECONDS, PATIENCE = 4 << 30, 10, 120
EDGES = [0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
         0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0xFFFFFFFFFFFFFFFF, 1 << 40, 1 << 47, 4096]
WORDS = [b"\n", b"\0", b"@", b"0x", b"-", b"18446744073709551615", b"99999999999999999999999", b"%s%n",
         b"../../", b"\x1b[2J", b"\xe2\x80\xae", b"[", b"]", b"{", b"}", b"\"", b":", b" ", b";", b"1e999",
         b"</script>", b"heap_v2/", b"MAPPED_LIBRARIES:\n", b"...", b"*"]
SOURCE = r"""
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char text[50]; };
static struct node *kept;
static inline __attribute__((always_inline)) void *inner(int n) { return calloc(1, (size_t)n + 17); }
__attribute__((noinline)) static void *lose(int n) { return inner(n); }
int main(int argc, char **argv)
{
	for (int i = 0; i < 40; i++) {
		struct node *n = malloc(sizeof *n + (size_t)i);
		strcpy(n->text, "text");
		n->next = kept;
		kept = n;
		if (!lose(i * 8)) return 1;
	}
	if (argc > 1 && argv[1][0] == 'a') abort();
	return 0;
}
"""
# Names that a demangler has work with.
NAMES = r"""
#include <map>
#include <string>
#include <vector>
template <class A, class... B> struct deep : deep<B...> { A a; };
template <class A> struct deep<A> { A a; };
template <class F> __attribute__((noinline)) auto call(F f, int n) { return f(n); }
namespace outer { namespace { struct in { __attribute__((noinline)) ~in() { kept.push_back({}); } std::vector<std::map<int, std::string>> kept; }; } }
__attribute__((noinline)) deep<int, std::vector<std::string>, char[7]> *make() { return new deep<int, std::vector<std::string>, char[7]>; }
int main(int argc, char **) { outer::in one; return call([&](int n) { return make()->a + n; }, argc) == 99; }
"""


def sh(*words, **more):
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                          check=False, **more)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


class Place:
    """The sound files, made once in a folder of their own."""

    def __init__(self, build, folder):
        self.seep, self.lib, self.dir = f"{build}/seep", f"{build}/libseep.so", folder
        # Where seep looks for it, if that is no word of the command.
        self.files = {"source": f"{folder}/prog.c", "last": f"{folder}/state/seep/last"}
        self.env = dict(os.environ, SEEP_CACHE=f"{folder}/cache", XDG_STATE_HOME=f"{folder}/state", LC_ALL="C.UTF-8")
        for name in ("LD_PRELOAD", "SEEP", "DEBUGINFOD_URLS"):
            self.env.pop(name, None)
        write(f"{folder}/prog.c", SOURCE.encode())
        subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", f"{folder}/prog", f"{folder}/prog.c"], check=True)
        sh(self.seep, "run", "-o", f"{folder}/prog.rec", "--", f"{folder}/prog", env=self.env)
        with open(f"{folder}/prog.json", "wb") as out:
            subprocess.run([self.seep, "report", "--json", f"{folder}/prog.rec"], stdout=out, env=self.env, check=False)

    def binaries(self):
        """The program with its DWARF as it is, compressed, without it but .gnu_debugdata, and with the names of C++."""
        d = self.dir
        made = [f"{d}/prog"]
        sh("objcopy", "--compress-debug-sections=zlib", f"{d}/prog", f"{d}/prog.zlib")
        sh("objcopy", "--compress-debug-sections=zstd", f"{d}/prog", f"{d}/prog.zstd")
        sh("objcopy", "-S", f"{d}/prog", f"{d}/prog.strip")
        sh("objcopy", "--strip-debug", f"{d}/prog", f"{d}/prog.mini")
        sh("xz", "-f", f"{d}/prog.mini")
        sh("objcopy", f"--add-section=.gnu_debugdata={d}/prog.mini.xz", f"{d}/prog.strip", f"{d}/prog.debugdata")
        write(f"{d}/names.cpp", NAMES.encode())
        sh("g++", "-g", "-O1", "-o", f"{d}/names", f"{d}/names.cpp")
        return [read(f) for f in made + [f"{d}/{n}" for n in ("prog.zlib", "prog.zstd", "prog.debugdata", "names")]
                if os.path.exists(f)]

    def debug_file(self):
        """A program without names, and its debug file, which --debug-dir finds by its build-id."""
        d = self.dir
        notes = subprocess.run(["readelf", "-n", f"{d}/prog"], stdout=subprocess.PIPE, env=self.env, check=True).stdout
        build_id = notes.split(b"Build ID: ")[1].split()[0].decode()
        os.makedirs(f"{d}/debug/.build-id/{build_id[:2]}")
        self.files["debug"] = f"{d}/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
        sh("objcopy", "--only-keep-debug", f"{d}/prog", f"{d}/prog.debug")
        sh("objcopy", "-S", f"{d}/prog", f"{d}/bare")
        return [read(f"{d}/prog.debug")] if os.path.exists(f"{d}/prog.debug") else []

    def index(self):
        """What is kept of a binary's DWARF for the next time: seep's own, for a small one is not worth it."""
        start = int(subprocess.run(["readelf", "-SW", self.seep], stdout=subprocess.PIPE, env=self.env,
                                   check=True).stdout.split(b" .text ")[1].split()[1], 16)
        heap_of(f"{self.dir}/wide.heap", range(start, start + 0x80000, 0x1b00), self.seep)
        sh(self.seep, "report", "--exe", self.seep, f"{self.dir}/wide.heap", env=self.env)
        names = os.listdir(f"{self.dir}/cache") if os.path.isdir(f"{self.dir}/cache") else []
        if not names:
            return []
        self.files["index"] = f"{self.dir}/cache/{names[0]}"
        return [read(self.files["index"])]

    def live(self):
        folder = f"{self.dir}/live"
        os.mkdir(folder)
        sh(f"{self.dir}/prog", env=dict(self.env, LD_PRELOAD=self.lib, SEEP=f"mode=exact,dir={folder},max-size=1M"))
        return [read(f"{folder}/{name}").rstrip(b"\0") for name in sorted(os.listdir(folder))][:1]

    def corpus(self, name, most=65536):
        folder = f"{ROOT}/fuzz/corpus/{name}"
        files = [f"{folder}/{n}" for n in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
        return [read(f) for f in files if 0 < os.path.getsize(f) <= most]

    def golden(self, *names):
        return [read(f"{ROOT}/tests/golden/{n}") for n in names]

    def core(self):
        """A core of the real program, by gcore if it is there; else those of the corpus."""
        pid = subprocess.Popen(["gdb", "-q", "-batch", "-ex", "start", "-ex", "break _exit", "-ex", "continue",
                                "-ex", f"gcore {self.dir}/core", f"{self.dir}/prog"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) if shutil.which("gdb") else None
        if pid is not None:
            pid.wait()
        found = [read(f"{self.dir}/core")] if os.path.exists(f"{self.dir}/core") else []
        return found + self.corpus("core")


PPROF = ("pprof/go_heap.pb.gz", "pprof/go_allocs.pb.gz", "pprof/go_cpu.pb.gz")
# name: sound files, and the commands that are taken in turn; FILE is the changed one.
READERS = {
    "pack": (lambda p: [read(f"{p.dir}/prog.rec")] + p.corpus("pack"),
             ["report FILE", "report --json FILE", "leaks FILE", "diff FILE REC", "report --html OUT FILE",
              "report --traces FILE", "convert FILE OUT.pb.gz"]),
    "live": (lambda p: p.live() + p.corpus("live"),
             ["report FILE", "report --json FILE", "leaks FILE", "report --timeline FILE"]),
    "pprof": (lambda p: [gzip.decompress(d) for d in p.golden(*PPROF)] + p.corpus("pprof"),
              ["pprof -top FILE", "report --json FILE", "pprof -traces FILE", "report --tags FILE", "pprof -raw FILE",
               "pprof -dot FILE", "report --flame OUT FILE"]),
    "gzip": (lambda p: p.golden(*PPROF) + [gzip.compress(d) for d in p.golden("heap/je_exact.heap", "heap/plain.folded")],
             ["report FILE", "pprof -top FILE"]),
    "zstd": (lambda p: p.zstd(), ["report FILE", "pprof -top FILE"]),
    "jemalloc": (lambda p: p.golden("heap/je_exact.heap", "heap/je_sampled.heap"),
                 ["report FILE", "jeprof --text FILE", "jeprof --stacks --text FILE", "jeprof --dot FILE"]),
    "gperftools": (lambda p: p.golden("heap/gp_profile.heap", "heap/gp_mmap.heap", "heap/gp_growth.heap", "heap/gp_sample.heap"),
                   ["report FILE", "jeprof --text FILE", "jeprof --callgrind FILE"]),
    "symbolized": (lambda p: p.golden("heap/symbolized.heap", "heap/go_debug1.heap") + p.corpus("text"),
                   ["report FILE", "jeprof --text FILE", "jeprof --raw FILE"]),
    "folded": (lambda p: p.golden("heap/plain.folded", "heap/pair.folded"),
               ["report FILE", "flamegraph.pl FILE", "report --tree FILE", "diff FILE FILE"]),
    "dhat": (lambda p: p.golden("dhat/cases.dhat"), ["report FILE", "peak FILE", "churn FILE", "report --json FILE"]),
    "heaptrack": (lambda p: p.golden("heaptrack/cases.zst") + p.corpus("heaptrack"),
                  ["report FILE", "peak FILE", "timeline FILE", "churn FILE", "report --json FILE", "heaptrack_print -l 1 FILE",
                   "heaptrack_print -M OUT -F OUT -H OUT FILE", "diff FILE FILE"]),
    "massif": (lambda p: p.golden("heap/massif.out"),
               ["report FILE", "timeline FILE", "diff FILE@3 FILE@6", "timeline --json FILE", "convert FILE@2 OUT.pb.gz",
                "ms_print --threshold=0 FILE"]),
    "mtrace": (lambda p: p.golden("heap/mtrace.log"), ["mtrace FILE", "report FILE", "mtrace PROG FILE"]),
    "core": (lambda p: p.core(), ["leaks FILE", "scan FILE", "report FILE", "leaks FILE PROG", "scan --json FILE"]),
    "pmap": (lambda p: p.corpus("pmap") + [read("/proc/self/smaps"), read("/proc/self/maps")],
             ["diff FILE FILE", "diff SMAPS FILE"]),
    "suppressions": (lambda p: p.corpus("suppress"), ["leaks --suppressions FILE REC"]),
    "baseline": (lambda p: [read(f"{p.dir}/prog.json"), read(f"{p.dir}/prog.rec")],
                 ["leaks --baseline FILE REC", "leaks --baseline FILE --fail-on leak REC"]),
    "scan": (lambda p: p.scans(), ["scan --since FILE CORE", "scan FILE"]),
    "source": (lambda p: [SOURCE.encode()],
               ["report --list main --exe PROG HEAP", "jeprof --list=main PROG HEAP", "report REC"]),
    "last": (lambda p: [read(f"{p.dir}/state/seep/last")], ["report @last", "leaks @last"]),
    "index": (lambda p: p.index(), ["report --exe SEEP WIDE", "report --lines --exe SEEP WIDE", "jeprof --text SEEP WIDE"]),
    "debug": (lambda p: p.debug_file(),
              ["report --no-cache --debug-dir DEBUG --exe BARE HEAP",
               "report --lines --no-cache --debug-dir DEBUG --exe BARE HEAP"]),
    "elf": (lambda p: p.binaries(),
            ["jeprof --text FILE HEAP", "report --no-cache --exe FILE HEAP", "jeprof --list=main FILE HEAP", "leaks CORE FILE",
             "report --lines --no-cache --exe FILE HEAP"]),
}


def mutate(rng, seeds):
    data = bytearray(rng.choice(seeds))
    used = None
    for _ in range(1 + rng.randrange(8)):
        if not data:
            break
        kind, at = rng.randrange(10), rng.randrange(len(data))
        if len(data) > 65536 and kind != 9:  # mostly zeros: where something stands
            used = used or [i for i in range(0, min(len(data), 1 << 20), 4) if data[i:i + 4] != b"\0\0\0\0"] or [0]
            # Its heads and tables half of the time: chance alone would seldom meet them.
            at = rng.randrange(4096) if rng.randrange(2) else min(rng.choice(used) + rng.randrange(4), len(data) - 1)
        if kind < 2:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at] = rng.randrange(256)
        elif kind < 5:
            form = rng.choice(("<H", "<I", "<Q", ">I"))
            raw = struct.pack(form, rng.choice(EDGES) & ((1 << 8 * struct.calcsize(form)) - 1))
            at -= at % len(raw) if rng.randrange(2) else 0
            data[at:at + len(raw)] = raw
        elif kind == 5:
            data[at:at] = rng.choice(WORDS) * rng.choice((1, 1, 1, 1000))
        elif kind == 6:
            del data[at:at + rng.choice((1, 4, 8, 64, 1000))]
        elif kind == 7:
            piece = bytes(data[at:at + rng.choice((1, 8, 64, 1000))])
            to = rng.randrange(len(data))
            data[to:to] = piece * rng.choice((1, 1, 2, 100))
        elif kind == 8:
            other = rng.choice(seeds)
            cut = rng.randrange(len(other)) if other else 0
            data[at:at + 200] = other[cut:cut + 200]
        elif rng.randrange(4) == 0:
            del data[at:]
    return bytes(data)


def bombs(rng, kind):
    """A small file that unpacks to a large one, behind a head that some reader knows."""
    head = rng.choice((b"heap_v2/1\n  t*: 1: 8 [0: 0]\n", b"a;b 1\n", b"= Start\n", b"", b"\x0a\x04"))
    body = rng.choice((b"\0", b"\n", b"a;b 1\n", b"@ 0x1 0x2\n  t*: 1: 8 [0: 0]\n", b"\x12\x00", b"a;", b"+ 0x1 0x2\n"))
    plain = head + body * ((64 << 20) // len(body))
    if kind == "gzip":
        return gzip.compress(head, 1) + gzip.compress(plain, 1) * rng.choice((1, 8, 80))
    one = subprocess.run(["zstd", "-1", "-c"], input=plain, stdout=subprocess.PIPE, check=True).stdout
    return one * rng.choice((1, 8, 80))


def heap_of(path, offsets, binary):
    """A profile of these places of a binary."""
    start = 0x400000
    rows = "".join(f"@ {start + off:#x} {start + off + 64:#x}\n  t*: 1: 100 [0: 0]\n" for off in offsets)
    maps = f"{start:x}-{start + 0x10000000:x} r-xp 00000000 00:00 1 {binary}\n"
    write(path, f"heap_v2/1\n  t*: 80: 8000 [0: 0]\n{rows}\nMAPPED_LIBRARIES:\n{maps}".encode())


def prepare(p):
    heap_of(f"{p.dir}/addresses.heap", range(0x1000, 0x1400, 13), f"{p.dir}/prog")
    write(f"{p.dir}/smaps", read("/proc/self/smaps"))
    p.zstd = lambda: [subprocess.run(["zstd", "-c"], input=d, stdout=subprocess.PIPE, check=True).stdout
                      for d in p.golden("heap/je_exact.heap", "heap/plain.folded")]

    def scans():
        p.core()
        sh(p.seep, "scan", "--save", f"{p.dir}/look", f"{p.dir}/core", env=p.env)
        return [read(f"{p.dir}/look")] if os.path.exists(f"{p.dir}/look") else []
    p.scans = scans


def attempt(p, name, n, data, command):
    """What is wrong, or None."""
    path = p.files.get(name, f"{p.dir}/in")
    write(path, data)
    if name == "elf":  # else it is asked about a binary of the same build-id that was read before
        shutil.rmtree(f"{p.dir}/cache", ignore_errors=True)
    place = {"FILE": path, "REC": f"{p.dir}/prog.rec", "HEAP": f"{p.dir}/addresses.heap", "PROG": f"{p.dir}/prog",
             "CORE": f"{p.dir}/core", "SEEP": p.seep, "WIDE": f"{p.dir}/wide.heap", "DEBUG": f"{p.dir}/debug",
             "BARE": f"{p.dir}/bare", "SMAPS": f"{p.dir}/smaps", "OUT": f"{p.dir}/out", "OUT.pb.gz": f"{p.dir}/out.pb.gz"}
    words = [p.seep] + ["@".join([place.get(w.split("@")[0], w.split("@")[0])] + w.split("@")[1:]) for w in command.split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              timeout=PATIENCE, env=p.env, check=False)
    except subprocess.TimeoutExpired:
        return f"{name} {n}: not done after {PATIENCE} s: {' '.join(words[1:])}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if took > SECONDS:
        return f"{name} {n}: took {took:.1f} s: {' '.join(words[1:])}"
    if done.returncode < 0 or done.returncode > 3:
        return f"{name} {n}: status {done.returncode}: {' '.join(words[1:])}: {done.stderr[-300:]!r}"
    return None


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--build", default=f"{ROOT}/build")
    a.add_argument("--count", type=int, default=10000)
    a.add_argument("--from", type=int, default=0, dest="first")
    a.add_argument("--keep", default=".")
    a.add_argument("readers", nargs="*")
    a = a.parse_args()
    finds = 0
    for name in a.readers or READERS:
        with tempfile.TemporaryDirectory(prefix="seep-mutate.") as folder:
            p = Place(os.path.abspath(a.build), folder)
            prepare(p)
            make, commands = READERS[name]
            seeds = [s for s in make(p) if s]
            if "leaks CORE FILE" in commands:
                p.core()
            if not seeds:
                print(f"{name}: left out, nothing to start from here", flush=True)
                continue
            resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            here = 0
            for n in range(a.first, a.first + a.count):
                rng = random.Random(f"{name} {n}")
                bomb = name in ("gzip", "zstd") and n % 50 == 39
                data = bombs(rng, name) if bomb else mutate(rng, seeds)
                wrong = attempt(p, name, n, data, commands[n % len(commands)])
                if wrong is not None:
                    here += 1
                    print(wrong, flush=True)
                    write(os.path.join(a.keep, f"{name}-{n}"), data)
            finds += here
            print(f"{name}: {a.count} inputs from {len(seeds)} files, {here} finds", flush=True)
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
