#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: parts of the test suite of /usr/bin/python3: the same tests
# pass.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"

export PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1
/usr/bin/python3 -c 'import test.test_json' 2>/dev/null ||
	skip "no test suite of python3 (package libpython3.11-testsuite)"
# Which tests there are and how each ended; what they print meanwhile (times, threads'
# order) is not compared.
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
# A helper of the suite's own may outlive it (multiprocessing's forkserver); stderr is the
# helpers'.
parts="test_json.test_scanstring test_json.test_dump test_threading.ThreadTests test_subprocess.MiscTests ctypes.test.test_callbacks"
[ -z "$SOAK" ] || parts="test_json test_threading test_subprocess ctypes.test"
for part in $parts; do
	case $part in ctypes*) name=$part ;; *) name=test.$part ;; esac
	real_same "$part" --running --reentry 1000 -- sh -c "/usr/bin/python3 $TMP/suite.py $name 2>/dev/null"
	expect_match "$part: something ran" "$(cat "$TMP/$part.bare.out")" '^ok '
done
