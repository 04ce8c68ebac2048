# SPDX-License-Identifier: MIT
"""memcheck's own tests of leaks and of wrong uses of the heap (valgrind's source, memcheck/tests).

Each program is built and run under `seep valgrind` with the options of its .vgtest file. Compared
with .stderr.exp is what a report is about: kinds of errors and how often, loss records with their
bytes and blocks, leak and heap summaries. Only what the expected file has is compared: its own filters take out some of it.
Stacks, addresses and wording are not. A program that a signal ends under seep alone differs, and so
does an option that is refused. Errors about uninitialised values and system calls are not
seep's subject, and are left out on both sides."""
import collections
import re
import shlex
import shutil

from . import common

NAME = "valgrind"
TESTS = re.compile(r"""(?x)^(leak|badfree|calloc-overflow|clo_redzone|custom-overlap|cxx17_aligned|doublefree|lks$|
    long-supps|mallinfo|malloc|manuel|match-overrun|memalign|mempool|mismatches|nanoleak|new_|overlap|pdb-realloc|
    realloc|recursive-merge|sbfragment|sized_delete|supp|trivialleak|big_blocks|describe-block|err_disable|error_counts|
    exit_on_first|fwrite|inline$|pointer-trace|reach_thread|stpncpy|str_tester|thread_alloca|wrapmalloc$|accounting|
    static_malloc|custom_alloc|execve|fprw|undef_malloc|xml1|demangle$|deep-back|noisy_child)""")
KINDS = [("invalid free", r"Invalid free\(\)"), ("mismatched free", r"Mismatched free\(\)"),
         ("invalid read", r"Invalid read of size"), ("invalid write", r"Invalid write of size"),
         ("overlap", r"Source and destination overlap in"), ("fishy size", r"has a fishy"),
         ("jump", r"Jump to the invalid address")]
NUMBER = r"([\d,]+)(?: \(\+?-?[\d,]+\))?"
RECORD = re.compile(rf"{NUMBER}(?: \([\d,+ ()-]+ direct, ([\d,]+)[\d,+ ()-]* indirect\))? bytes in {NUMBER} "
                    r"blocks are (definitely lost|indirectly lost|possibly lost|still reachable)")
SUMMARY = re.compile(rf"^\s*(definitely lost|indirectly lost|possibly lost|still reachable|suppressed): "
                     rf"{NUMBER} bytes in {NUMBER} blocks", re.M)
HEAP = re.compile(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks\s+total heap usage: ([\d,]+) allocs, "
                  r"([\d,]+) frees, ([\d,]+) bytes")


def found(directory):
    return (directory / "memcheck/tests/leak-cases.c").is_file()


def essence(text):
    """Figures of a report: a dict of name to value."""
    plain = re.sub(r"^(==|--|\*\*)\d+\1 ?", "", text, flags=re.M)
    facts = {name: len(re.findall(pattern, plain)) for name, pattern in KINDS}
    records = collections.Counter(
        (m[4], m[1], m[3]) for m in RECORD.finditer(plain))
    facts["loss records"] = sorted(f"{n}x {k} {b}/{c}" for (k, b, c), n in records.items())
    for m in SUMMARY.finditer(plain):
        facts[m[1]] = f"{m[2]}/{m[3]}"
    m = HEAP.search(plain)
    if m:
        facts["heap"] = " ".join(m.groups())
    return facts


def compare(want, got):
    """What differs, in one line; "" when nothing does."""
    out = []
    for key, value in want.items():
        other = got.get(key, "none")
        if key == "loss records" and value != other:
            missing = [r for r in value if r not in other]
            more = [r for r in other if r not in value]
            out.append(f"loss records: missing {', '.join(missing) or 'none'}; more {', '.join(more) or 'none'}")
        elif value != other:
            out.append(f"{key} {other} instead of {value}")
    return "; ".join(out)


def read_test(path):
    """The fields of a .vgtest file."""
    fields = {}
    for line in path.read_text().splitlines():
        name, _, value = line.partition(":")
        if _ and not line.startswith("#"):
            fields[name.strip()] = (fields.get(name.strip(), "") + " " + value.strip()).strip()
    return fields


def build(suite, tests, prog):
    """The program of a test: a path, or why there is none."""
    for suffix, cxx in ((".c", False), (".cpp", True)):
        source = tests / (prog + suffix)
        if source.exists():
            flags = ["-I" + str(suite.work), "-I" + str(tests), "-I" + str(suite.dir / "include"), "-I" + str(suite.dir),
                     "-pthread", "-fno-builtin",
                     *(["-std=c++17"] if cxx else [])]
            made = suite.compile([source], prog, flags, cxx=cxx)
            return made if not isinstance(made, common.Ran) else "does not compile here"
    return "has no source of its own"


def prepare(suite, tests):
    """The files that options name."""
    for path in tests.glob("*.supp"):
        shutil.copy(path, suite.work)


def ended_by_signal(ran):
    return ran.status is not None and (ran.status < 0 or ran.status > 128)


def one(suite, tests, path):
    fields = read_test(path)
    name, prog = path.stem, fields.get("prog", "")
    program = build(suite, tests, prog)
    if isinstance(program, str):
        return common.left_out(name, program)
    # XML goes to a file: a descriptor is refused.
    xml = suite.work / (name + ".xml")
    options = [re.sub(r"^--xml-fd=\d+$", f"--xml-file={xml}", o) for o in shlex.split(fields.get("vgopts", ""))]
    wanted = [essence(p.read_text(errors="replace")) for p in sorted(tests.glob(name + ".stderr.exp*"))
              if not p.name.endswith(("-x86", "-freebsd", "-solaris", "-kfail"))]
    ran = suite.run([suite.seep, "valgrind", *options, str(program),
                     *shlex.split(fields.get("args", ""))], env={"HOME": str(suite.work)}, timeout=60)
    if ran.status is None:
        return common.differ(name, "does not end")
    if ran.status == 2 and re.search(r"^seep valgrind: ", ran.err, re.M):
        return common.differ(name, "an option is refused")
    if ended_by_signal(ran):
        alone = suite.run([str(program), *shlex.split(fields.get("args", ""))], timeout=60)
        if not ended_by_signal(alone):
            return common.differ(name, "a signal ends the program, not so without seep")
    got = essence(ran.err + (xml.read_text() if xml.exists() else ""))
    for log in suite.work.glob("*.log"):
        log.unlink()
    if not wanted:
        wanted = [essence("")]
    differences = [compare(want, got) for want in wanted]
    best = min(differences, key=len)
    return common.agree(name) if best == "" else common.differ(name, best)


def run(suite):
    tests = suite.dir / "memcheck/tests"
    prepare(suite, tests)
    for path in sorted(tests.glob("*.vgtest")):
        if not suite.wanted(path.stem):
            continue
        if TESTS.match(path.stem):
            yield one(suite, tests, path)
        else:
            yield common.left_out(path.stem, "about values, system calls or valgrind's own machinery")
