#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Do prose and comments wrap at 90 columns? With --fix, wraps comments. Named files, or all.

Read: comments of C, C++, shell and Python, Markdown outside of tables and blocks of code, and
manual pages outside of displays. A tab counts 8 columns. A line that cannot be broken, such as
one long address, is fine. --fix refills a comment from its first long line to the end of the
paragraph, and puts a comment behind code on lines of its own above it; it leaves alone what
looks like a table, and prose in Markdown and manual pages: these are reported.

Not read: tests/programs, whose line numbers and texts are part of what tests expect, data of
tests, and the text of others (THIRD-PARTY.md).
"""
import pathlib
import re
import subprocess
import sys

WIDTH = 90
ROOT = pathlib.Path(__file__).resolve().parent.parent
C_LIKE = {".c", ".h", ".cpp", ".S"}
SCRIPTS = {".sh", ".py", ".bash", ".fish", ".zsh"}
NOT_OURS = ("tests/programs/", "tests/golden/", "ui/", "THIRD-PARTY.md", "LICENSE")
# A line of a comment that begins something: an item of a list, a drawing, code.
ITEM = re.compile(r"(?:[-*+] |\d+[.)] |\.\.\. )")
FIXED = re.compile(r"\S {3,}\S|\t|[|+`]{1}.*[|+]$|[┌├└─│]")
DIRECTIVE = re.compile(r"#(!| ?shellcheck | SPDX-| ?pylint| ?noqa| ?type:|include|define"
                       r"| timeout: \d| alone(:|$))")


def width(line):
    return len(line.expandtabs(8))


def breakable(text, lead):
    """Whether `text`, which is longer than the line, could be broken behind its first word."""
    return " " in text.strip() and width(lead + text.strip().split(" ")[0]) < WIDTH


def fill(words, lead, rest, first=None):
    """Lines of at most WIDTH columns; `rest` begins all but the first."""
    out, line = [], (lead if first is None else first)
    empty = True
    for word in words:
        if not empty and width(line + " " + word) > WIDTH:
            out.append(line)
            line, empty = rest, True
        line += word if empty else " " + word
        empty = False
    return out + [line]


# ---- C ----

def comments(text):
    """(start, end) of each comment of C text."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
    return [m.span() for m in pattern.finditer(text) if m.group(0).startswith("/")]


def lines_of(text, start, end):
    """Number of the first line of [start, end), and the lines, whole."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    last = len(text) if last < 0 else last
    return text.count("\n", 0, first) + 1, first, last, text[first:last].split("\n")


def refill(lines, lead):
    """Lines of a paragraph-wise text, each without `lead`; refilled from the long ones on."""
    out, i = [], 0
    while i < len(lines):
        line = lines[i]
        indent = line[:len(line) - len(line.lstrip(" "))]
        if width(lead + line) <= WIDTH or FIXED.search(line.strip()):
            out.append(line)
            i += 1
            continue
        words = line.split()
        hang = indent + ("  " if ITEM.match(line.strip()) else "")
        i += 1
        while i < len(lines) and lines[i].strip() and not ITEM.match(lines[i].strip()) and \
                lines[i][:len(lines[i]) - len(lines[i].lstrip(" "))] == hang and \
                not FIXED.search(lines[i].strip()):
            words += lines[i].split()
            i += 1
        if words[-1] == "*/":
            words[-2:] = [words[-2] + "\0*/"]
        filled = fill(words, lead + indent, lead + hang)
        out += [f[len(lead):].replace("\0", " ") for f in filled]
    return out


def fix_comment(before, body):
    """Lines for a comment `body` that has `before` on its first line: code, or white space."""
    indent = before[:len(before) - len(before.lstrip())]
    lead = indent + (" * " if body.startswith("/*") else "// ")
    inner = []
    for i, line in enumerate(body.split("\n")):
        line = line.strip() if before.strip() or i == 0 else line.lstrip("\t ")
        if i == 0:
            line = re.sub(r"^(/\*+|//) ?", "", line)
        else:
            line = re.sub(r"^\* ?|^// ?", "", line) if not line.startswith("*/") else line
        inner.append(line)
    done = refill(inner, lead)
    out = []
    for i, line in enumerate(done):
        if i == 0:
            out.append(indent + ("/* " if body.startswith("/*") else "// ") + line)
        else:
            out.append((lead + line).rstrip() if line != "*/" else indent + " */")
    return out


def long_comment(text, start, end):
    """The lines of a comment that are too long, as (number, line); and those of the text."""
    number, first, last, lines = lines_of(text, start, end)
    found = []
    for i, line in enumerate(lines):
        if width(line) <= WIDTH or line.endswith("\\"):
            continue
        at = max(start - first - sum(len(l) + 1 for l in lines[:i]), 0)
        said = re.sub(r"^\s*\*?\s*|\*/$", "", line[at:])
        if breakable(said, line[:at] if line[:at].isspace() else "") and \
                not FIXED.search(said):
            found.append((number + i, line))
    return found, first, last


def continues(text):
    """Whether the line behind `text` continues a statement that begins in its last line."""
    line = text[:-1].rpartition("\n")[2].strip()
    return line != "" and not re.search(r"[;{},:>\\]$|\*/$|^#", line)


def do_c(text, fix):
    faults = []
    for start, end in reversed(comments(text)):
        found, first, last = long_comment(text, start, end)
        if not found:
            continue
        before, after = text[first:start], text[end:last]
        if not fix or after.strip():
            faults += found
            continue
        top = first
        while before.strip() and continues(text[:top]):
            top = text.rfind("\n", 0, top - 1) + 1
        lead = re.match(r"\s*", text[top:first] + before).group(0)
        new = fix_comment(lead if top < first else before, text[start:end])
        if before.strip():
            new.append(text[top:first] + before.rstrip())
        text = text[:top] + "\n".join(new) + text[last:]
    return sorted(faults), text


# ---- scripts ----

def do_script(text, fix):
    lines, out, faults, i = text.split("\n"), [], [], 0
    while i < len(lines):
        line = lines[i]
        match = re.match(r"(\s*# )(\S.*)", line)
        long = match and width(line) > WIDTH and not DIRECTIVE.match(line.strip()) and \
            not FIXED.search(match.group(2)) and breakable(match.group(2), match.group(1))
        if not long:
            out.append(line)
            i += 1
            continue
        if not fix:
            faults.append((i + 1, line))
            out.append(line)
            i += 1
            continue
        lead, block = match.group(1), []
        while i < len(lines) and lines[i].startswith(lead) and \
                not DIRECTIVE.match(lines[i].strip()):
            block.append(lines[i][len(lead):])
            i += 1
        out += [(lead + l).rstrip() for l in refill(block, lead)]
    return faults, "\n".join(out)


# ---- prose ----

def is_prose(line):
    return line.strip() != "" and not line.startswith(("```", "|", "  |", "<!--", "#", "    "))


def do_markdown(text, fix):
    lines, out, faults, code, i = text.split("\n"), [], [], False, 0
    while i < len(lines):
        line = lines[i]
        if line.lstrip().startswith("```"):
            code = not code
        bare = re.sub(r"\]\(\S+\)", "]", line)
        if code or not is_prose(line) or width(bare) <= WIDTH or not breakable(line, ""):
            out.append(line)
            i += 1
            continue
        if not fix:
            faults.append((i + 1, line))
            out.append(line)
            i += 1
            continue
        block = []
        while i < len(lines) and is_prose(lines[i]):
            block.append(lines[i])
            i += 1
        out += refill(block, "")
    return faults, "\n".join(out)


def do_man(text, _fix):
    faults, shown = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith((".Bd -literal", ".Bd -unfilled")):
            shown = True
        elif line.startswith(".Ed"):
            shown = False
        if not shown and not line.startswith(".") and width(line) > WIDTH:
            faults.append((number, line))
    return faults, text


def reader(path):
    name = str(path)
    if name.startswith(NOT_OURS) or "corpus" in path.parts:
        return None
    if path.suffix in C_LIKE:
        return do_c
    if path.suffix in SCRIPTS:
        return do_script
    if path.suffix == ".md":
        return do_markdown
    return do_man if re.fullmatch(r"man/.*\.[1-9]", name) else None


def self_check():
    """A long comment is found, wrapped, and then fine; nothing but white space changes."""
    words = "word " * 22
    wrong = []
    for do, text in [(do_c, f"/* {words}end. */\nint a;\n"), (do_c, f"\tint a; /* {words}*/\n"),
                     (do_c, f"/* First.\n *\n * - {words}\n *   end. */\n"),
                     (do_script, f"# {words}\n# end\nrun\n")]:
        faults, _ = do(text, False)
        _, fixed = do(text, True)
        again, _ = do(fixed, False)
        same = re.sub(r"[\s*/#]", "", fixed)
        plain = re.sub(r"[\s*/#]", "", text)
        if not faults or again or sorted(same) != sorted(plain):
            wrong.append(f"tools/wrap.py itself: {text[:30]!r}")
    if do_c('char *s = "/* ' + words + words + '*/";\n', False)[0]:
        wrong.append("tools/wrap.py itself: a string is no comment")
    return wrong


def check(paths, fix=False):
    """(faults, files read)."""
    faults, seen = self_check(), 0
    for path in paths:
        do = reader(path)
        if do is None:
            continue
        seen += 1
        text = (ROOT / path).read_text(errors="replace")
        _, new = do(text, fix)
        if new != text:
            (ROOT / path).write_text(new)
        faults += [f"{path}:{n}: longer than {WIDTH} columns: {line.strip()[:60]}"
                   for n, line in do(new, False)[0]]
    return faults, seen


def main():
    args = sys.argv[1:]
    fix = "--fix" in args
    names = [a for a in args if a != "--fix"] or subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], check=True,
        capture_output=True, text=True).stdout.split("\n")
    faults, _ = check([pathlib.Path(n) for n in names if (ROOT / n).is_file()], fix)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
