# SPDX-License-Identifier: MIT
"""What the meta tests share: the files of the tree, and how a result is said.

Not a test itself (its name starts with lib). The files are those git knows or would add, so
that a build directory or a scratch file is not held to the rules; without git, those below
the source folders.
"""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("SEEP_BUILD", ROOT / "build"))
FOLDERS = ("src", "include", "tests", "tools", "bench", "fuzz", "examples", "docs", "man",
           "completions", ".ci", "ui")


def tree_files():
    """Paths of all files of the tree, relative to its root."""
    try:
        out = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "-z", "--exclude-standard"],
                             check=True, capture_output=True).stdout
        names = out.decode().split("\0")[:-1]
    except (OSError, subprocess.CalledProcessError):
        names = [str(p.relative_to(ROOT)) for d in FOLDERS for p in (ROOT / d).rglob("*")]
        names += [p.name for p in ROOT.iterdir()]
    return sorted(pathlib.Path(n) for n in names
                  if (ROOT / n).is_file() and "__pycache__" not in n)


def c_files(*folders):
    """The .c and .h files below the given folders of the root."""
    return [p for p in tree_files() if p.suffix in (".c", ".h") and p.parts[0] in folders]


def read(path):
    return (ROOT / path).read_text(errors="replace")


def without_comments(text):
    """C text with comments and string contents blanked, lines kept where they were."""
    out, i, n = [], 0, len(text)
    while i < n:
        two = text[i:i + 2]
        if two == "/*":
            end = text.find("*/", i + 2)
            end = n if end < 0 else end + 2
            out.append("\n" * text.count("\n", i, end) or " ")
            i = end
        elif two == "//":
            end = text.find("\n", i)
            i = n if end < 0 else end
        elif text[i] in "\"'":
            quote, start = text[i], i
            i += 1
            while i < n and text[i] not in (quote, "\n"):
                i += 2 if text[i] == "\\" else 1
            i += 1
            keep = text[start:i] if text[:start].rstrip(" ").endswith("include") else quote * 2
            out.append(keep)
        else:
            out.append(text[i])
            i += 1
    return "".join(out)


def finish(faults, looked_at, what):
    """Says what is wrong and leaves; looking at nothing is a fault too."""
    for fault in faults:
        print(fault)
    if not looked_at:
        print(f"no {what} found: this test would never fail")
        sys.exit(1)
    print(f"{looked_at} {what}, {len(faults)} faults")
    sys.exit(1 if faults else 0)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)
