#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC2016 # jq has variables of its own
# The report shows the program's own line, however many frames of a language's library are
# between it and malloc; --all and --no-skip show them all, JSON says which are folded.
# Goldens: cxx.txt (the run, 80 columns, views), all.txt (--all), bare.txt (stripped,
# --debuginfod), rust.txt.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
need_command jq

prog=$(program user_line)
cd "$TMP" || exit
cp "$prog" ./user_line
show "$SEEP" run -o a.rec ./user_line
expect_eq "C++: exit status" "$status" 0
expect_no_match "C++: no library frame" "$err" 'std::[a-zA-Z_]+.* +[a-z_]+\.h:[0-9]+|libstdc\+\+'
expect_match "C++: the cycle's line" "$err" '^    cycle +user_line\.cpp:19 +auto a = std::make_shared<node>'
expect_match "C++: its caller" "$err" '^    main +user_line\.cpp:45$'
expect_match "C++: in a thread" "$err" '^    work +user_line\.cpp:35 +auto \*v = new std::vector<std::string>'
expect_match "C++: said" "$err" '^    \([0-9]+ library frames folded, --all shows them\)$'

# What depends on the machine's C++ library: its own blocks (72,704 bytes here), and how
# many frames it has.
library=('s/[0-9]+ library frames/N library frames/; s/[0-9,]+ bytes · peak [0-9.]+ KiB/N bytes · peak SIZE/'
	's/^( +)71\.0 KiB +92 %/\1SIZE N %/; s/std(::__cxx11)?::basic_string<char, std::char_traits<char>, std::allocator<char> *>/std::string/g'
	's/(libstdc\+\+\.so\.6)\+0x[0-9a-f]+/\1+0xN/; s/^( +)0x[0-9a-f]+ in libstdc/\10xN in libstdc/; s/(stl|shared|std|invoke|basic|vector)[a-z_]*\.(h|tcc):[0-9]+/\1….\2/')

# What would be freed with them ranks the sites; what is only lost through others has no
# row.
expect_eq "roots" "$(sed -nE 's/^ ([0-9])  +(.* through it) .*/\1 \2/p' <<<"$err")" '1 48 B + 3.00 KiB through it
2 792 B + 792 B through it
3 24 B + 1.15 KiB through it'
expect_match "summary counts them" "$err" '^definitely lost 864 B in 13 blocks · indirectly lost 4\.93 KiB in 59 blocks · '
expect_match "sites are those of roots" "$err" '^LEAK.* 5\.77 KiB in 72 blocks lost at 3 sites, 13 times'
run "$SEEP" report --json "$TMP/a.rec"
expect_json "sites: as many in JSON" "$TMP/out" '.summary.left_places' 3
cat >"$TMP/deep.c" <<'END'
#include <stdlib.h>
static void down(int n) { if (n > 0) { down(n - 1); return; } char *volatile p = malloc(1000); (void)p; }
int main(void) { for (int i = 20; i < 30; i++) down(i); return 0; }
END
"${CC:-gcc}" -O0 -g -o "$TMP/deep" "$TMP/deep.c" || exit
run "$SEEP" run --json --log-file "$TMP/deep.json" -o "$TMP/deep.rec" "$TMP/deep"
expect_json "ten stacks, one site" "$TMP/deep.json" '[.summary.left_places, (.sites | length)]' '[1,10]'
run "$SEEP" report "$TMP/deep.rec"
expect_match "ten stacks, one site: in the text" "$out" '^LEAK \(minor\)  9\.77 KiB in 10 blocks lost at 1 site, 10 times'
run "$SEEP" run --no-save --leak-kinds=definite,indirect -- "$prog"
expect_match "asked for" "$err" '^    fill +user_line\.cpp:29 +\(\*m\)\[i\] = std::string'

# At 80 columns no line is longer, and source lines are there.
show env COLUMNS=80 "$SEEP" report a.rec
expect_eq "80 columns" "$(grep -E '.{81}' <<<"$out")" ''
expect_match "80 columns: source" "$out" '^    cycle +user_line\.cpp:19 +auto a = std::make_shared<node>'
run "$SEEP" report "$TMP/a.rec"
expect_match "a pipe has no width" "$out" '^definitely lost .{80}'
run env COLUMNS=80 "$SEEP" report --sites --no-skip "$TMP/a.rec"
expect_eq "80 columns: long names" "$(grep -E '.{81}' <<<"$out")" ''

run env COLUMNS=80 "$SEEP" diff "$TMP/a.rec" "$TMP/a.rec"
expect_eq "80 columns: diff" "$(grep -E '.{81}' <<<"$out")" ''
sleep 60 &
run env COLUMNS=80 "$SEEP" leaks $!
kill $!
expect_eq "80 columns: leaks of a process" "$(grep -E '.{81}' <<<"$out")" ''

show "$SEEP" report --sizes a.rec
expect_match "sizes: heading" "$out" '^ +bytes   share  size of a block$'
expect_match "sizes: range" "$out" '^ +711 B +0\.9 %  33–64 B '
show "$SEEP" report --lifetimes a.rec
expect_match "lifetimes: heading" "$out" '^ +blocks   share  lived for$'
show "$SEEP" report --threads a.rec
expect_match "threads: heading" "$out" '^ +bytes   share  thread$'
expect_shown "C++: all of it" user_line/cxx.txt "${library[@]}" '/[0-9]–N s/d' # how long the thread's state lived differs

show "$SEEP" leaks --all a.rec
expect_shown "--all: all of it" user_line/all.txt "${library[@]}"
expect_match "--all: library frames" "$out" '^    std::make_shared<node> +shared_ptr\.h:'
expect_match "--all: a function pointer keeps its type" "$out" 'std::__invoke<void \(\*\)\(int\), int>'
expect_no_match "--all: nothing folded" "$out" 'folded'
run "$SEEP" report --no-skip "$TMP/a.rec"
expect_no_match "--no-skip: nothing folded" "$out" 'folded'

run "$SEEP" report --json "$TMP/a.rec"
# The innermost frame that is neither left out nor folded, of every site with something
# lost.
expect_eq "JSON: own frames" "$(jq -r '.frames as $f | .sites[] | select(.leaks != null and .leaks.definite_blocks + .leaks.indirect_blocks > 0)
	| [.stack[.shown_from:.shown_from + .shown] as $s | .folded as $g | .shown_from as $from
	   | range(0; $s | length) | select(. + $from | IN($g[]) | not) | $s[.]][0] | $f[.].function' <<<"$out" | sort | uniq -c | tr -s ' \n' ' ')" \
	' 2 cycle 2 fill 1 main 3 work '
expect_eq "JSON: all frames are there" "$(jq '[.frames[] | select(.function != null and (.function | startswith("std::make_shared")))] | length > 0' <<<"$out")" true

# Why a module has no lines is said once, however many of its frames are shown.
strip -o "$TMP/bare" "$prog"
show "$SEEP" run -o b.rec ./bare
expect_match "stripped: its frames are shown" "$err" '^    0x[0-9a-f]+ and [0-9]+ callers in bare$'
expect_eq "stripped: said once" "$(grep -c 'stripped; install its debug symbols' <<<"$err")" 1
show env -u DEBUGINFOD_URLS "$SEEP" run --debuginfod -o d.rec ./bare
expect_eq "run --debuginfod: status" "$status" 0
expect_eq "run --debuginfod: said once" "$(grep -c 'debuginfod has no servers: set DEBUGINFOD_URLS' <<<"$err")" 1

expect_shown "stripped: all of it" user_line/bare.txt "${library[@]}" 's/0x[0-9a-f]+( and [0-9]+ callers)? in bare/0xN\1 in bare/; s/[0-9]+ callers/N callers/'
have rustc || exit 0
rustc -g -o "$TMP/user_line_rs" "$ROOT/tests/programs/user_line.rs" 2>"$TMP/rustc" || { cat "$TMP/rustc"; fail "rustc"; exit 1; }
show "$SEEP" run -o r.rec ./user_line_rs
# What Rust's own library keeps differs from version to version.
expect_shown "Rust: all of it" user_line/rust.txt "${library[@]}" 's/[0-9,]+ allocs, [0-9,]+ frees/N allocs, N frees/' \
	's/still reachable [^·]*·/still reachable SIZE ·/; s/temporary [0-9.]+ %/temporary N %/; /at the peak|most alloc/d'
expect_match "Rust: the cycle's line" "$err" '^    user_line::cycle +user_line\.rs:13 +let a = Rc::new\(Node'
expect_match "Rust: its caller" "$err" '^    user_line::main +user_line\.rs:26$'
expect_match "Rust: a vector" "$err" '^    user_line::forget +user_line\.rs:20 +let v: Vec<String>'
expect_no_match "Rust: no library frame" "$err" '^    <?(core|alloc|std)::|__rust_|^    main +\+0x'
