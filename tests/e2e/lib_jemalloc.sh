# shellcheck shell=bash
# shellcheck disable=SC2034 # names for the tests
# SPDX-License-Identifier: MIT
# For tests of the drop-in for jemalloc's profiler: programs run in a folder of their own.
JEMALLOC=$(find_library libjemalloc.so.2)
DUMPS=$TMP/dumps
mkdir -p "$DUMPS"

# profiled LIBRARY CONF COMMAND...: as `run`, in $DUMPS, which is emptied first.
profiled() {
	local library=$1 conf=$2
	shift 2
	rm -rf "${DUMPS:?}"/*
	run in_dumps "$library" "$conf" "$@"
}
in_dumps() {
	local library=$1 conf=$2
	shift 2
	cd "$DUMPS" && LD_PRELOAD=$library MALLOC_CONF=$conf exec "$@"
}
# In a child, which may be replaced by exec.
run() {
	("$@") >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	out=$(tr -d '\0' <"$TMP/out")
	err=$(tr -d '\0' <"$TMP/err")
}

# dumps: names of what was written, in order, the process's number as PID.
dumps() {
	find "$DUMPS" -type f -name '*.heap' -printf '%f\n' | sort -t. -k3,3n |
		sed -E 's/\.[0-9]+\.([0-9]+\.)/.PID.\1/' | tr '\n' ' ' | sed 's/ $//'
}
count_dumps() { find "$DUMPS" -type f -name '*.heap' | wc -l; }

# total GLOB: the line of all threads and stacks of a profile in $DUMPS.
total() {
	local file
	file=$(find "$DUMPS" -type f -name "$1" | sort | head -n 1)
	sed -n 's/^  t\*: //p;2q' "$file" | head -n 1
}

# text OPTION... FILE-GLOB: what Debian's jeprof makes of a profile of $prog, names and
# bytes.
text() {
	local glob=${*: -1}
	set -- "${@:1:$#-1}"
	# shellcheck disable=SC2086,SC2154 # the glob is meant as one; $prog is the test's
	(cd "$DUMPS" && jeprof --text --show_bytes "$@" "$prog" $glob 2>/dev/null)
}
