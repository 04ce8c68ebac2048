#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Who may include whom (docs/ARCHITECTURE.md), and which libc headers the guest may see.

A file belongs to the layer that its second folder names, src/guest/record or src/tool/analyze, however deep it
lies; src/shared is a layer by itself.

A table that let everything pass would look the same on a clean tree, so known good and bad
includes are judged first (self_check).

"""
import collections
import pathlib
import re
import sys

from lib_meta import c_files, finish, read, without_comments

GUEST_ALL = {"shared", "rt", "unwind", "record", "hooks", "life", "misuse", "dropin", "lang", "blob"}
BASIC = {"shared", "util", "model"}
DOMAIN = {"sym", "format", "analyze", "leak", "target"}
MAY_INCLUDE = {
    "shared": set(),
    "guest": {
        "rt": {"shared"},
        "unwind": {"shared", "rt"},
        "record": {"shared", "rt", "unwind"},
        # Parts of one library; nothing below knows them.
        **{layer: GUEST_ALL - {layer} for layer in ("hooks", "life", "misuse", "dropin", "lang", "blob")},
    },
    "tool": {
        "util": {"shared"},
        "model": {"shared", "util"},
        **{layer: BASIC for layer in DOMAIN - {"target"}},
        "target": BASIC | {"guest/unwind"},
        "session": BASIC | DOMAIN,
        "render": BASIC | DOMAIN | {"session"},
        "web": BASIC | DOMAIN | {"session", "render"},
        "compat": BASIC | DOMAIN | {"session", "render", "web"},
        "cli": BASIC | DOMAIN | {"session", "render", "web", "compat"},
    },
}
# The scanner knows nothing of the rest, so that it could as well run inside a process:
# these see shared alone.
SHARED_ONLY = {"leak": {"roots", "scan", "classify"}}
# The recording format is for its readers: all others ask the model or livefile.h.
FORMAT = "src/shared/recording.h"
MAY_SEE_FORMAT = {
    "src/shared": "is the format",
    "src/guest": "the recorder",
    "src/tool/format/live": "the reader",
    "src/tool/target": "starts recordings, advances their clocks and marks them in place",
    "src/tool/session/leaks": "checks a stopped process against its recording, without a profile",
}
# stdio, locale and assert lock or allocate. stdlib.h is how malloc is declared: the hooks
# need the declaration of what they define, the layers below have no business with it.
NO_LIBC = {"stdio.h", "assert.h", "locale.h", "wchar.h", "err.h", "syslog.h"}
NO_MALLOC = {"shared", "rt", "unwind", "record", "blob"}
MOST_FILES = 30
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def layer_of(parts):
    """("guest", "record") for src/guest/record/..., ("shared", "shared") for src/shared."""
    if parts[0] == "shared":
        return "shared", "shared"
    return parts[0], parts[1] if len(parts) > 2 else None


def allowed(root, layer):
    """Layers that this one may include, or None if the table does not have it."""
    rules = MAY_INCLUDE.get(root)
    return rules if isinstance(rules, set) or rules is None else rules.get(layer)


def verdict(path, quote, name):
    """None when `path` may include `name`, else why not."""
    root, layer = layer_of(path.parts[1:])
    may = allowed(root, layer)
    if may is None:
        return f"{path.parent} has no place in the layer table"
    if quote == "<":
        if root != "tool" and name in NO_LIBC:
            return f"<{name}> in code that runs in the target"
        if root != "tool" and layer in NO_MALLOC and name in ("stdlib.h", "malloc.h"):
            return f"<{name}> below the hooks: nothing here may allocate"
        return None
    parts = pathlib.PurePath(name).parts
    if parts[0] == "..":
        return "reaches out of its folder by .."
    if parts[0] == "seep" or len(parts) == 1:
        return None  # the public header; a file of the same folder
    other_root, other = layer_of(parts)
    if (other_root, other) == (root, layer):
        return None
    if path.stem in SHARED_ONLY.get(layer, ()) and other != "shared":
        return f"{path.stem} may include only shared"
    if not {other if other == "shared" or other_root == root else f"{other_root}/{other}"} & may:
        return f"{layer} may not include {other_root}/{other}"
    return None


def sees_format(path):
    """Whether `path` may include the recording format, directly or through other headers."""
    return any(pathlib.PurePath(folder) in path.parents for folder in MAY_SEE_FORMAT)


def reaches(graph, start, goal):
    """The headers on the way from `start` to `goal`, or None; graph: file -> files that it includes."""
    ways, todo = {start: []}, [start]
    while todo:
        at = todo.pop()
        for to in graph.get(at, ()):
            if to == goal:
                return ways[at] + [to]
            if to not in ways:
                ways[to] = ways[at] + [to]
                todo.append(to)
    return None


def format_faults(graph):
    """Files that get to see the recording format and may not."""
    for path in graph:
        way = None if sees_format(pathlib.Path(path)) else reaches(graph, path, FORMAT)
        if way:
            yield f"{path}: sees the recording format through {' -> '.join(way)}"


def self_check():
    """Verdicts that must come out as they do, whatever the tree looks like today."""
    cases = [
        ("src/guest/record/live.c", '"', "guest/rt/lock.h", True),
        ("src/guest/record/census/sum.c", '"', "guest/record/hot.h", True),
        ("src/guest/record/live.c", '"', "tool/util/vec.h", False),
        ("src/guest/record/live.c", '"', "guest/hooks/gate.h", False),
        ("src/guest/dropin/mtrace/log.c", '"', "guest/hooks/gate.h", True),
        ("src/guest/unwind/memo.c", '"', "guest/record/stacks.h", False),
        ("src/tool/sym/elf.c", '"', "tool/format/registry.h", False),
        ("src/tool/target/attach/attach.c", '"', "guest/unwind/unwind.h", True),
        ("src/tool/target/attach/attach.c", '"', "guest/record/hot.h", False),
        ("src/tool/analyze/diff/diff.c", '"', "guest/unwind/unwind.h", False),
        ("src/tool/analyze/diff/diff.c", '"', "tool/analyze/sites/sites.h", True),
        ("src/tool/render/report/text.c", '"', "tool/analyze/sites/top.h", True),
        ("src/tool/render/report/text.c", '"', "tool/session/names/names.h", True),
        ("src/tool/analyze/top.c", '"', "tool/render/text.h", False),
        ("src/tool/session/load.c", '"', "tool/render/text.h", False),
        ("src/tool/session/load.c", '"', "tool/sym/sym.h", True),
        ("src/tool/leak/scan.c", '"', "tool/util/vec.h", False),
        ("src/tool/leak/scan.c", '"', "shared/hash.h", True),
        ("src/tool/leak/owner.c", '"', "tool/util/vec.h", True),
        ("src/tool/cli/cmd_run.c", '"', "guest/record/live.h", False),
        ("src/tool/render/text.c", '"', "tool/compat/jeprof/text.h", False),
        ("src/guest/rt/fmt.c", "<", "stdio.h", False),
        ("src/guest/rt/pool.c", "<", "stdlib.h", False),
        ("src/guest/hooks/hooks.c", "<", "stdlib.h", True),
        ("src/tool/util/buf.c", "<", "stdio.h", True),
        ("src/nowhere/x.c", '"', "shared/hash.h", False),
        ("src/guest/x.c", '"', "shared/hash.h", False),
        ("src/shared/hash.h", '"', "../rt/lock.h", False),
        ("src/shared/hash.h", '"', "guest/rt/lock.h", False),
    ]
    graph = {"src/tool/cli/a.c": ["src/tool/target/b.h"], "src/tool/target/b.h": [FORMAT],
             "src/tool/render/c.c": ["src/tool/cli/d.h"], "src/tool/format/live/e.c": [FORMAT]}
    faults = [f"layers.py itself: {path} -> {name} judged wrongly"
              for path, quote, name, fine in cases
              if (verdict(pathlib.Path(path), quote, name) is None) != fine]
    if [f.split(":")[0] for f in format_faults(graph)] != ["src/tool/cli/a.c"]:
        faults.append("layers.py itself: who sees the recording format is judged wrongly")
    return faults


def main():
    faults = self_check()
    files = c_files("src")
    graph = {}
    for path in files:
        if allowed(*layer_of(path.parts[1:])) is None:
            faults.append(f"{path}: lies in no folder of src")
        for match in INCLUDE.finditer(without_comments(read(path))):
            name = match.group(2)
            graph.setdefault(str(path), []).append(
                f"src/{name}" if "/" in name else str(path.parent / name))
            why = verdict(path, match.group(1), name)
            if why:
                faults.append(f"{path}: {why} ({match.group(0).strip()})")
    faults += format_faults(graph)
    for folder, n in sorted(collections.Counter(p.parent for p in files).items()):
        if n > MOST_FILES:
            faults.append(f"{folder}: {n} source files; find names for its parts, {MOST_FILES} are enough for one folder")
    finish(faults, len(files), "files of src")


sys.exit(main())
