#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes one C file of the scripts, styles and pages in ui/: embed-ui.py OUT NAME=FILE[,FILE] ...

The files of a script are ES modules. They are put one behind the other inside one function,
without their import and export words, so that a file that has them inline runs from anywhere
and fetches nothing. For that, names at the top level must differ between the modules of one
script, and an import may only name modules that come before; both are checked. Comment lines
and indentation stay behind.
"""
import base64
import hashlib
import json
import pathlib
import re
import sys

IMPORT = re.compile(r"^import\s*\{([^}]*)\}\s*from\s*'\./([\w-]+\.js)';\n", re.M)
EXPORT = re.compile(r"^export (?=(const|let|function|class) )", re.M)
TOP = re.compile(r"^(?:export )?(?:const|let|function\*?|class) (\w+)", re.M)


def fail(message):
    sys.exit(f"embed-ui.py: {message}")


def bundle(paths):
    """The modules as one script."""
    owners, text = {}, []
    for path in paths:
        source = path.read_text(encoding="utf-8")
        for names, module in IMPORT.findall(source):
            for name in (n.strip() for n in names.split(",") if n.strip()):
                if owners.get(name) != module:
                    fail(f"{path.name}: {name} is not one of {module}, or comes later")
        body = EXPORT.sub("", IMPORT.sub("", source))
        if re.search(r"^(import|export)\b", body, re.M):
            fail(f"{path.name}: an import or export that is not understood")
        for name in TOP.findall(source):
            if name in owners:
                fail(f"{path.name}: {name} is also in {owners[name]}")
            owners[name] = path.name
        text.append(body)
    return "(function () {\n'use strict';\n" + squeeze("".join(text), "//") + "})();\n"


def squeeze(text, comment):
    """Without indentation, empty lines and lines that are comments."""
    lines, inside = [], False
    for line in (raw.strip() for raw in text.splitlines()):
        if inside or line.startswith("/*"):
            inside = "*/" not in line
            continue
        if line and not (comment and line.startswith(comment)):
            lines.append(line)
    return "\n".join(lines) + "\n"


def c_string(text):
    """A C literal, a line each; \\u and the like are left to nobody: all bytes above 126 in octal."""
    lines = []
    for line in text.splitlines(keepends=True):
        out = []
        for byte in line.encode("utf-8"):
            char = chr(byte)
            if char == "\n":
                out.append("\\n")
            elif char in "\"\\":
                out.append("\\" + char)
            elif char == "?":
                out.append("\\?")
            elif 32 <= byte < 127:
                out.append(char)
            else:
                out.append(f"\\{byte:03o}")
        lines.append('\t"' + "".join(out) + '"')
    return "\n".join(lines)


def main():
    out = pathlib.Path(sys.argv[1])
    parts = ['/* Made by tools/embed-ui.py of what is in ui/. */', '#include "tool/render/ui_parts.h"']
    for argument in sys.argv[2:]:
        name, _, files = argument.partition("=")
        paths = [pathlib.Path(f) for f in files.split(",")]
        if paths[0].suffix == ".js":
            text = bundle(paths)
        else:
            text = squeeze("".join(p.read_text(encoding="utf-8") for p in paths), None)
        if "]]>" in text or re.search("</(script|style)", text if paths[0].suffix != ".html" else ""):
            fail(f"{name}: has a sequence that would end the element it stands in")
        parts.append(f"const char {name}[] =\n{c_string(text)};")
        digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
        if name.startswith("ui_page_") and paths[0].suffix != ".html":
            parts.append(f"const char {name}_hash[] = {json.dumps('sha256-' + digest)};")
    out.write_text("\n".join(parts) + "\n", encoding="utf-8")


main()
