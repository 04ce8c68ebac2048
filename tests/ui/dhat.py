#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What valgrind's own dh_view.html shows of a file of DHAT: the text of its page, by a headless Chromium.

    dhat.py FOLDER-OF-DH_VIEW FILE

The page as it is, with a line behind it that loads the file as its button would."""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

folder, path = sys.argv[1:]
browser = next(b for b in ("chromium", "chromium-browser", "google-chrome") if shutil.which(b))
data = open(path, encoding="utf-8").read()
with tempfile.TemporaryDirectory() as here:
    for name in ("dh_view.js", "dh_view.css"):
        shutil.copy(os.path.join(folder, name), here)
    page = open(os.path.join(folder, "dh_view.html"), encoding="utf-8").read()
    text = data.replace("\\", "\\\\").replace("`", "\\`").replace("${", "\\${").replace("</", "<\\/")
    load = f"<script>addEventListener('load', () => setTimeout(() => {{ gData = JSON.parse(`{text}`); " \
           "buildTree(); displayTree(0, 0, 0); document.title = 'shown'; }}, 0));</script>"
    load = load.replace("}}, 0)", "}, 0)")
    with open(f"{here}/page.html", "w", encoding="utf-8") as f:
        f.write(page.replace("</html>", load + "</html>"))
    dom = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                          f"--user-data-dir={here}/user", "--virtual-time-budget=5000", "--dump-dom",
                          f"file://{here}/page.html"], capture_output=True, text=True, timeout=100, check=False)
body = re.sub(r"(?s)<script.*?</script>", "", dom.stdout)
print(html.unescape(re.sub(r"<[^>]*>", "", body)))
