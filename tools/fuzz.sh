#!/bin/bash
# SPDX-License-Identifier: MIT
# Fuzzes every reader for real: libFuzzer, guided by coverage, under ASan and UBSan, from
# the seeds and the corpus on. What breaks one is left in build-fuzz/NAME and shown; it
# belongs into fuzz/corpus/NAME once it is mended.
#
#   tools/fuzz.sh [SECONDS [NAME...]]      600 seconds each; NAME as in fuzz/fuzz_NAME.c
set -u
cd "$(dirname "$0")/.." || exit 3
seconds=${1:-600}
[ $# -eq 0 ] || shift
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
	for file in fuzz/fuzz_*.c; do
		name=${file#fuzz/fuzz_}
		[ "$name" = main.c ] || names+=("${name%.c}")
	done
fi
if ! command -v clang >/dev/null; then
	echo "skipped: no clang here"
	exit 0
fi
mkdir -p build-fuzz

# below FOLDER...: the sources of these folders of the tool, however deep they lie.
below() {
	(cd src/tool && find "$@" -name '*.c') | sed 's,^,src/tool/,' | sort
}

# The sources of src/tool/target that fuzz/meson.build names.
listed() {
	grep -o "src/tool/target/[a-z0-9_/]*[.]c" fuzz/meson.build | sort -u
}

sources() {
	case $1 in
	symindex) below sym util ;;
	core | pmap) below format model util leak analyze && listed ;;
	elfsyms) below util && echo src/tool/target/proc/elfsyms.c ;;
	suppress) below format model util analyze ;;
	*) below format model util ;;
	esac
}

# one NAME: builds and runs it; the last line of its log says how it went.
one() {
	local name=$1 dir=build-fuzz/$1 log=build-fuzz/$1.log files
	mkdir -p "$dir/new" "$dir/seeds"
	mapfile -t files < <(sources "$name")
	if ! clang -g -O1 -std=gnu11 -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined -D_GNU_SOURCE= -Isrc -Itests/unit -Ifuzz \
		-o "$dir/fuzz" "fuzz/fuzz_$name.c" "${files[@]}" \
		-ldw -lelf -liberty -lzstd -lz -lm -ldl >"$log" 2>&1 ||
		! clang -g -O1 -std=gnu11 -D_GNU_SOURCE= -Isrc -Itests/unit -Ifuzz \
			-o "$dir/seed" "fuzz/fuzz_$name.c" fuzz/fuzz_main.c "${files[@]}" \
			-ldw -lelf -liberty -lzstd -lz -lm -ldl >>"$log" 2>&1 ||
		! "$dir/seed" --write "$dir/seeds" -n 0 >>"$log" 2>&1; then
		echo "FAIL" >>"$log"
		return
	fi
	if "$dir/fuzz" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=25 \
		-max_len=65536 -print_final_stats=1 -verbosity=0 -artifact_prefix="$dir/" \
		"$dir/new" "$dir/seeds" "fuzz/corpus/$name" >>"$log" 2>&1; then
		echo "ok" >>"$log"
	else
		echo "FAIL" >>"$log"
	fi
}

failed=0
for name in "${names[@]}"; do
	if [ ! -e "fuzz/fuzz_$name.c" ]; then
		echo "tools/fuzz.sh: no fuzz/fuzz_$name.c" >&2
		exit 2
	fi
	one "$name" &
	while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do
		wait -n
	done
done
wait
for name in "${names[@]}"; do
	word=$(tail -n 1 "build-fuzz/$name.log")
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$name.log")
	echo "$word $name: ${runs:-no} inputs in $seconds s"
	if [ "$word" != ok ]; then
		failed=$((failed + 1))
		tail -n 40 "build-fuzz/$name.log" | sed 's/^/      | /'
	fi
done
echo "$((${#names[@]} - failed)) passed, $failed failed"
[ $failed -eq 0 ]
