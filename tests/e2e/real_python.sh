#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: /usr/bin/python3, its threads, children and ctypes. Objects
# kept in its own arenas are not ours to see; with PYTHONMALLOC=malloc they are.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command /usr/bin/python3

cat >"$TMP/work.py" <<'END'
import collections, json, re, sys, threading, zlib
rows = [{"n": i, "s": "x" * (i % 97), "f": i / 7} for i in range(5003)]
text = json.dumps(rows)
print(len(text), zlib.crc32(text.encode()), json.loads(text) == rows)
seen = collections.Counter(re.findall(r'"s": "(x*)"', text))
total = []
def work(k): total.append(sum(len(str(i * k)) for i in range(2003)))
ts = [threading.Thread(target=work, args=(k,)) for k in range(7)]
[t.start() for t in ts]; [t.join() for t in ts]
print(len(seen), sorted(total))
sys.exit(19)
END
export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
real_same work -- /usr/bin/python3 "$TMP/work.py"
export PYTHONMALLOC=malloc
real_same malloc -- /usr/bin/python3 "$TMP/work.py"
real_estimate malloc
unset PYTHONMALLOC
cat >"$TMP/children.py" <<'END'
import ctypes, gc, multiprocessing, os, subprocess, sys
def square(n): return n * n
if __name__ == "__main__":
    print(subprocess.run(["/usr/bin/python3", "-c", "print(6 * 7)"], capture_output=True).stdout)
    print(subprocess.call("exit 5", shell=True))
    for how in ("fork", "spawn", "forkserver"):
        pool = multiprocessing.get_context(how).Pool(2)
        print(how, sum(pool.map(square, range(101))))
        pool.close()
        pool.join()
        del pool
        gc.collect() # or its helper says, whenever it notices, that semaphores are left
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    cmp = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    a = (ctypes.c_int * 101)(*[i * 37 % 101 for i in range(101)])
    libc.qsort(a, 101, 4, cmp(lambda x, y: x[0] - y[0]))
    print(list(a) == list(range(101)))
    libc.free(ctypes.c_void_p(libc.malloc(1009)))
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 11"], os.environ)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    sys.stdout.flush()
    os.abort()
END
# The helpers of multiprocessing notice that their parent is gone a little later.
real_same children --running -- /usr/bin/python3 "$TMP/children.py"
