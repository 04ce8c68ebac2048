# SPDX-License-Identifier: MIT
"""google/pprof's own goldens: the reports of internal/driver/testdata and the dumps of profile/testdata.

The profiles of the reports are literals in driver_test.go. They are read there, packed as profile.proto and given to
`seep pprof` with the options of the test. Nothing of pprof is compiled or run. Its test has a demangler of its own, whose
names are put into the profile. Profiles of other things than heaps are left out: seep does not read them."""
import gzip
import pathlib
import re

from . import common

NAME = "google/pprof"
DRIVER = "internal/driver"
DUMPS = ("cppbench.heap", "cppbench.growth", "gobench.heap", "java.heap")
TOKEN = re.compile(r'\s*(?://[^\n]*\s*)*("(?:[^"\\]|\\.)*"|0x[0-9a-fA-F]+|\d+e\d+|-?\d+|[\w.]+|[\[\]{}(),:&*=])')


def found(directory):
    return (directory / DRIVER / "driver_test.go").is_file()


class Literals:
    """Go's composite literals, as dicts (with keys), lists (without) and plain values."""

    def __init__(self, text):
        self.tokens, self.at, self.names = TOKEN.findall(text), 0, {}

    def peek(self):
        return self.tokens[self.at]

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def skip_type(self):
        """[]*profile.Mapping, map[string][]int64, &profile.Profile and the like."""
        while self.peek() != "{":
            self.take()

    def value(self):
        token = self.peek()
        if token in "[&" or token in ("map", "{"):
            self.skip_type()
            return self.composite()
        self.take()
        if token[0] == '"':
            return token[1:-1]
        if re.match(r"-?\d", token):
            return int(token, 0) if "e" not in token or token.startswith("0x") else int(float(token))
        if self.peek() == "[":
            _, index, _ = self.take(), int(self.take()), self.take()
            return self.names[token][index]
        if token.startswith("profile."):
            return self.composite()
        return {"nil": None, "true": True, "false": False}.get(token, self.names.get(token))

    def composite(self):
        assert self.take() == "{"
        keyed, plain = {}, []
        while self.peek() != "}":
            start = self.at
            key = self.take()
            if self.peek() == ":":
                self.take()
                keyed[key.strip('"')] = self.value()
            else:
                self.at = start
                plain.append(self.value())
            if self.peek() == ",":
                self.take()
        self.take()
        return keyed or plain

    def function(self):
        """The variables of a function's body, and what it returns."""
        while True:
            token = self.take()
            if token == "var":
                name = self.take()
                assert self.take() == "="
                self.names[name] = self.value()
            elif token == "return":
                return self.value()


def varint(value):
    value, out = value & (1 << 64) - 1, b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value) if value else b""


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


class Proto:
    """profile.proto, packed."""

    def __init__(self, profile):
        self.strings = {"": 0}
        self.body = b"".join(self.parts(profile))
        self.body += b"".join(message(6, s.encode()) for s in self.strings)

    def word(self, field, text):
        return number(field, self.strings.setdefault(text or "", len(self.strings)))

    def value_type(self, pair):
        return self.word(1, pair["Type"]) + self.word(2, pair["Unit"])

    def labels(self, sample):
        for key, values in sorted((sample.get("Label") or {}).items()):
            for value in values:
                yield message(3, self.word(1, key) + self.word(2, value))
        for key, values in sorted((sample.get("NumLabel") or {}).items()):
            for value in values:
                yield message(3, self.word(1, key) + number(3, value))

    def parts(self, profile):
        for pair in profile["SampleType"]:
            yield message(1, self.value_type(pair))
        for s in profile["Sample"]:
            ids = b"".join(varint(place["ID"]) for place in s["Location"])
            values = b"".join(varint(v) for v in s["Value"])
            yield message(2, message(1, ids) + message(2, values) + b"".join(self.labels(s)))
        for m in profile["Mapping"] or []:
            flags = ("HasFunctions", "HasFilenames", "HasLineNumbers", "HasInlineFrames")
            yield message(3, number(1, m["ID"]) + number(2, m["Start"]) + number(3, m["Limit"]) +
                          self.word(5, m.get("File")) + self.word(6, m.get("BuildID")) +
                          b"".join(number(7 + i, int(bool(m.get(f)))) for i, f in enumerate(flags)))
        for place in profile["Location"]:
            lines = b"".join(message(4, number(1, at["Function"]["ID"]) + number(2, at["Line"]))
                             for at in place.get("Line", []))
            yield message(4, number(1, place["ID"]) + number(2, place["Mapping"]["ID"]) +
                          number(3, place["Address"]) + lines)
        for f in profile["Function"] or []:
            yield message(5, number(1, f["ID"]) + self.word(2, f["Name"]) +
                          self.word(3, f["SystemName"]) + self.word(4, f["Filename"]))
        yield self.word(7, profile.get("DropFrames"))
        yield number(10, profile.get("DurationNanos", 0))
        yield message(11, self.value_type(profile["PeriodType"]))
        yield number(12, profile["Period"])
        for comment in profile.get("Comments", []):
            yield number(13, self.strings.setdefault(comment, len(self.strings)))


def body_of(source, function):
    return re.search(rf"^func {function}\(.*?^}}", source, re.M | re.S)[0].split("{\n", 1)[1]


def profile_of(source, kind):
    """The profile that the test's fetcher makes of this word, with the demangler's names."""
    profile = Literals(body_of(source, "heapProfile")).function()
    names = dict(re.findall(r'case "(\w+)":\s*return "([^"]+)"', body_of(source, "fakeDemangler")))
    for f in profile["Function"] or []:
        f["Name"] = names.get(f["SystemName"], f["Name"])
    samples = profile["Sample"]
    if kind == "heap_alloc":
        for pair in profile["SampleType"]:
            pair["Type"] = pair["Type"].replace("inuse", "alloc")
    elif kind == "heap_sizetags":
        for s in samples:
            s["NumLabel"]["bytes"] += [2, 4, 8, 16, 32, 64, 128, 256]
    elif kind in ("heap_request", "heap_tags"):
        for s in samples[::1 if kind == "heap_request" else 2]:
            s["NumLabel"]["request"] = s["NumLabel"]["bytes"]
            if kind == "heap_tags":
                s["Label"] = {"key1": ["tag"]}
    return Proto(profile).body


def golden_name(kind, flags):
    """The name of the file with the expected report, by the rules of the test."""
    words = {f.partition("=")[0]: f.partition("=")[2] for f in flags}
    name = ["pprof", kind]
    groups = ("flat cum", "functions filefunctions files lines addresses", "noinlines",
              "inuse_space inuse_objects alloc_space alloc_objects", "relative_percentages",
              "seconds", "call_tree",
              "text tree callgrind dot svg tags traces disasm peek weblist topproto comments",
              "all_frames")
    for group in groups:
        name += [w for w in group.split() if w in words][:1]
    name += ["focus"] if {"focus", "tagfocus"} & set(words) else []
    name += ["ignore"] if {"ignore", "tagignore"} & set(words) else []
    name += [w for w in ("show_from",) if w in words]
    name += [w for w in ("hide", "show") if w in words][:1]
    name += ["unit"] if words.get("unit", "minimum") != "minimum" else []
    return ".".join(name)


def first_difference(wanted, got):
    """The first line that is another one, or missing, or too much."""
    wanted, got = wanted.rstrip("\n").split("\n"), got.rstrip("\n").split("\n")
    for want, have in zip(wanted + [""] * len(got), got + [""] * len(wanted)):
        if want.rstrip() != have.rstrip():
            return f"«{have.strip()}» instead of «{want.strip()}»"
    return None


def tags(text):
    """The rows of -tags: figure with one decimal, unit and label."""
    return [(f"{float(value):.1f}", unit, label) for value, unit, label in
            re.findall(r"([\d.]+)(\w+) \(.*?\): (\S+)", text)]


def edges(text):
    """Who calls whom in a graph, and who is in it; boxes of labels are not."""
    names = dict(re.findall(r'^(N\d+) \[label="(.*?)(?: |\\n|")', text, re.M))
    calls = re.findall(r"^(N\d+) -> (N\d+) ", text, re.M)
    return sorted(names.values()), sorted((names[a], names[b]) for a, b in calls)


def report(suite, test, kind, flags, source):
    if not kind.startswith("heap"):
        return common.left_out(test, "not a heap profile")
    data = suite.work / f"{kind}.pb.gz"
    data.write_bytes(gzip.compress(profile_of(source, kind), mtime=0))
    options = [f"-{f}" for f in flags]
    if not any(f.startswith("nodecount=") for f in flags):
        options.append("-nodecount=20")
    ran = suite.run([suite.seep, "pprof", *options, "-compact_labels", "-nodefraction=0.05",
                     "-edgefraction=0.01", data.name], env={"PPROF_BINARY_PATH": "/nonexistent"})
    golden = suite.dir / DRIVER / "testdata" / golden_name(kind, flags)
    if ran.status != 0:
        return common.differ(test, f"status {ran.status}: {ran.err.strip()}")
    what = first_difference(golden.read_text(), ran.out)
    if what and flags[0] == "tags" and tags(golden.read_text()) == tags(ran.out):
        what = "the same labels and figures, with one decimal and shares of their own total"
    if what and flags[0] == "dot":
        same = edges(golden.read_text()) == edges(ran.out)
        what = "the same nodes and edges, drawn otherwise" if same else "other nodes or edges"
    return common.differ(test, what) if what else common.agree(test)


def samples(text):
    """The samples of -raw: (column, addresses, labels) -> sum. Where a location has an address in a
    module, that is an address; numbers of locations and mappings say nothing."""
    head, _, tail = text.partition("\nLocations\n")
    places, starts = tail.partition("Mappings\n")[::2]
    starts = {m[1]: int(m[2], 16) for m in re.finditer(r"^(\d+): 0x([0-9a-f]+)/", starts, re.M)}
    address = {m[1]: int(m[2], 16) for m in re.finditer(r"^ *(\d+): 0x([0-9a-f]+)", places, re.M)}
    module = dict(re.findall(r"^ *(\d+): 0x[0-9a-f]+ M=(\d+)", places, re.M))
    for place, at in address.items():
        start = starts.get(module.get(place), 0)
        address[place] = at + start if at < start and start > 1 << 32 else at
    lines = head.partition("Samples:\n")[2].split("\n")
    columns, sums = lines[0].split(), {}
    for i, line in enumerate(lines[1:], 1):
        values, colon, stack = line.partition(": ")
        if not colon or not re.fullmatch(r"[ \d-]+", values):
            continue
        labels = lines[i + 1].strip() if ":[" in "".join(lines[i + 1:i + 2]) else ""
        stack = tuple(address[n] for n in stack.split())
        for column, value in zip(columns, map(int, values.split())):
            key = column, stack, labels
            sums[key] = sums.get(key, 0) + value
    return {key: value for key, value in sums.items() if value}


def dump(suite, name):
    """A profile of another format, read and shown with everything in it. The golden is of a profile
    as it was read; samples that are alike are added up here."""
    folder = suite.dir / "profile/testdata"
    ran = suite.run([suite.seep, "pprof", "-raw", "-symbolize=none", name], cwd=folder)
    if ran.status != 0:
        return common.differ(name, f"status {ran.status}: {ran.err.strip()}")
    wanted, got = samples((folder / f"{name}.string").read_text()), samples(ran.out)
    missing, more = sorted(wanted.keys() - got.keys()), sorted(got.keys() - wanted.keys())
    if missing or more:
        return common.differ(name, f"samples: {len(missing)} missing, {len(more)} more")
    other = [key for key in wanted if wanted[key] != got[key]]
    return common.differ(name, f"other figures of {len(other)} samples") if other \
        else common.agree(name)


def run(suite):
    source = pathlib.Path(suite.dir / DRIVER / "driver_test.go").read_text()
    cases = re.findall(r'\{"([^"]+)", "(\w+)"\},', body_of(source, "TestParse"))
    for text, kind in cases:
        test = f"{kind}:{text}"
        if suite.wanted(test):
            yield report(suite, test, kind, text.split(","), source)
    for name in DUMPS:
        if suite.wanted(name):
            yield dump(suite, name)
