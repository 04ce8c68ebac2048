# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For tests of gperftools' profiler: what a folder of profiles holds, in a form to
# compare.

TCMALLOC=$(find_library libtcmalloc.so.4)

# heaps FOLDER: the names in it, process numbers replaced, one a line.
heaps() {
	find "$1" -name '*.heap' -printf '%f\n' | sed 's/_[0-9][0-9]*/_PID/g' | LC_ALL=C sort
}

# header FILE: blocks and bytes in use and allocated, from its first line.
header() { sed -n '1s/heap profile: *\([0-9]*\): *\([0-9]*\) \[ *\([0-9]*\): *\([0-9]*\)\] @ heapprofile$/\1 \2 \3 \4/p' "$1"; }

# buckets FILE: the same of each stack, without addresses, in the file's order.
buckets() {
	sed -n '2,/^$/s/^ *\(-*[0-9]*\): *\([0-9]*\) \[ *\([0-9]*\): *\([0-9]*\)\] @.*/\1 \2 \3 \4/p' "$1"
}

# profiled LIBRARY FOLDER COMMAND...: HEAPPROFILE=FOLDER/x with LIBRARY preloaded; stderr
# of it, without the folder's name and process numbers, goes to FOLDER/messages.
profiled() {
	local library=$1 folder=$2
	shift 2
	rm -rf "$folder"
	mkdir -p "$folder"
	env HEAPPROFILE="$folder/x" LD_PRELOAD="$library" "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
	# shellcheck disable=SC2034 # for the test
	status=$?
	sed "s,$folder/,,g; s/_[0-9][0-9]*/_PID/g" "$folder/stderr" >"$folder/messages"
}

# pprof_total FILE PROGRAM [OPTIONS...]: bytes that google-pprof counts.
pprof_total() {
	local file=$1 program=$2
	shift 2
	google-pprof --text --show_bytes "$@" "$program" "$file" 2>/dev/null | sed -n 's/^Total: \(-*[0-9]*\) B$/\1/p'
}
