#!/bin/bash
# SPDX-License-Identifier: MIT
# A program may replace some forms of operator new and delete: the C++ library's others
# call these. All combinations, with a header in front of blocks and without, use the heap
# rightly, and each block is counted once.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
cd "$TMP" || exit

source=$ROOT/tests/programs/cxx_some.cpp
flags=(-std=c++17 -fsized-deallocation -O1 -w)
build_one() {
	local words=$1 macros=()
	read -ra macros <<<"${words//+/ -D}"
	"${CXX:-g++}" "${flags[@]}" "-D${macros[0]}" "${macros[@]:1}" -c -o "$words.o" "$source"
}
pids=()
for group in MAIN ONLY_NEW ONLY_DELETE {PLAIN,ARRAY,NOTHROW,SIZED,ALIGNED}{,+HEADER}; do
	build_one "$group" &
	pids+=($!)
	[ ${#pids[@]} -lt 2 ] || { wait "${pids[0]}" || exit; pids=("${pids[@]:1}"); }
done
wait "${pids[@]}" || exit

# one GROUP...: what seep says about the program of these, in a line.
one() {
	local prog=p.${1// /.} objects=() group log alone
	for group in $1; do
		objects+=("$group.o")
	done
	"${CXX:-g++}" -o "$prog" MAIN.o "${objects[@]}" || return
	alone=$("./$prog")
	log=$("$SEEP" run --keep-going --no-save -- "./$prog" 2>&1)
	# 18 ways to get a block and to give it back, 23 times each
	case $log in
	"$alone"$'\n''OK  no leak: '*' allocs, 414 frees; '*' exact, nothing missed '*) echo "right" ;;
	*) printf '%s: %s\n' "$1" "$log" ;;
	esac
	rm "$prog"
}
export -f one
export SEEP

# Forms that only give back what another form has put behind a header need that one. The
# long run has all of them, the short one those in which nothrow and sized forms are both
# replaced, or neither.
combinations() {
	local plain array nothrow sized aligned
	for array in '' ARRAY; do
		for nothrow in '' NOTHROW; do
			for sized in '' SIZED; do
				[ -n "$SOAK" ] || [ "${nothrow:+x}" = "${sized:+x}" ] || continue
				for aligned in '' ALIGNED; do
					for plain in '' PLAIN ONLY_NEW ONLY_DELETE; do
						echo $plain $array $nothrow $sized $aligned
					done
					for plain in '' PLAIN; do
						for _ in $plain $array $aligned; do
							echo $plain $array $nothrow $sized $aligned |
								sed 's/[A-Z]*/&+HEADER/g'
							break
						done
					done
				done
			done
		done
	done
}
combinations >list
wanted=46
[ -z "$SOAK" ] || wanted=92
expect_eq "combinations" "$(wc -l <list)" $wanted
xargs -a list -d '\n' -P 2 -I{} bash -c 'one "{}"' >said 2>&1
expect_eq "programs that seep finds right" "$(grep -cx right said)" $wanted
expect_eq "what it says of the others" "$(grep -vx right said)" ""

# What is wrong for certain is found all the same: a block that is given back twice, by
# forms that are the library's.
cat >twice.cpp <<'EOF'
#include <cstdlib>
#include <new>
void *operator new(size_t n) { return malloc(n); }
void operator delete(void *p) noexcept { free(p); }
int main()
{
	char *p = new char[41];
	__asm__ volatile("" : "+r"(p) : : "memory");
	delete[] p;
	__asm__ volatile("" : "+r"(p) : : "memory");
	delete[] p;
	return 0;
}
EOF
"${CXX:-g++}" "${flags[@]}" -g -o twice twice.cpp || exit
run "$SEEP" run --keep-going --no-save -- ./twice
expect_match "given back twice" "$err" '^WRONG  1 wrong use of the heap'
expect_match "given back twice: what" "$err" ' 1  (free|operator delete).* again|freed|twice'
