#!/bin/bash
# SPDX-License-Identifier: MIT
# timeout: 300
# Programs nobody here wrote: /usr/bin/python3 and parts of its own test suite: the same tests
# pass. Objects kept in its own arenas are not ours to see; with PYTHONMALLOC=malloc they are.
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
unset PYTHONMALLOC
cat >"$TMP/children.py" <<'END'
import ctypes, multiprocessing, os, subprocess, sys
def square(n): return n * n
if __name__ == "__main__":
    print(subprocess.run(["/usr/bin/python3", "-c", "print(6 * 7)"], capture_output=True).stdout)
    print(subprocess.call("exit 5", shell=True))
    for how in ("fork", "spawn", "forkserver"):
        pool = multiprocessing.get_context(how).Pool(2)
        print(how, sum(pool.map(square, range(101))))
        pool.close()
        pool.join()
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
real_same children -- /usr/bin/python3 "$TMP/children.py"

/usr/bin/python3 -c 'import test.test_json' 2>/dev/null ||
	{ echo "left out: the test suite of python3 (libpython3.11-testsuite)"; exit; }
# Which tests there are and how each ended; what they print meanwhile (times, threads' order) is
# not compared.
cat >"$TMP/suite.py" <<'END'
import io, sys, unittest
class Result(unittest.TextTestResult):
    def tell(self, test, how): print(how, test.id(), file=sys.__stdout__, flush=True)
    def addSuccess(self, test): self.tell(test, "ok")
    def addError(self, test, e): super().addError(test, e); self.tell(test, "error")
    def addFailure(self, test, e): super().addFailure(test, e); self.tell(test, "failure")
    def addSkip(self, test, why): super().addSkip(test, why); self.tell(test, "skip")
    def addExpectedFailure(self, test, e): self.tell(test, "expected")
stream = io.StringIO()
sys.stdout = io.StringIO()
suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
unittest.TextTestRunner(stream=stream, resultclass=Result).run(suite)
if "Traceback" in stream.getvalue(): print(stream.getvalue(), file=sys.__stdout__)
END
# shellcheck disable=SC2034 # of lib_real.sh
real_limit=200
# A helper of the suite's own may outlive it (multiprocessing's forkserver); stderr is the helpers'.
parts="test_json.test_scanstring test_json.test_dump test_threading.ThreadTests test_subprocess.RunFuncTestCase ctypes.test.test_callbacks"
[ -z "$SOAK" ] || parts="test_json test_threading test_subprocess ctypes.test"
for part in $parts; do
	case $part in ctypes*) name=$part ;; *) name=test.$part ;; esac
	real_same "$part" --reentry 1000 -- sh -c "/usr/bin/python3 $TMP/suite.py $name 2>/dev/null"
	expect_match "$part: something ran" "$(cat "$TMP/$part.bare.out")" '^ok '
done
