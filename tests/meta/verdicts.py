#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""docs/verdicts.md has a row and an example for every word of src/tool/analyze/verdict/verdict_rules.c, in the
order of precedence and with the same severity, and a row for every reason of NO VERDICT."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
code = (ROOT / "src/tool/analyze/verdict/verdict_rules.c").read_text()
doc = (ROOT / "docs/verdicts.md").read_text()

words = re.findall(r'\[VERDICT_\w+\] = \{"([^"]+)", VERDICT_SEVERITY_(\w+)\}', code)
words = [(name, severity.lower()) for name, severity in reversed(words)]
rows = re.findall(r"^\| `([^`]+)` \| (\w+) \|", doc, re.M)
reasons = re.findall(r'\[VERDICT_WHY_\w+\] = "([^"]+)"', code)
listed = re.findall(r"^\| `([a-z-]+)` \| \w", doc, re.M)
headings = re.findall(r"^### (.+)$", doc, re.M)
examples = [re.search(rf"^### {re.escape(w)}\n\n```\n{re.escape(w)}  ", doc, re.M) for w, _ in words]

checks = {
    "ten words in the code": len(words) == 10,
    "a row for each word, in order": rows == words,
    "a heading for each word, in order": headings == [w for w, _ in words],
    "an example for each word": all(examples),
    "a row for each reason": listed == reasons and len(reasons) >= 6,
}
for what, good in checks.items():
    if not good:
        print(f"FAILED {what}")
failed = sum(not good for good in checks.values())
print(f"{len(checks) - failed} passed, {failed} failed")
sys.exit(failed > 0)
