#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: ls, sort, find, awk; shells with pipelines; compressors.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command ls sort find awk tar gzip xz bash dash

real_same ls -- ls -laR /usr/share/doc
real_valgrind ls ls -laR /usr/share/doc

# 50,021 lines in a scrambled order, more than the buffer holds: merges temporary files, 2 threads.
awk 'BEGIN { for (i = 0; i < 50021; i++) print (i * 7919) % 50021, "line", i }' >"$TMP/lines"
real_same sort -- sort -S 256K --parallel=2 -T "$TMP" -n "$TMP/lines"
real_same sort_one -- sort --parallel=1 "$TMP/lines"
real_valgrind sort_one sort --parallel=1 "$TMP/lines"
real_same find -- find /usr/share/doc /usr/include -name '*.h' -printf '%p %s\n'
real_valgrind find find /usr/share/doc /usr/include -name '*.h' -printf '%p %s\n'
real_same grep -- grep -rcE '(foo|ba[rz]+)+ .*x$' /usr/include/linux
real_same awk -- awk '{ n[$1 % 97] += $3 } END { for (k = 0; k < 97; k++) print k, n[k] }' "$TMP/lines"

cat >"$TMP/script" <<'END'
set -e
i=0
while [ $i -lt 17 ]; do
	i=$((i + 1))
	echo "$i $(echo $i | sed 's/1/one/g' | tr a-z A-Z)"
done | sort -r | uniq -c | head -n 5
(exit 7) || echo "seven $?"
trap 'echo trapped' TERM
kill -TERM $$
cat <<INNER | wc -l
a
b
$(seq 1 11)
INNER
sh -c 'kill -SEGV $$' || echo "killed $?"
echo to stderr >&2
yes | head -n 3
exec sh -c 'exit 23'
END
for shell in bash dash; do
	real_same $shell -- $shell "$TMP/script"
	expect_eq "$shell says 23" "$(cat "$TMP/$shell.exact.status")" 23
done

# shellcheck disable=SC2016 # expanded by the shell under test
real_same tar -- bash -c 'set -o pipefail
	tar -C /usr/include -cf - --sort=name linux | tee >(gzip -n | md5sum >&2) | xz -1 -T2 >a.xz &&
	tar -xJf a.xz && diff -r linux /usr/include/linux && rm -r linux && tar -tJf a.xz | tail -n 3; wait'
