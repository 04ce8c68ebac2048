#!/bin/bash
# SPDX-License-Identifier: MIT
# Leaks beside the source: SARIF 2.1.0 and GitHub's annotations.
# shellcheck disable=SC2016 # jq has variables of its own
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq
cd "$TMP" || exit
unset GITHUB_WORKSPACE
mkdir 'a b'
cat >'a b/some,file.c' <<'END'
#include <stdlib.h>
#include <string.h>
void *volatile last;
static void lose(void) { last = strdup("seventeen letters"); last = 0; }
int main(void) { for (int i = 0; i < 7; i++) lose(); last = malloc(311); last = 0; }
END
${CC:-gcc} -O0 -g -o lossy "$TMP/a b/some,file.c" || exit

run "$SEEP" run --no-save --sarif out.sarif --github -- ./lossy
expect_eq "status" "$status" 0
expect_eq "annotations" "$(grep -c '^::' <<<"$err")" 2
expect_match "an annotation" "$err" \
	'^::error file=a b/some%2Cfile\.c,line=4,title=leak-definite in lose::126 bytes in 7 blocks are definitely lost in loss record 1 of 2$'
expect_match "another" "$err" '^::error file=a b/some%2Cfile\.c,line=5,title=leak-definite in main::311 bytes in 1 blocks '
expect_json "version" out.sarif '[.version, .runs[0].tool.driver.name]' '["2.1.0","seep"]'
expect_json "results" out.sarif '.runs[0].results | map([.ruleId, .level, .locations[0].physicalLocation.region.startLine,
	.locations[0].physicalLocation.artifactLocation.uri, .locations[0].logicalLocations[0].fullyQualifiedName])' \
	'[["leak-definite","error",5,"a%20b/some%2Cfile.c","main"],["leak-definite","error",4,"a%20b/some%2Cfile.c","lose"]]'
expect_json "the rule is described" out.sarif '.runs[0] as $r | $r.results | map(.ruleId as $i | $r.tool.driver.rules | any(.id == $i)) | all' true
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
	run /usr/bin/python3 -c 'import json, sys, jsonschema
schema, log = (json.load(open(x)) for x in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.validate(log, schema)' "$ROOT/tests/golden/sarif/schema.json" out.sarif
	expect_eq "the schema accepts it" "$status$err" 0
else
	left_out "no python3-jsonschema here"
fi
# A folder that is not ours: whole paths.
run env GITHUB_WORKSPACE=/nowhere "$SEEP" run --no-save --sarif out.sarif --github -- ./lossy
expect_match "elsewhere: an annotation" "$err" "^::error file=$TMP/a b/some%2Cfile\\.c,line=4,"
expect_json "elsewhere" out.sarif '.runs[0].results[1].locations[0].physicalLocation.artifactLocation | [.uri, .uriBaseId]' \
	"[\"file://$TMP/a%20b/some%2Cfile.c\",null]"
# What is known or suppressed is not in it.
"$SEEP" run --no-save --json --log-file known.json -- ./lossy >/dev/null 2>&1
run "$SEEP" run --no-save --baseline known.json --sarif out.sarif --github -- ./lossy
expect_json "known" out.sarif '.runs[0].results' '[]'
expect_no_match "known: no annotation" "$err" '^::'
expect_match "known: said" "$err" '^OK  no new leak: known 437 B, new 0; '
