#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the tables of jeprof or google-pprof against those of seep under the same name.

    lib_peers.py PROFILE PROGRAM PEER PEER_ADDRESSES OURS OURS_ADDRESSES

PEER and OURS are `--text --show_bytes`, the others the same with `--addresses`, all of one exact profile
(heap_v2/1 or heapprofile). Three things are shown:

1. Each tool's table is what the stacks of the profile and that tool's names for addresses add up to:
   every row, figure, share and the order. The sums are done here, from the profile itself.
2. Both know the same addresses with the same figures, but for those of an allocator.
3. Where they name an address otherwise, it is one of the kinds below, and nm or addr2line prove it.

So whatever differs in two tables differs by a name that is explained. Prints `kind NAME COUNT` for each kind met,
`rows N` and, for everything that is wrong, a line with `wrong: `.
"""
import collections
import re
import subprocess
import sys

SYSTEM = re.compile(r"/(libc|ld-linux[^/]*|libstdc\+\+|libm|libpthread|libgcc_s)\.so|/libc-|/ld-")
ALLOCATOR = re.compile(r"/lib(jemalloc|tcmalloc[^/]*)\.so")
# Functions that the scripts drop together with all that they call.
DROPPED = {"malloc", "calloc", "realloc", "memalign", "posix_memalign", "aligned_alloc"}

kinds = collections.Counter()
faults = []


def wrong(*words):
    faults.append(" ".join(map(str, words)))


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines()


# ---- the profile ----

class Profile:
    """Stacks with their bytes, and what is mapped where."""

    def __init__(self, path):
        self.stacks, self.maps = [], []
        addresses = None
        for line in open(path, errors="replace"):
            words = line.split()
            old = re.match(r"\s*\d+:\s+(\d+) \[.*\] @ (.*)", line)
            if old:
                self.add(old[2], int(old[1]))
            elif words[:1] == ["@"]:
                addresses = " ".join(words[1:])
            elif words[:1] == ["t*:"] and addresses:
                self.add(addresses, int(words[2]))
                addresses = None
            elif re.match(r"[0-9a-f]+-[0-9a-f]+ ", line) and len(words) > 5:
                start, end = (int(x, 16) for x in words[0].split("-"))
                self.maps.append((start, end, int(words[2], 16), line.split(None, 5)[5].strip()))

    def add(self, text, size):
        """The innermost address is taken as it is, of the others one off: they are behind their calls."""
        at = [int(x, 16) for x in text.split()]
        if size > 0:  # else all of it was freed
            self.stacks.append((at[:1] + [x - 1 for x in at[1:]], size))

    def where(self, address):
        """Module and the address in it."""
        for start, end, _, path in self.maps:
            if start <= address < end:
                base = min(s for s, _, offset, p in self.maps if p == path and offset == 0)
                return path, address - base
        return None, address


# ---- tables ----

Row = collections.namedtuple("Row", "flat share sum cum cum_share name")


def table(path):
    rows = []
    for line in open(path, errors="replace"):
        words = line.rstrip("\n").split(None, 5)
        if len(words) == 6 and not line.startswith("Total"):
            rows.append(Row(int(words[0]), words[1], words[2], int(words[3]), words[4], words[5]))
    return rows


Frame = collections.namedtuple("Frame", "name line flat cum")


def frames(rows):
    """Frames of every address. A line is file:number, the same however the tool writes it."""
    found = collections.defaultdict(list)
    for row in rows:
        address, rest = row.name.split(" ", 1)
        name, line = re.sub(r" \(discriminator \d+\)$", "", rest).rsplit(" ", 1)
        found[int(address, 16)].append(Frame(name, re.sub(r"^\?\?:[0?]$", "", line), row.flat, row.cum))
    return found


def add_up(profile, names):
    """The table of functions, from stacks and the names of their addresses."""
    flat, cum = collections.Counter(), collections.Counter()
    for stack, size in profile.stacks:
        shown = [a for a in stack if a in names]
        if not shown:
            wrong("a stack of which no address is shown:", stack)
            continue
        innermost = [f.name for f in names[shown[0]] if f.flat > 0]
        if len(innermost) != 1:
            wrong(f"{shown[0]:x} has {len(innermost)} innermost functions")
            continue
        flat[innermost[0]] += size
        for name in {f.name for a in shown for f in names[a]}:
            cum[name] += size
    total, running, rows = sum(flat.values()), 0, []
    for name in sorted(cum, key=lambda n: (-flat[n], n)):
        running += flat[name]
        rows.append(Row(flat[name], f"{flat[name] * 100 / total:.1f}%", f"{running * 100 / total:.1f}%", cum[name],
                        f"{cum[name] * 100 / total:.1f}%", name))
    return rows


# ---- proofs ----

class Symbols:
    """What nm and addr2line say about a module."""

    def __init__(self):
        self.tables, self.inlined, self.mangled = {}, {}, {}

    def of(self, module):
        """(start, size, name) of its functions, demangled; of its debug file where there is one."""
        if module not in self.tables:
            rows = []
            for words in (["nm", "-CS", debug_file(module)], ["nm", "-DCS", module]):
                for line in output(*words):
                    m = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwWiuV] (.*)", line)
                    if m:
                        rows.append((int(m[1], 16), int(m[2], 16), m[3]))
            self.tables[module] = rows
        return self.tables[module]

    def covers(self, module, name, address):
        """Does a symbol of this name reach over the address?"""
        return any(start <= address < start + size and short(n) == short(name)
                   for start, size, n in self.of(module))

    def is_around(self, module, mangled, address):
        """Is it the linkage name of the symbol that the address lies in?"""
        if module not in self.mangled:
            rows = (re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)", x) for x in output("nm", "-S", module))
            self.mangled[module] = [(int(m[1], 16), int(m[2], 16), m[3]) for m in rows if m]
        return any(start <= address < start + size and name == mangled
                   for start, size, name in self.mangled[module])

    def starts(self, module, name):
        return {start for start, _, n in self.of(module) if re.sub(r"@.*", "", n) == name}

    def lines(self, module, address, *more):
        """(function, file:line), innermost first; functions as the symbol table or DWARF have them."""
        key = module, address, more
        if key not in self.inlined:
            got = output("addr2line", "-f", "-i", *more, "-e", module, f"{address:x}")
            pairs = zip(got[::2], (re.sub(r" \(discriminator \d+\)$", "", x) for x in got[1::2]))
            self.inlined[key] = list(pairs)
        return self.inlined[key]

    def demangled(self, module, address):
        return self.lines(module, address, "-C")

    def ends_call(self, module, address):
        """Does a call end right before the address?"""
        start = max((s for s, size, _ in self.of(module) if s < address <= s + size), default=address)
        code = output("objdump", "-d", f"--start-address={start:#x}", f"--stop-address={address:#x}", module)
        return bool(code) and "\tcall" in code[-1]


def debug_file(module):
    ids = [m[1] for m in (re.search(r"Build ID: (\w+)", x) for x in output("readelf", "-n", module)) if m]
    path = f"/usr/lib/debug/.build-id/{ids[0][:2]}/{ids[0][2:]}.debug" if ids else module
    try:
        open(path, "rb").close()
    except OSError:
        return module
    return path


def short(name):
    """As the scripts shorten names: without parameters, template arguments and return type."""
    name = re.sub(r"@.*", "", name)
    for pattern in (r"\([^()]*\)(\s*const)?", r"<[^<>]*>"):
        while re.search(pattern, name):
            name = re.sub(pattern, "", name)
    return re.sub(r"^.*\s+(\w+::)", r"\1", name)


def bare(name):
    return re.sub(r" \(inline\)$", "", name)


def explain(symbols, module, at, peer, ours, others):
    """The kind of a difference between two names of one frame, or None."""
    theirs, mine = bare(peer.name), bare(ours.name)
    said = [function for function, line in symbols.lines(module, at) if line == peer.line]
    if "@" in theirs:
        if short(theirs) == mine and symbols.covers(module, theirs, at):
            return "version"
        if not symbols.covers(module, theirs, at):
            return "nearest symbol"
    if re.sub(r"^__GI_(__)?", "", theirs) == mine or re.sub(r"_impl$", "", theirs) == mine:
        one, other = symbols.starts(module, theirs), symbols.starts(module, mine)
        return "alias" if not one or not other or one & other else None
    # Where DWARF has no linkage name, addr2line gives the last word of the name, or at
    # the innermost place the symbol around it, one or the other by what it was asked
    # before: a function inlined into itself.
    around = [o for o in others if not o.name.endswith("(inline)")]
    inside = peer.name.endswith("(inline)") and around and around[0].line != peer.line
    into_itself = inside and any(symbols.is_around(module, f, at) for f in said)
    if mine.endswith("::" + theirs) and (into_itself or any(not f.startswith("_Z") and short(f) == theirs for f in said)):
        return "last word"
    if inside and symbols.covers(module, theirs, at) and \
            theirs.split("::")[-1] == bare(around[0].name).split("::")[-1]:
        return "into itself"
    return None


def compare_system(symbols, module, at, peer, ours):
    """A library of the system: seep names the function of the symbol table alone."""
    outer = [f for f in peer if not f.name.endswith("(inline)")]
    known = [short(name) for name, _ in symbols.lines(module, at)]
    if len(ours) != 1 or len(outer) != 1:
        return f"{len(ours)} and {len(outer)} functions"
    for f in peer:
        if f.name.endswith("(inline)"):
            if bare(f.name) not in known:
                return f"{f.name}: addr2line does not know it there"
            kinds["inlined in the system"] += 1
    if outer[0].name == ours[0].name:
        return None
    kind = explain(symbols, module, at, outer[0], ours[0], peer)
    if kind is None and len(known) > 1 and symbols.covers(module, ours[0].name, at):
        kind = "inlined in the system"  # a function cut in two: its part has another's name in DWARF
    if kind is None:
        return f"{outer[0].name} -> {ours[0].name}"
    kinds[kind] += 1
    return None


def behind_the_call(symbols, module, at, peer, ours):
    """The innermost address is behind its call. The script names what is there, be it of another line or inlined
    function; seep names the call, which ends right before it."""
    there, before = ([line for _, line in symbols.lines(module, a)] for a in (at, at - 1))
    names = [short(f).split("::")[-1] for f, _ in symbols.demangled(module, at - 1)]
    return there != before and symbols.ends_call(module, at) and \
        collections.Counter(f.line for f in peer) == collections.Counter(there) and \
        collections.Counter(f.line for f in ours) == collections.Counter(before) and \
        all(bare(f.name).split("@")[0].split("::")[-1] in names or f.name.endswith("(inline)") for f in ours)


def compare_program(symbols, module, at, peer, ours):
    """Pairs frames by their lines."""
    left = collections.defaultdict(list)
    if behind_the_call(symbols, module, at, peer, ours):
        kinds["behind the call"] += 1
        return None
    for f in ours:
        left[f.line].append(f)
    for f in sorted(peer, key=lambda x: (x.line, x.name)):
        mates = left[f.line]
        same = [m for m in mates if m.name == f.name]
        if same:
            mates.remove(same[0])
            continue
        kind = None
        for m in mates:
            kind = explain(symbols, module, at, f, m, peer)
            if kind is not None:
                mates.remove(m)
                kinds[kind] += 1
                break
        if kind is None:
            return f"{f.name} {f.line} -> {', '.join(m.name for m in mates) or 'nothing'}"
    rest = [m.name for mates in left.values() for m in mates]
    return f"only ours: {rest}" if rest else None


# ---- all of it ----

def compare(profile, program, peer, ours):
    symbols = Symbols()
    for address in sorted(set(peer) | set(ours)):
        module, at = profile.where(address)
        if address not in ours:
            # The allocator's own code under another name, so it was not dropped.
            if not ALLOCATOR.search(module) or any(symbols.covers(module, f.name, at) for f in peer[address]):
                wrong(f"only the peer shows {address:x}:", peer[address])
            kinds["allocator kept"] += 1
            continue
        if address not in peer:
            # Something inlined there has an allocator's name, so all of it was dropped.
            if not any(name in DROPPED for name, _ in symbols.lines(module, at)):
                wrong(f"only seep shows {address:x}:", ours[address])
            kinds["allocator dropped"] += 1
            continue
        if {f.cum for f in peer[address]} != {f.cum for f in ours[address]}:
            wrong(f"{address:x} has other figures:", peer[address], ours[address])
        check = compare_system if SYSTEM.search(module) else compare_program
        fault = check(symbols, module, at, peer[address], ours[address])
        if fault:
            wrong(f"{address:x} at {at:#x} of {module}:", fault)


def main():
    profile = Profile(sys.argv[1])
    tables = [table(path) for path in sys.argv[3:7]]
    names = [frames(tables[1]), frames(tables[3])]
    for who, rows, of in (("peer", tables[0], names[0]), ("seep", tables[2], names[1])):
        sums = add_up(profile, of)
        for at, (row, wanted) in enumerate(zip(rows, sums)):
            if row != wanted:
                wrong(f"{who}, row {at + 1}:", row, "adds up to", wanted)
                break
        if len(rows) != len(sums):
            wrong(f"{who}: {len(rows)} rows, {len(sums)} by the profile")
    compare(profile, sys.argv[2], *names)
    # Rows that no difference touches are the same in both, in the same order.
    both = [{r.name: (r.flat, r.cum) for r in tables[i]} for i in (0, 2)]
    print("same", sum(both[1].get(name) == figures for name, figures in both[0].items()))
    print("rows", len(tables[0]), len(tables[2]))
    for kind, count in sorted(kinds.items()):
        print("kind", count, kind)
    for fault in faults[:20]:
        print("wrong:", fault)
    return 1 if faults else 0


sys.exit(main())
