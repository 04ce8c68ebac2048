#!/bin/bash
# SPDX-License-Identifier: MIT
# A process that runs is never OK because nothing of what it allocated for a moment is
# lost: seep attach --stay, then detach, leaks or report, is GROWING, STEADY or NO
# VERDICT. What it had before the attach is said. A process that nobody recorded has no
# figures of a recording.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_attach.sh"
need_attach
need_command jq
prog=$(program stay) || exit

"$prog" grow >"$TMP/grow.said" &
grow=$!
"$prog" flat >"$TMP/flat.said" &
flat=$!
wait_for 20 grep -qs ready "$TMP/grow.said"
wait_for 20 grep -qs ready "$TMP/flat.said"

# Not recorded: with --fail-on the report is the same as without.
run "$SEEP" leaks "$grow"
plain=$out
run "$SEEP" leaks --fail-on leak "$grow"
expect_eq "leaks --fail-on: status" "$status" 0
expect_match "leaks --fail-on: as without it" "$(sed -n 2p <<<"$out")" '^OK  no leak: 23\.[0-9]+ MiB in [0-9]+ blocks'
expect_eq "leaks --fail-on: as many lines" "$(wc -l <<<"$out")" "$(wc -l <<<"$plain")"
expect_no_match "leaks --fail-on: nothing that is not known" "$out" 'exact|frees|running for|peak|temporary'
run "$SEEP" leaks --fail-on leak --json "$grow"
expect_json "leaks --fail-on --json" "$TMP/out" \
	'[.summary.verdict, .summary.allocs, .summary.frees, .processes[0].mode, .processes[0].duration_ms, .processes[0].peak_bytes]' \
	'["OK",null,null,null,null,null]'

# Long enough, and for a moment. A machine may stop for long between two commands: then it
# is long enough.
run "$SEEP" attach --stay --exact "$flat"

# Sampled: what was there before is its heap alone, not its files or what seep has put in;
# and what comes next works.
run "$SEEP" attach --stay "$grow"
run "$SEEP" leaks "$grow"
expect_match "leaks, sampled: next" "$out" "^next: seep report $grow \(.*seep detach $grow "
expect_no_match "leaks, sampled: no second attach" "$out" 'seep attach'
run "$SEEP" detach "$grow"
expect_match "detach: what was there before" "$out" '^allocated before the attach \([0-9:]+\): 23\.[0-9]+ MiB resident    see: seep leaks [0-9]+$'
# A busy machine may leave the program no time while seep is at work; then it has not
# grown at the end of what was no moment.
for ((i = 0; i < 10; i++)); do
	run "$SEEP" attach --stay --exact "$grow"
	run "$SEEP" leaks "$grow"
	looked=$out
	run "$SEEP" detach "$grow"
	ran=$(sed -n 's/^running for \([0-9]\)[0-9.]* s .*/\1/p' <<<"$out")
	[ "${ran:-0}" -ge 2 ] || break
done
expect_match "leaks: what was there before" "$looked" '^allocated before the attach: 23\.[0-9]+ MiB resident$'
expect_no_match "leaks: no all-clear" "$looked" '^OK|seep leaks'
expect_match "a moment" "$out" '^(NO VERDICT|GROWING)  '
expect_no_match "a moment: no all-clear" "$out" '^(OK|STEADY)'
run "$SEEP" attach --stay --exact "$grow"
sleep 4
run "$SEEP" report "$flat"
expect_match "report: flat" "$(sed -n 2p <<<"$out")" '^STEADY  live 6[01]\.[0-9] KiB in 6[12] blocks at 1 site; '
run "$SEEP" detach "$grow"
expect_match "detach: it grows" "$(head -n 1 <<<"$out")" '^GROWING  1 site'
run "$SEEP" detach "$flat"
expect_match "detach: it does not" "$(head -n 1 <<<"$out")" '^STEADY  live 6[01]\.[0-9] KiB in 6[12] blocks at 1 site; '

# Sampled, and nobody advances the clock any more: what grows is never STEADY, its samples
# have the times at which they were taken, and so has the peak of memory that only grows.
run "$SEEP" attach --stay --sample 4k "$grow"
sleep 5
run "$SEEP" report "$grow"
expect_match "sampled: it grows" "$(sed -n 2p <<<"$out")" '^(GROWING|LEAK likely|NO VERDICT)  '
expect_no_match "sampled: not steady" "$out" '^STEADY'
run "$SEEP" report --timeline --json "$grow"
# shellcheck disable=SC2016 # jq's own
expect_json "sampled: points at all times, the last with what is live now" "$TMP/out" \
	'.total as $now | .rows[0].points | last as $z | [$z.ms >= 5000, (map(select(.ms > $z.ms / 2)) | length > 3), $z.live_bytes == $now]' \
	'[true,true,true]'
run "$SEEP" report --json "$grow"
expect_json "sampled: the peak is not at the start" "$TMP/out" '.processes[0] | .peak_ms > .duration_ms / 2' true
run "$SEEP" detach "$grow"
kill "$grow" "$flat"
wait "$grow" "$flat" 2>/dev/null || true
