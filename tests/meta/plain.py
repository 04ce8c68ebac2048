#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Plain English: prose and comments wrap at 90 columns, and the worst habits do not come back.

Read for phrases: what each `seep COMMAND --help` prints, messages (strings with a blank in
src), manual pages, Markdown and shell completions; for a shorter list also comments. Each row
of HABITS is a phrase, what to write instead, and a sentence that it must find. Text in
backquotes is a quotation and is not read, nor is what other tools print (docs/differences.md).
"""
import re
import subprocess
import sys

from lib_meta import BUILD, ROOT, finish, read, tree_files

sys.path.insert(0, str(ROOT / "tools"))
import wrap  # pylint: disable=wrong-import-position

# Everywhere, comments too.
HABITS = [
    (r"\bwhat is no\b", "a noun: memory excluded from the root set", "what is no root"),
    (r"\b(has|have) not got\b", "lacks, is missing", "names that it has not got"),
    (r"\bat one go\b", "at once", "several frames at one go"),
    (r"\bin vain\b", "the effect: stops after a timeout", "waited for in vain"),
    (r"\bunless told\b", "the default in brackets: (5s)", "5s unless told otherwise"),
    (r"\blook(s|ed)? for so\b|\bso often (at|as it|while)\b", "interval between …",
     "Look for growth so often at first"),
    (r"\bin the words of\b", "in the format of", "Report in the words of valgrind"),
]
# In text that users read.
SPOKEN = [
    (r"\b(tell|tells|telling) (apart|from what)\b|\btold (apart|from)\b",
     "separate, distinguish", "live and freed memory told apart"),
    (r"\b(0 bytes|what|that|this|it|they) (is|are) no (?!more|longer|less)\w+",
     "must be, is not a", "0 bytes are no growth"),
    (r"(?<!there)(?<!There) is no (number|file|percentage|process|root|text|profile|option|leak)\b",
     "is not a …", "\"x\" is no number"),
    (r"\b(is|are|was|were|not) (not )?looked (for|at|through|into)\b", "checked, searched",
     "values are not looked for"),
    (r"\b[Tt]ells? (what|who|which|whether|how)\b", "print, show, report",
     "Tell who holds the block"),
    (r"\bst(and|ands|ood) still\b", "stop, be stopped", "how long it stood still"),
    (r"\ball the same\b", "still, anyway", "to take it out all the same"),
    (r"\bleft alone\b", "skipped", "were left alone"),
    (r"\bis only looked\b", "is detected only", "wrong use is only looked for"),
    (r"\ba place a line\b|\bone place a line\b|\b(list|rank|print)s? (every |one )?places?\b",
     "site: one line per allocation site", "Print one place a line"),
    (r"\bas (text|JSON), to be\b|\bis to be (run|\w+ed)\b", "must be", "which command is to be run"),
    (r"\bwhat (is|was) (lost|held) and (who|what)\b|\bwho holds\b", "leaks and their owners",
     "what is there, who holds it"),
]
QUOTED = ("docs/differences.md", "THIRD-PARTY.md", "LICENSE")


def plain(text):
    """Prose without what it quotes."""
    text = re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r"`[^`\n]*`", "``", text)


def found(text, habits):
    """(line, phrase, instead) of each habit in `text`; a line break is a blank, too."""
    for pattern, instead, _ in habits:
        for match in re.finditer(pattern.replace(" ", r"\s+(?:[*#] )?"), text):
            phrase = " ".join(match.group(0).split())
            yield text.count("\n", 0, match.start()) + 1, phrase, instead


def messages(text):
    """Strings of C text that have a blank, joined as the compiler does; line breaks are kept."""
    out = []
    literal = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"(?:\s*\\?\n?\s*"(?:\\.|[^"\\\n])*")*',
                         re.S)
    at = 0
    for match in literal.finditer(text):
        out.append("\n" * text.count("\n", at, match.start()))
        at = match.end()
        said = match.group(0)
        lines = "\n" * said.count("\n")
        if said.startswith('"') and " " in said:
            out.append(re.sub(r'"\s*\\?\s*"', "", said) + " ;")
        out.append(lines)
    return "".join(out)


def comments(text):
    return "".join(m.group(0) if m.group(0).startswith("/") else "\n" * m.group(0).count("\n")
                   for m in re.finditer(r"/\*.*?\*/|//[^\n]*|[^/]+|/", text, re.S))


def help_texts():
    """What the tool prints about itself, by command."""
    seep = BUILD / "seep"
    top = subprocess.run([seep, "help", "--all"], capture_output=True, text=True, timeout=20,
                         check=True).stdout
    yield "seep help --all", top
    for name in re.findall(r"^  ([a-z][a-z._-]*)", top, re.M):
        yield f"seep {name} --help", subprocess.run(
            [seep, name, "--help"], capture_output=True, text=True, timeout=20, check=True).stdout


def self_check():
    faults = []
    for pattern, instead, example in HABITS + SPOKEN:
        if not list(found(example, [(pattern, instead, example)])):
            faults.append(f"plain.py itself: {pattern} does not find {example!r}")
        if list(found(instead, HABITS + SPOKEN)):
            faults.append(f"plain.py itself: {instead!r} is no better")
    if list(found(messages('a("x"); /* unless told */ b("no blank");'), HABITS)) or \
            not list(found(messages('f("x is unless "\n  "told y");'), HABITS)):
        faults.append("plain.py itself: messages are read wrongly")
    return faults


def main():
    faults, seen = self_check(), 0
    for name, text in help_texts():
        seen += 1
        faults += [f"{name}: {phrase!r}: write {instead!r}"
                   for _, phrase, instead in found(text, HABITS + SPOKEN)]
    for path in tree_files():
        name = str(path)
        if name.startswith(QUOTED) or "corpus" in path.parts or name.startswith("tests/golden"):
            continue
        texts = []
        if path.suffix == ".md" or re.fullmatch(r"man/.*\.[1-9]|completions/.*", name):
            texts = [(plain(read(path)), HABITS + SPOKEN)]
        elif path.suffix in (".c", ".h") and path.parts[0] in ("src", "include"):
            texts = [(messages(read(path)), HABITS + SPOKEN), (comments(read(path)), HABITS)]
        seen += bool(texts)
        for text, habits in texts:
            faults += [f"{name}:{line}: {phrase!r}: write {instead!r}"
                       for line, phrase, instead in found(text, habits)]
    wide, wrapped = wrap.check(tree_files())
    finish(faults + wide, seen + wrapped, "texts")


sys.exit(main())
