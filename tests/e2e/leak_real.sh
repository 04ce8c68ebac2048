#!/bin/bash
# SPDX-License-Identifier: MIT
# Debian's own programs: what is definitely and indirectly lost is what valgrind finds, to
# the byte.
# timeout: 300
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_leak.sh"
need_command valgrind

seq 1 2003 | sort -R --random-source=/bin/ls >numbers
echo 'int main(void) { return 0; }' >empty.c
mkdir many
(cd many && seq -f 'file%g' 1 101 | xargs touch)
cat >commands <<'END'
ls /bin/ls -l many
sort /usr/bin/sort --parallel=1 -n numbers
grep /bin/grep -c 7 numbers
find /usr/bin/find many -name "*7"
xz /usr/bin/xz -1 -T1 -k -c numbers
perl /usr/bin/perl -e "print 1"
openssl /usr/bin/openssl version
git /usr/bin/git --version
gcc /usr/bin/gcc -E empty.c
sqlite3 /usr/bin/sqlite3 :memory: "create table t(a); insert into t values(1); select * from t"
python3 /usr/bin/python3 -S -c 1
END
# The same environment for both: libc allocates for what it finds there.
plain() { env -i PATH="$PATH" LC_ALL=C HOME=/ PYTHONMALLOC=malloc GIT_CONFIG_NOSYSTEM=1 "$@"; }
valgrind_real() { # NAME COMMAND
	plain bash -c "valgrind --leak-check=full --num-callers=30 --suppressions=$TMP/loader.supp --log-file=$TMP/$1.vg $2" \
		>/dev/null 2>&1 </dev/null
	true
}
export -f valgrind_real plain

while read -r name command; do
	[ -x "${command%% *}" ] || continue
	printf '%s\0%s\0' "$name" "$command"
done <commands | xargs -0 -n 2 -P 2 bash -c 'valgrind_real "$@"' -
while read -r name command; do
	[ -x "${command%% *}" ] || { left_out "no $name here"; continue; }
	plain bash -c "$SEEP run --no-children --json --log-file json -o rec -- $command" >/dev/null 2>err </dev/null
	expect_match "$name: valgrind" "$(valgrind_says "$name.vg")" '^definite='
	# In memcheck's words: by seep's own, perl's blocks are not judged
	# (docs/verdicts.md).
	plain "$SEEP" leaks --format=memcheck rec >memcheck 2>/dev/null
	expect_eq "$name" "$(valgrind_says memcheck | cut -d ' ' -f 1-2)" "$(valgrind_says "$name.vg" | cut -d ' ' -f 1-2)"
done <commands
