#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: shells with pipelines, traps and killed children; tar, gzip,
# xz.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command tar gzip xz bash dash

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
# bash names the pid of what a signal killed.
real_sed='s/line 15: +[0-9]+ /line 15: PID /'
for shell in bash dash; do
	real_same $shell -- $shell "$TMP/script"
	expect_eq "$shell says 23" "$(cat "$TMP/$shell.exact.status")" 23
done

# shellcheck disable=SC2016 # expanded by the shell under test
real_same tar -- bash -c 'set -o pipefail
	tar -C /usr/include -cf - --sort=name linux | tee a.tar | xz -1 -T2 >a.xz && gzip -n <a.tar | md5sum &&
	tar -xJf a.xz && diff -r linux /usr/include/linux && rm -r linux && tar -tJf a.xz | tail -n 3'
