#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Who may include whom (docs/ARCHITECTURE.md), and which libc headers the guest may see.

A table that let everything pass would look the same on a clean tree, so known good and bad
includes are judged first (self_check).

"""
import pathlib
import re
import sys

from lib_meta import c_files, finish, read, without_comments

TOOL = {"base", "util", "model"}
MAY_INCLUDE = {
    # in the target
    "base": set(),
    "rt": {"base"},
    "unwind": {"base", "rt"},
    "record": {"base", "rt", "unwind"},
    "preload": {"base", "rt", "unwind", "record"},
    "blob": {"base", "rt", "unwind", "record"},
    # in the tool
    "util": {"base"},
    "model": {"base", "util"},
    "sym": TOOL,
    "format": TOOL,
    "analyze": TOOL,
    "leak": TOOL,
    "target": TOOL | {"unwind"},
    "render": TOOL | {"analyze"},
    "web": TOOL | {"analyze", "render"},
    "cli": TOOL | {"sym", "format", "analyze", "leak", "target", "render", "web"},
}
# The scanner knows nothing of the rest, so that it could as well run inside a process: these see base alone.
BASE_ONLY = {"leak": {"roots", "scan", "classify"}}
# stdio, locale and assert lock or allocate. stdlib.h is how malloc is declared: preload needs
# the declaration of what it defines, the layers below have no business with it.
NO_LIBC = {"stdio.h", "assert.h", "locale.h", "wchar.h", "err.h", "syslog.h"}
GUEST = {"base", "rt", "unwind", "record", "preload", "blob"}
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.M)


def verdict(path, quote, name, homes):
    """None when `path` may include `name`, else why not. `homes` maps header name -> folder."""
    folder = path.parts[1]
    if folder not in MAY_INCLUDE:
        return f"src/{folder} has no place in the layer table"
    if quote == "<":
        if folder in GUEST and name in NO_LIBC:
            return f"<{name}> in code that runs in the target"
        if folder in GUEST - {"preload"} and name in ("stdlib.h", "malloc.h"):
            return f"<{name}> below preload: nothing here may allocate"
        return None
    parts = pathlib.PurePath(name).parts
    other = parts[0] if len(parts) > 1 else homes.get(name, folder)
    if other in ("seep", ".."):
        return "reaches out of its folder by .." if other == ".." else None
    if other == folder:
        return None
    if path.stem in BASE_ONLY.get(folder, ()) and other != "base":
        return f"{path.stem} may include only base"
    if other not in MAY_INCLUDE[folder]:
        return f"{folder} may not include {other}"
    return None


def self_check():
    """Verdicts that must come out as they do, whatever the tree looks like today."""
    cases = [
        ("src/record/live.c", '"', "rt/lock.h", True),
        ("src/record/live.c", '"', "util/vec.h", False),
        ("src/unwind/memo.c", '"', "record/stacks.h", False),
        ("src/sym/elf.c", '"', "format/registry.h", False),
        ("src/target/attach.c", '"', "unwind/unwind.h", True),
        ("src/analyze/diff.c", '"', "unwind/unwind.h", False),
        ("src/render/text.c", '"', "analyze/top.h", True),
        ("src/analyze/top.c", '"', "render/text.h", False),
        ("src/leak/scan.c", '"', "util/vec.h", False),
        ("src/leak/owner.c", '"', "util/vec.h", True),
        ("src/cli/cmd_run.c", '"', "record/live.h", False),
        ("src/rt/fmt.c", "<", "stdio.h", False),
        ("src/rt/pool.c", "<", "stdlib.h", False),
        ("src/preload/hooks.c", "<", "stdlib.h", True),
        ("src/util/buf.c", "<", "stdio.h", True),
        ("src/nowhere/x.c", '"', "base/hash.h", False),
        ("src/base/hash.h", '"', "../rt/lock.h", False),
        ("src/base/hash.h", '"', "lock.h", False),
    ]
    homes = {"lock.h": "rt"}
    return [f"layers.py itself: {path} -> {name} judged wrongly"
            for path, quote, name, fine in cases
            if (verdict(pathlib.Path(path), quote, name, homes) is None) != fine]


def main():
    faults = self_check()
    files = c_files("src")
    homes = {p.name: p.parts[1] for p in files if p.suffix == ".h" and len(p.parts) > 2}
    for path in files:
        if len(path.parts) < 3:
            faults.append(f"{path}: lies in no folder of src")
            continue
        for match in INCLUDE.finditer(without_comments(read(path))):
            why = verdict(path, match.group(1), match.group(2), homes)
            if why:
                faults.append(f"{path}: {why} ({match.group(0).strip()})")
    finish(faults, len(files), "files of src")


sys.exit(main())
