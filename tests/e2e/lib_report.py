#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Reports of valgrind and of seep, made comparable: `lib_report.py text|xml FILE`.

Out go pids, addresses, times, command lines, folders, and what cannot be the same: the name of the
library that malloc is in, lines inside of system libraries (seep does not look them up), which of
its aligned functions valgrind says was called, the thread's last frame, arguments of templates (debug
information and demangler spell them differently) and marks of the optimizer's copies.
"""
import re
import sys
import xml.etree.ElementTree as ET

ALIGNED = {"memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc"}
SOURCES = re.compile(r"(leak_|sort_c|stl_|new_allocator|alloc_traits|basic_string|invoke|std_thread)")


def name_of(function):
    function = re.sub(r" \[clone [^]]*\]", "", function)
    if function in ALIGNED:
        return "ALIGNED"
    if function in ("clone", "clone3"):
        return "CLONE"
    if "(" not in function:  # inlined
        function = re.sub(r"(?<=\w)<.*>$", "<>", function)
    return function


def text(path):
    shown, last = False, None
    for line in open(path, encoding="utf-8"):
        line = re.sub(r"^(==|--)\d+\1 ?", "", line.rstrip("\n"))
        shown = shown or line == "HEAP SUMMARY:"
        frame = re.match(r"^   (at|by) 0x[0-9A-F]+: (.*) \((in .*|[^()]*:\d+)\)$", line)
        if frame:
            name, where = name_of(frame.group(2)), frame.group(3)
            if not SOURCES.match(where):
                where = "LIBRARY"
            if name == "ALIGNED" and last == "ALIGNED":
                continue
            last = name
            line = f"   {frame.group(1)} {name} ({where})"
        else:
            last = None
        line = re.sub(r"used_suppression: (.*) \S*/(\S+:\d+)", r"used_suppression: \1 \2", line)
        if shown and not line.startswith(("Searching for pointers", "Checked ")):
            yield line


def xml(path):
    root = ET.parse(path).getroot()
    for error in root.iter("error"):
        for stack in error.iter("stack"):
            last = None
            for frame in list(stack):
                fn = frame.find("fn")
                if fn is not None:
                    fn.text = name_of(fn.text)
                if last == "ALIGNED" and fn is not None and fn.text == "ALIGNED":
                    stack.remove(frame)
                    continue
                last = fn.text if fn is not None else None
                obj = frame.find("obj")
                if "vgpreload" in obj.text or "libseep" in obj.text:
                    obj.text = "ALLOCATOR"
                if frame.find("file") is not None and not SOURCES.match(frame.find("file").text):
                    for part in ("dir", "file", "line"):
                        found = frame.find(part)
                        if found is not None:
                            frame.remove(found)
                frame.find("ip").text = re.sub(r"^0x[0-9A-F]+$", "ADDR", frame.find("ip").text)
        for raw in error.iter("rawtext"):
            words = [name_of(w[4:]) if w.startswith("fun:") else w for w in raw.text.split()]
            raw.text = " ".join(words).replace("ALIGNED ALIGNED", "ALIGNED")
        for supp in error.iter("suppression"):
            last = None
            for frame in supp.findall("sframe"):
                fun = frame.find("fun")
                fun.text = name_of(fun.text)
                if fun.text == last == "ALIGNED":
                    supp.remove(frame)
                last = fun.text
    for twice in root.findall("suppression"):  # valgrind writes it behind the error again
        root.remove(twice)
    for part in ("pid", "ppid"):
        root.find(part).text = "PID"
    for time in root.iter("time"):
        if not re.match(r"^\d\d:\d\d:\d\d:\d\d\.\d\d\d $", time.text):
            time.text += " IS WRONG"
        else:
            time.text = "TIME"
    lines = root.find("preamble").findall("line")
    for line in lines[:-1]:
        root.find("preamble").remove(line)
    vargv = root.find("args").find("vargv")
    for word in list(vargv)[1:]:
        vargv.remove(word)
    vargv.find("exe").text = "TOOL"
    yield from dump(root, 0)


def dump(node, depth):
    yield " " * depth + node.tag + (": " + node.text.strip() if (node.text or "").strip() else "")
    for child in node:
        yield from dump(child, depth + 1)


for out in (text if sys.argv[1] == "text" else xml)(sys.argv[2]):
    print(out)
