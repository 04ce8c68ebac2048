#!/bin/bash
# SPDX-License-Identifier: MIT
# Random values in every word of a live recording that the tool may write, and in the
# references that the recorder follows outside malloc and free: the program goes on,
# unharmed and with results of its own that are right.
# timeout: 900
. "$(dirname "$0")/lib.sh"
need_libseep
need_seep
need_command python3
prog=$(program live_words)
cat >"$TMP/spoil.py" <<'END'
import mmap, os, random, struct, subprocess, sys
prog, lib, folder, mode, rounds = sys.argv[1:5] + [int(sys.argv[5])]
random.seed(f"{mode} 4711")
env = dict(os.environ, LD_PRELOAD=lib, SEEP=f"mode={mode},dir={folder},max-size=64M")
p = subprocess.Popen([prog], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)
def step():
    p.stdin.write("go\n")
    p.stdin.flush()
    return p.stdout.readline().strip()
assert step() == "ok 1"
path = [f"{folder}/{n}" for n in os.listdir(folder)][0]
f = open(path, "r+b")
m = mmap.mmap(f.fileno(), os.path.getsize(path))
CHUNKS, CHUNK = 256 << 10, 64 << 10
chunks = struct.unpack_from("<I", m, 456)[0]
kinds = {}
for i in range(chunks):
    kinds.setdefault(struct.unpack_from("<I", m, CHUNKS + i * CHUNK)[0], []).append(CHUNKS + i * CHUNK)
# written by the tool: clock, RSS, paused, tool's pid, hold, limits; then threads' free
# list, points and their distance, marks
words = list(range(384, 448, 4)) + [752, 760, 764, 784, 788]
edges = [0, 1, 2, 3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 4095, 4096, 4097, 0x8000]
def wild():
    return random.choice(edges) if random.randrange(2) else random.getrandbits(32)
def spoil():
    kind = random.randrange(4)
    if kind == 0 or 8 not in kinds:
        for off in random.sample(words, 6):
            struct.pack_into("<I", m, off, wild())
    elif kind == 1:  # modules: path, bytes of the build-id
        at = random.choice(kinds[8]) + 64 + 128 * random.randrange(6)
        struct.pack_into("<I", m, at + 40 + 4 * random.randrange(2), wild())
    elif kind == 2 and 9 in kinds:  # a string's length
        struct.pack_into("<I", m, random.choice(kinds[9]) + 64, wild())
    elif 7 in kinds:  # threads: the next free one, the journal
        at = random.choice(kinds[7]) + 1024 * (1 + random.randrange(5))
        if struct.unpack_from("<I", m, at)[0] == 0:
            struct.pack_into("<I", m, at + random.choice((12, 64, 72, 80)), wild())
for n in range(2, rounds + 2):
    spoil()
    said = step()
    if said != f"ok {n}":
        print(f"round {n}: {said!r}, status {p.wait(30)}")
        sys.exit()
struct.pack_into("<I", m, 408, 0xdeadbeef)  # where it would stop at its end
p.stdin.close()
print(f"{rounds} rounds, status {p.wait(60)}")
END
for mode in exact sample; do
	mkdir "$TMP/$mode"
	run python3 "$TMP/spoil.py" "$prog" "$LIBSEEP" "$TMP/$mode" $mode "$(times 1500 20000)"
	expect_eq "$mode: goes on" "$out$err" "$(times 1500 20000) rounds, status 7"
done
