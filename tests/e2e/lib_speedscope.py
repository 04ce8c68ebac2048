#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Is this file what speedscope's file-format-schema.json asks for, and do its figures add up?

The part of the schema that seep uses is written out here, so that the test needs no network. Prints
`NAME TOTAL` for every profile of the file.
"""
import json
import sys

UNITS = {"bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds"}
NUMBER = (int, float)


def need(thing, where, fields, optional=()):
    """All of `fields` are there with their types, and nothing that the schema does not know."""
    if not isinstance(thing, dict):
        sys.exit(f"{where}: not an object")
    for name, kind in fields.items():
        if name not in thing:
            sys.exit(f"{where}: no {name}")
        if not isinstance(thing[name], kind) or isinstance(thing[name], bool):
            sys.exit(f"{where}: {name} is {thing[name]!r:.60}")
    for name in thing:
        if name not in fields and name not in optional:
            sys.exit(f"{where}: {name} is not in the schema")


def check_events(profile, where, frames):
    """Frames are closed in the reverse order, at positions that only grow, from start to end."""
    opened, at = [], profile["startValue"]
    for event in profile["events"]:
        need(event, where, {"type": str, "frame": int, "at": NUMBER})
        if not 0 <= event["frame"] < frames:
            sys.exit(f"{where}: a frame that is not there: {event}")
        if event["at"] < at:
            sys.exit(f"{where}: {event} comes after {at}")
        at = event["at"]
        if event["type"] == "O":
            opened.append(event["frame"])
        elif event["type"] != "C" or not opened or opened.pop() != event["frame"]:
            sys.exit(f"{where}: {event} does not fit what is open")
    if opened or at != profile["endValue"]:
        sys.exit(f"{where}: {len(opened)} frames are open at {at} of {profile['endValue']}")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        doc = json.load(f)
    need(doc, "file", {"$schema": str, "shared": dict, "profiles": list},
         {"activeProfileIndex", "exporter", "name"})
    if doc["$schema"] != "https://www.speedscope.app/file-format-schema.json":
        sys.exit("file: another schema")
    need(doc["shared"], "shared", {"frames": list})
    for frame in doc["shared"]["frames"]:
        need(frame, "frame", {"name": str}, {"file", "line", "col"})
    if not 0 <= doc.get("activeProfileIndex", 0) < len(doc["profiles"]):
        sys.exit("activeProfileIndex leads nowhere")
    for profile in doc["profiles"]:
        where = f"profile {profile.get('name')}"
        need(profile, where, {"type": str, "name": str, "unit": str, "startValue": NUMBER,
                              "endValue": NUMBER, "events": list})
        if profile["type"] != "evented" or profile["unit"] not in UNITS:
            sys.exit(f"{where}: {profile['type']} in {profile['unit']}")
        check_events(profile, where, len(doc["shared"]["frames"]))
        print(profile["name"].replace(" ", "_"), profile["endValue"])


main()
