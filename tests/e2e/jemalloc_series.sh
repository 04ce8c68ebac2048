#!/bin/bash
# SPDX-License-Identifier: MIT
# Series of profiles: each so many bytes, each new high, on demand from a script; the same
# names and about as many as Debian's jemalloc writes.
. "$(dirname "$0")/lib.sh"
. "$ROOT/tests/e2e/lib_jemalloc.sh"
need_libseep
need_command jeprof
prog=$(program jem_grow) || exit

# many LIBRARY CONF TIMES: how many files, sorted; the names of each run go to $TMP/names.
many() {
	local i
	for ((i = 0; i < $3; i++)); do
		profiled "$1" "$2" "$prog"
		dumps >>"$TMP/names"
		echo >>"$TMP/names"
		count_dumps
	done | sort -n | tr '\n' ' '
}
# odd_names KIND: the runs in $TMP/names whose files are not KIND0, KIND1 ... without a
# gap.
odd_names() {
	awk -v kind="$1" '{
		for (i = 1; i <= NF; i++)
			found[$i]
		for (i = 0; i < NF; i++)
			bad += !(("jeprof.PID." i "." kind i ".heap") in found)
		delete found
		runs++
	} END { print runs, bad + 0 }' "$TMP/names"
}
# middle NUMBERS...
middle() {
	local half=$((($# + 1) / 2))
	echo "${!half}"
}

# ---- exact figures ----

profiled "$LIBSEEP" prof:true,lg_prof_interval:20,lg_prof_sample:5 "$prog"
expect_eq "each MiB: names" "$status $err $(dumps)" \
	"0  jeprof.PID.0.i0.heap jeprof.PID.1.i1.heap jeprof.PID.2.i2.heap jeprof.PID.3.i3.heap"
profiled "$LIBSEEP" prof:true,prof_prefix:jeprof.out,lg_prof_interval:20,lg_prof_sample:0,prof_final:true "$prog"
expect_eq "each MiB and the end" "$(find "$DUMPS" -name '*.heap' -printf '%f\n' | sort | sed -E 's/\.[0-9]+\.([0-9]+)/.PID.\1/' | tr '\n' ' ')" \
	"jeprof.out.PID.0.i0.heap jeprof.out.PID.1.i1.heap jeprof.out.PID.2.i2.heap jeprof.out.PID.3.i3.heap jeprof.out.PID.4.f.heap "
expect_eq "first MiB" "$(total '*.i0.heap')" "1024: 1048576 [0: 0]"
expect_eq "third MiB" "$(total '*.i2.heap')" "3072: 3145728 [0: 0]"
expect_eq "the end" "$(total '*.f.heap')" "4096: 4194304 [0: 0]"
expect_eq "growth between two of them" "$(cd "$DUMPS" && jeprof --text --show_bytes "$prog" \
	--base="$(echo ./*.i0.heap)" ./*.i2.heap 2>/dev/null)" \
"Total: 2097152 B
 2097152 100.0% 100.0%  2097152 100.0% main"
# Sampled: the estimate is that of jeprof's formula.
profiled "$LIBSEEP" prof:true,lg_prof_sample:9,prof_final:true "$prog"
expect_between "an estimate" "$(text '*.f.heap' | awk 'NR == 1 { print $2 }')" 3900000 4500000
expect_match "its period" "$(head -n 1 "$DUMPS"/*.f.heap)" '^heap_v2/512$'

profiled "$LIBSEEP" prof:true,prof_gdump:true,lg_prof_sample:0 "$prog"
expect_eq "each new high of a heap with a page for each block" "$(count_dumps)" 4099
expect_eq "the last of them" "$(total '*.4098.u4098.heap')" "4096: 4194304 [0: 0]"
# Ours: no more than so many, spread over the whole run.
for most in 2 7 100; do
	profiled "$LIBSEEP" prof:true,prof_gdump:true,lg_prof_sample:0,prof_max_dumps:$most "$prog"
	expect_between "at most $most" "$(count_dumps)" $((most / 2)) "$most"
	expect_eq "at most $most: the first stays" "$(total '*.0.u0.heap')" "1: 1024 [0: 0]"
done
highs=$(for file in "$DUMPS"/*.heap; do sed -n 's/^  t\*: \([0-9]*\): .*/\1/p;2q' "$file"; done | sort -n)
expect_between "thinned: the last of 100" "$(tail -n 1 <<<"$highs")" 4000 4096
expect_between "thinned: the middle of 100" "$(awk '{ n[NR] = $1 } END { print n[int(NR / 2)] }' <<<"$highs")" 1800 2200

profiled "$LIBSEEP" prof:true,lg_prof_interval:20,lg_prof_sample:0,prof_active:false "$prog"
expect_eq "not active: none by itself" "$(dumps)" ""

# ---- beside the real one ----

if [ -n "$JEMALLOC" ]; then
	# How many is chance at the default rate; how they are called is not.
	for conf in prof:true,lg_prof_interval:20 prof:true,prof_gdump:true; do
		kind=i
		[ "${conf##*,}" = prof_gdump:true ] && kind=u
		: >"$TMP/names"
		read -r -a real <<<"$(many "$JEMALLOC" $conf 10)"
		read -r -a mine <<<"$(many "$LIBSEEP" $conf 10)"
		# A thousand files are as many as a thousand and ten: the range, and a
		# hundredth.
		expect_between "$conf: as many as jemalloc's ${real[*]}, ours ${mine[*]}" \
			"$(middle "${mine[@]}")" $((real[0] - real[0] / 100)) $((real[9] + real[9] / 100))
		expect_eq "$conf: runs of both, names out of order" "$(odd_names $kind)" "20 0"
	done
	profiled "$JEMALLOC" prof:true,prof_gdump:true,lg_prof_sample:0 "$prog"
	expect_eq "each block: jemalloc's own number" "$(count_dumps)" 4099
else
	left_out "no libjemalloc.so.2 here"
fi

# ---- from a script ----

if have luajit; then
	cat >"$TMP/dump.lua" <<'END'
local ffi = require "ffi"
local C = ffi.C
ffi.cdef[[
  int mallctl(	const char *name,
	void *oldp,
	size_t *oldlenp,
	void *newp,
	size_t newlen);
]]
print(C.mallctl("prof.dump", NULL, NULL, NULL, 0))
print(C.mallctl("prof.dump", NULL, NULL, NULL, 0))
END
	profiled "$LIBSEEP" prof:true,lg_prof_sample:0 luajit "$TMP/dump.lua"
	expect_eq "LuaJIT: both written" "$status $out $(dumps)" \
		"0 0
0 jeprof.PID.0.m0.heap jeprof.PID.1.m1.heap"
	profiled "$LIBSEEP" "" luajit "$TMP/dump.lua"
	expect_eq "LuaJIT: profiling is off" "$status $out $(dumps)" "0 2
2 "
fi
