#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: ls, sort, find, grep, mawk.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command ls sort find grep mawk

real_same ls -- ls -laR /usr/share/doc
real_estimate ls
real_valgrind ls ls -laR /usr/share/doc

# 50,021 lines in a scrambled order, more than the buffer holds: merges temporary files, 2
# threads.
awk 'BEGIN { for (i = 0; i < 50021; i++) print (i * 7919) % 50021, "line", i }' >"$TMP/lines"
real_same sort -- sort -S 256K --parallel=2 -T "$TMP" -n "$TMP/lines"
real_same sort_one -- sort --parallel=1 "$TMP/lines"
real_valgrind sort_one sort --parallel=1 "$TMP/lines"
real_same find -- find /usr/share/doc /usr/include -name '*.h' -printf '%p %s\n'
real_estimate find
real_valgrind find find /usr/share/doc /usr/include -name '*.h' -printf '%p %s\n'
real_same grep -- grep -rcE '(foo|ba[rz]+)+ .*x$' /usr/include/linux
# shellcheck disable=SC2016 # awk's own
real_same mawk -- mawk '{ n[$1 % 97] += $3 } END { for (k = 0; k < 97; k++) print k, n[k] }' "$TMP/lines"
# shellcheck disable=SC2016 # awk's own
real_valgrind mawk mawk '{ n[$1 % 97] += $3 } END { for (k = 0; k < 97; k++) print k, n[k] }' "$TMP/lines"
