# SPDX-License-Identifier: MIT
"""The profilers, each one row: how to start a command under it, and how to get its report.

`base` names the allocator without profiling that a peer is compared with. `levels` says at
which sizes it runs: L is the calibrated size, M and S are fractions of it for peers so slow
that L would take minutes. `start(command, out)` returns (argv, env); what the peer leaves
goes into the folder `out`. `report(out, exe)` is the command of its own text report, or
None when there is none."""

import glob
import os
import shutil
import subprocess

LEVELS = {"L": 1.0, "M": 0.2, "S": 0.04}


class Peer:
    def __init__(self, name, kind, base, levels, start, report=None, needs=()):
        self.name = name
        self.kind = kind  # control, exact, sampled, off or leak
        self.base = base
        self.levels = levels
        self.start = start
        self.report = report
        self.missing = ", ".join(what for what, found in needs if not found) or None


def library(name):
    """Full path of a shared library the loader knows, or None."""
    ldconfig = shutil.which("ldconfig", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    if ldconfig is None:
        return None
    listing = subprocess.run([ldconfig, "-p"], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        words = line.split()
        if words and words[0] == name and "=>" in words:
            return words[-1]
    return None


def built(build, name):
    """A file of our own build, wherever in the build folder it was put, or None."""
    direct = os.path.join(build, name)
    if os.path.isfile(direct):
        return direct
    found = sorted(p for p in glob.glob(os.path.join(build, "**", name), recursive=True)
                   if os.path.isfile(p))
    return found[0] if found else None


def newest(out, pattern):
    files = sorted(glob.glob(os.path.join(out, pattern)), key=os.path.getmtime)
    return files[-1] if files else None


def plain(command, out):
    return command.argv, {}


def preload(path, **env):
    """Start with a library preloaded; {out} in a value is the folder for its files."""
    def start(command, out):
        values = {name: value.replace("{out}", out) for name, value in env.items()}
        return command.argv, {"LD_PRELOAD": path, **values}
    return start


def wrapped(*prefix):
    """Start behind a command; {out} in an argument is the folder for its files."""
    def start(command, out):
        return [word.replace("{out}", out) for word in prefix] + command.argv, {}
    return start


def report_with(tool, pattern, wants_exe=False, before=()):
    def report(out, exe):
        profile = newest(out, pattern)
        if profile is None or shutil.which(tool) is None and not os.path.isabs(tool):
            return None
        return [tool, *before] + ([exe] if wants_exe else []) + [profile]
    return report


def all_bases():
    """Allocators without profiling, by name; None for one that is not installed."""
    jemalloc, tcmalloc = library("libjemalloc.so.2"), library("libtcmalloc.so.4")
    return {
        "plain": plain,
        "jemalloc": preload(jemalloc) if jemalloc else None,
        "tcmalloc": preload(tcmalloc) if tcmalloc else None,
    }


def seep_peers(build):
    seep, libseep = built(build, "seep"), built(build, "libseep.so")
    needs = [("seep is not built", seep), ("libseep.so is not built", libseep)]
    seep = seep or "seep"
    report = report_with(seep, "seep.rec", before=["report"])
    return [
        Peer("seep-exact", "exact", "plain", "LM",
             wrapped(seep, "run", "-o", "{out}/seep.rec", "--"), report, needs),
        Peer("seep-unchecked", "unchecked", "plain", "",
             wrapped(seep, "run", "--no-leak-check", "-o", "{out}/seep.rec", "--"), report, needs),
        Peer("seep-512K", "sampled", "plain", "L",
             wrapped(seep, "run", "--sample", "512K", "-o", "{out}/seep.rec", "--"),
             report, needs),
        Peer("seep-off", "off", "plain", "L", preload(libseep or "", SEEP="mode=off"),
             None, needs[1:]),
    ]


def other_peers():
    jemalloc, tcmalloc = library("libjemalloc.so.2"), library("libtcmalloc.so.4")
    lsan = library("liblsan.so.0")
    need_je = [("libjemalloc.so.2 is not installed", jemalloc)]
    need_tc = [("libtcmalloc.so.4 is not installed", tcmalloc)]
    need_ht = [("heaptrack is not installed", shutil.which("heaptrack"))]
    need_vg = [("valgrind is not installed", shutil.which("valgrind"))]
    je_conf = "prof:true,lg_prof_sample:%d,prof_final:true,prof_prefix:{out}/je"
    jeprof = report_with("jeprof", "je.*.heap", True, ["--text"])
    return [
        Peer("jemalloc-512K", "sampled", "jemalloc", "L",
             preload(jemalloc, MALLOC_CONF=je_conf % 19), jeprof, need_je),
        Peer("jemalloc-exact", "exact", "jemalloc", "S",
             preload(jemalloc, MALLOC_CONF=je_conf % 0), jeprof, need_je),
        Peer("gperftools", "exact", "tcmalloc", "S",
             preload(tcmalloc, HEAPPROFILE="{out}/gp"),
             report_with("google-pprof", "gp.*.heap", True, ["--text"]), need_tc),
        Peer("heaptrack", "exact", "plain", "M", wrapped("heaptrack", "-o", "{out}/ht"),
             report_with("heaptrack_print", "ht*"), need_ht),
        Peer("massif", "exact", "plain", "S",
             wrapped("valgrind", "--tool=massif", "--massif-out-file={out}/massif",
                     "--log-file={out}/log"),
             report_with("ms_print", "massif"), need_vg),
        Peer("memcheck", "leak", "plain", "S",
             wrapped("valgrind", "--leak-check=full", "--log-file={out}/log"), None, need_vg),
        Peer("lsan", "leak", "plain", "M",
             preload(lsan, LSAN_OPTIONS="exitcode=0:log_path={out}/lsan"), None,
             [("liblsan.so.0 is not installed", lsan)]),
    ]


def all_peers(build):
    control = Peer("control", "control", "plain", "L", plain)
    return [control] + seep_peers(build) + other_peers()


ABOUT = {
    "control": "the base once more: its distance from 1 is noise",
    "seep-exact": "`seep run -o FILE -- CMD`: every allocation, full stacks, leak check at exit",
    "seep-unchecked": "`seep run --no-leak-check`, in the table of memory: what recording alone takes",
    "seep-512K": "`seep run --sample 512K`",
    "seep-off": "libseep.so preloaded with `SEEP=mode=off`: waiting to be switched on",
    "jemalloc-512K": "`prof:true,lg_prof_sample:19,prof_final:true`",
    "jemalloc-exact": "`prof:true,lg_prof_sample:0,prof_final:true`",
    "gperftools": "libtcmalloc with `HEAPPROFILE`",
    "heaptrack": "`heaptrack -o FILE CMD`, with its interpreter and compressor",
    "massif": "`valgrind --tool=massif`",
    "memcheck": "`valgrind --leak-check=full`",
    "lsan": "liblsan.so.0 preloaded (its default unwinder follows frame pointers)",
}
