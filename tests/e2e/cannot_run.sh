#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that cannot be recorded or cannot run are not started; one line says why and
# what helps. The status is a shell's where a shell has one.
. "$(dirname "$0")/lib.sh"
need_seep
need_libseep
cd "$TMP" || exit
cat >said.c <<'END'
#include <stdio.h>
int main(void) { puts("started"); return 31; }
END
${CC:-gcc} -o said said.c || exit

# cannot STATUS REGEX PROGRAM
cannot() {
	run "$SEEP" run -o never.rec -- "$3"
	expect_match "$3: status" "$status" "^($1)\$"
	expect_eq "$3: not started" "$out" ""
	expect_eq "$3: one line" "$(wc -l <"$TMP/err")" 1
	expect_match "$3: why" "$err" "^seep: $2"
	expect_eq "$3: no recording" "$(ls never.rec 2>/dev/null)" ""
}

expect_status 31 "$SEEP" run -o said.rec -- ./said
expect_eq "control: runs" "$out" started
cannot 127 'no-such-program: not found in PATH' no-such-program
cannot 127 '\./no-such-program: no such file' ./no-such-program
cp said not_executable
chmod -x not_executable
cannot 126 '\./not_executable: Permission denied; to make it executable: chmod \+x \./not_executable$' ./not_executable
cannot 127 'said: not found in PATH; the one in this folder is \./said$' said
mkdir folder
cannot 126 '\./folder: Is a directory' ./folder
printf '#!/no/such/interpreter\necho started\n' >script
printf '#!\necho started\n' >no_interpreter
printf 'garbage\0\1\2\n' >garbage
head -c 100 said >cut_off
chmod +x script no_interpreter garbage cut_off
cannot '126|127' '\./script: its interpreter /no/such/interpreter: No such file' ./script
cannot 126 '\./no_interpreter: #! without an interpreter' ./no_interpreter
cannot 126 '\./garbage: neither a program nor a script' ./garbage
cannot 126 '\./cut_off: .*is cut off' ./cut_off
cannot 126 '/dev/null: ' /dev/null
cannot 127 '.*not found' ''
if ${CC:-gcc} -static -o static said.c 2>/dev/null; then
	strip static
	cannot 3 '\./static: not started: .*no malloc was found' ./static
fi
echo 'void _start(void) { for (;;) ; }' >bare.c
if ${CC:-gcc} -m32 -nostdlib -o bits32 bare.c 2>/dev/null; then
	cannot 3 '\./bits32: a 32-bit program; .*build it without -m32' ./bits32
fi
if ${CC:-gcc} -fsanitize=address -o sanitized said.c 2>/dev/null; then
	cannot 3 '\./sanitized: built with a sanitizer.*; build it without' ./sanitized
fi
if is_root "a setuid program"; then
	cp said setuid
	chown 65534 setuid
	chmod u+s setuid
	cannot 3 '\./setuid: setuid.*; run a copy without' ./setuid
fi
# A script of a program that cannot be recorded names both.
if [ -e static ]; then
	printf '#!%s/static\n' "$TMP" >by_static
	chmod +x by_static
	cannot 3 '\./by_static: not started: .*no malloc was found' ./by_static
fi
expect_eq "nothing of ours stays" "$(find . -path ./state -prune -o \( -name 'seep.*' -o -name '*.live' \) -print)" ""
