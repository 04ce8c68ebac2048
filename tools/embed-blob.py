#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Makes a C file of the image that seep injects: embed-blob.py IMAGE OUT"""
import pathlib
import sys


def main():
    image = pathlib.Path(sys.argv[1]).read_bytes()
    lines = [", ".join(f"{b:#04x}" for b in image[i : i + 16]) for i in range(0, len(image), 16)]
    text = "/* Made by tools/embed-blob.py. */\n"
    text += '#include "tool/target/attach/blob_image.h"\n\n'
    text += "_Alignas(64) const unsigned char blob_image[] = {\n\t"
    text += ",\n\t".join(lines) + ",\n};\n"
    text += f"const size_t blob_image_bytes = {len(image)};\n"
    pathlib.Path(sys.argv[2]).write_text(text, encoding="ascii")


main()
