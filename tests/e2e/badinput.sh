#!/bin/bash
# SPDX-License-Identifier: MIT
# What is not a recording, or no longer one, gives one clear line and status 3, or what
# could be read and a count of what could not. Wrong words on the command line give one
# line and status 2.
. "$(dirname "$0")/lib.sh"
# timeout: 300
need_seep
need_libseep
need_command python3 jq
${CC:-gcc} -g -o "$TMP/leaky" "$ROOT/examples/leaky.c" || exit
cd "$TMP" || exit
"$SEEP" run -o leaky.rec -- ./leaky 2>/dev/null
LD_PRELOAD=$LIBSEEP SEEP=mode=exact,dir=$TMP ./leaky
mv ./*.live whole.live
size=$((256 * 1024 + 64 * 1024 * $(od -An -tu4 -j456 -N4 whole.live)))
head -c $size whole.live >leaky.live # without the sparse end

# refused WHAT REGEX COMMAND…: status 3, nothing on stdout, one line on stderr.
refused() {
	local what=$1 regex=$2
	shift 2
	run timeout 10 "$@"
	expect_eq "$what: status" "$status" 3
	expect_eq "$what: nothing on stdout" "$out" ""
	expect_eq "$what: one line" "$(wc -l <"$TMP/err")" 1
	expect_match "$what: says why" "$err" "$regex"
}

: >empty
echo 'not a recording' >text
gzip -c text >text.gz
mkfifo fifo
mkdir folder
refused "empty" '^seep: \./empty: empty file$' "$SEEP" report ./empty
refused "text" '^seep: \./text: unknown file format' "$SEEP" report ./text
refused "text: quoted" ' \(begins with "not a recording"\);' "$SEEP" report ./text
printf 'v 10400 3\nx 6 ./a.out\nX ./cfg\nI 1000 5e2991\n' >heaptrack
refused "heaptrack, raw" ": a raw file of heaptrack .* heaptrack_interpret .* seep report x\.gz\$" "$SEEP" report ./heaptrack
printf 'v 10500 4\nX ./cfg\n' >heaptrack
refused "heaptrack, later" ": a file of heaptrack of version 4, seep reads 1 to 3; use: heaptrack_print FILE\$" "$SEEP" report ./heaptrack
printf 'desc: --massif-out-file=massif.out\ncmd: ./cfg\ntime_unit: i\n#-----------\nsnapshot=0\n' >massif
refused "massif" '^seep: \./massif: massif file: no snapshot in 5 lines can be read$' "$SEEP" report ./massif
printf 'desc: x\ncmd: ./cfg\nsnapshot=0\n' >massif
refused "massif: line" '^seep: \./massif: massif file: line 3: want "time_unit:", found "snapshot=0"$' "$SEEP" report ./massif
printf '<?xml version="1.0"?>\n\n<valgrindoutput>\n' >valgrind.xml
refused "valgrind's XML" ": valgrind's XML, .* seep run --xml PROGRAM\$" "$SEEP" report ./valgrind.xml
printf '==290== Memcheck, a memory error detector\n' >valgrind.log
refused "valgrind's log" ": a log of valgrind, .* seep run --format=memcheck PROGRAM\$" "$SEEP" report ./valgrind.log
refused "gzip" '^seep: \./text\.gz: unknown file format' "$SEEP" report ./text.gz
cp /bin/true elf # a copy: nobody runs it
refused "ELF" '^seep: \./elf is a program, and no process runs it; to record it: seep run \./elf$' "$SEEP" report ./elf
refused "folder" '^seep: \./folder: is a directory$' "$SEEP" report ./folder
refused "folder by name" '^seep: folder: neither a recording nor a process$' "$SEEP" report folder
refused "/dev/null" '^seep: /dev/null: ' "$SEEP" report /dev/null
refused "fifo" '^seep: \./fifo: ' "$SEEP" report ./fifo
refused "nothing there" '^seep: \./missing: cannot open: No such file' "$SEEP" report ./missing
refused "no such process" '^seep: .*99999999' "$SEEP" report 99999999
refused "no such mark" '^seep: no mark @nowhere' "$SEEP" report ./leaky.rec@nowhere
refused "no such process inside" '^seep: no process nobody' "$SEEP" report --process nobody ./leaky.rec
refused "not recorded process" '^seep: .*not recorded' "$SEEP" report --tree $$
refused "pause of a stranger" '^seep: ' "$SEEP" pause $$
refused "mark of a stranger" '^seep: ' "$SEEP" mark $$ here
for kind in rec live; do # an older and a later version
	cp leaky.$kind older.$kind
	printf '\x01' | dd of=older.$kind bs=1 seek=8 conv=notrunc status=none
	refused "older $kind" 'older\.'$kind': recording of version 1, this seep reads [0-9]+: use an older seep$' "$SEEP" report ./older.$kind
	cp leaky.$kind later.$kind
	printf '\x63' | dd of=later.$kind bs=1 seek=8 conv=notrunc status=none
	refused "later $kind" 'version 99.*(newer|this seep reads)' "$SEEP" report ./later.$kind
done

# Cut anywhere, or with one bit turned: see the sentences below.
cat >spoil.py <<'END'
import random, subprocess, sys
seep, path, cuts, flips = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
random.seed(7919)
whole = open(path, "rb").read()
full = subprocess.run([seep, "report", "--json", path], capture_output=True).stdout
used = [i for i, byte in enumerate(whole) if byte]

def judge(what, data):
    spoiled = "./spoiled" + path[path.rindex("."):]
    open(spoiled, "wb").write(data)
    for form in [["--json"], []]:
        try:
            r = subprocess.run([seep, "report", *form, spoiled], capture_output=True, timeout=20)
        except subprocess.TimeoutExpired:
            return print(what, "hangs")
        lines = r.stderr.count(b"\n")
        if r.returncode == 3 and (lines != 1 or r.stdout):
            print(what, "is refused with", lines, "lines and", len(r.stdout), "bytes on stdout")
        elif r.returncode == 0 and lines:
            print(what, "is read, but with a message:", r.stderr)
        elif r.returncode not in (0, 3):
            print(what, "ends with status", r.returncode, r.stderr[:200])
        # A packed recording has checksums: nothing that was changed is taken for true.
        elif r.returncode == 0 and form and path.endswith(".rec") and b'"damage":[]' in r.stdout:
            print(what, "is read as if it were whole")
        elif r.returncode == 0 and not form and path.endswith(".rec") and b"damaged file" not in r.stdout:
            print(what, "is reported without a word about the damage")
    return None

for n in range(cuts):
    at = random.randrange(len(whole)) if n else len(whole) - 1
    judge(f"{path} cut at {at}", whole[:at])
for n in range(flips):
    at, bit = random.choice(used), random.randrange(8)
    judge(f"{path} with bit {bit} of byte {at} turned",
          whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1:])
END
for file in ./leaky.rec ./leaky.live; do
	expect_eq "$file spoiled" "$(python3 spoil.py "$SEEP" $file "$(times 25 300)" "$(times 50 1000)")" ""
done

# ---- usage ----
usage() {
	run "$SEEP" "$@"
	expect_eq "$*: status" "$status" 2
	expect_eq "$*: one line" "$(wc -l <"$TMP/err")" 1
	expect_eq "$*: nothing on stdout" "$out" ""
	expect_match "$*: names us" "$err" '^seep( [a-z]+)?: .*(see: seep|seep [a-z]+ --help|did you mean)'
}
usage nonsense
usage --nonsense
usage help nonsense
usage report --nonsense leaky.rec
usage report --by nonsense leaky.rec
usage report --by
usage report -n x leaky.rec
usage report -n -1 leaky.rec
usage report -n
usage report --top=yes leaky.rec
usage report --tree --traces leaky.rec
usage report --sites --tree leaky.rec
usage report --top --by peak --lines leaky.rec
usage report --lines --files leaky.rec
usage report --focus '(' leaky.rec
usage report --peek '[' leaky.rec
usage report --tagfocus 'kind=*' leaky.rec
usage report --size 64K:1K leaky.rec
usage report --age soon leaky.rec
usage report --sample-index nonsense leaky.rec
usage report --nodefraction 2 leaky.rec
usage run
usage run --
usage run --nonsense -- ./leaky
usage run --sample=x -- ./leaky
usage run --sample=0 -- ./leaky
usage run --sample=2G -- ./leaky
usage run --exact --sample -- ./leaky
usage run --max-size -- ./leaky
usage run --max-size 12Q -- ./leaky
usage run --max-size=-1 -- ./leaky
usage run --max-size=0 -- ./leaky
usage run --checkpoint soon -- ./leaky
usage run --json=x -- ./leaky
usage run -o a.rec --dir . -- ./leaky
usage run -o
usage mark
usage pause
usage resume
usage pause 1 2
usage doctor 1 2
usage ps 1
usage watch
usage watch --nonsense 999999999
usage watch 999999999 --every soon
usage watch --at much 999999999
usage watch --on-growth 0 true 999999999
usage watch 999999999 --on-growth 5M
usage top
usage top 1 2
usage top --sort much 999999999
usage top --sort since 999999999
usage top --every 1ms 999999999
usage top --json 999999999
usage top -n 5 999999999
usage top ''
usage why
usage why --for soon 999999999
usage dump
usage dump no-such-file
usage dump --strings --hex 999999999 heap

# ---- more than there is room for ----

# Two GiB in two MB: members of zeros behind a head that a reader knows, so that it reads
# on.
{ printf 'heap_v2/1\n  t*: 1: 8 [0: 0]\n' | gzip; head -c 256M /dev/zero | gzip -1 >zeros.gz; for _ in $(seq 8); do cat zeros.gz; done; } >bomb.gz
limited() {
	run bash -c 'ulimit -v 1048576; exec timeout 60 "$@"' - "$SEEP" "$@"
	expect_eq "$1: status" "$status" 3
	expect_eq "$1: one line" "$(wc -l <"$TMP/err")" 1
}
limited report bomb.gz
expect_match "no memory: said" "$err" '^seep: bomb\.gz: not enough memory: more than [0-9]+ MiB unpacked; see --max-unpacked$'
limited report --max-unpacked 64M bomb.gz
expect_match "too large: said" "$err" '^seep: bomb\.gz: [0-9]+ compressed bytes unpack to more than 64 MiB: refused \(--max-unpacked\)$'
limited report zeros.gz
expect_match "zeros: said" "$err" '^seep: zeros\.gz: unknown file format \(begins with( 00){8}\); man seep-report lists the known ones$'

# shellcheck disable=SC2016 # the inner shell's
run timeout 20 bash -c 'cat /dev/zero | "$1" report -' - "$SEEP"
expect_eq "zeros without end: status" "$status" 3
expect_match "zeros without end: said" "$err" '^seep: standard input: unknown file format'

# ---- surroundings that lack something ----

for words in "run -- true" "report bad.heap" "attach $$" "leaks $$" "why $$"; do
	# shellcheck disable=SC2086 # words
	run bash -c 'ulimit -n 8; exec "$@"' - "$SEEP" $words
	expect_eq "ulimit -n 8: ${words%% *}: status" "$status" 3
	expect_eq "ulimit -n 8: ${words%% *}" "$err" \
		"seep ${words%% *}: only 8 files may be open at once, and 16 are needed; try: ulimit -n 1024"
done
# shellcheck disable=SC2016 # the inner shell's
no_proc='umount -l /proc && exec "$@"'
if unshare -m bash -c "$no_proc" - true 2>/dev/null; then
	for words in "run -- true" ps "attach $$" "why $$" "mark $$"; do
		# shellcheck disable=SC2086 # words
		run unshare -m bash -c "$no_proc" - "$SEEP" $words
		expect_eq "without /proc: ${words%% *}: status" "$status" 3
		expect_eq "without /proc: ${words%% *}" "$err" "seep ${words%% *}: /proc is not mounted: processes cannot be seen"
	done
	run unshare -m bash -c "$no_proc" - "$SEEP" leaks $$
	expect_eq "without /proc: leaks" "$err" "seep: $$: no such process (/proc is not mounted: processes cannot be seen)"
	run unshare -m sh -c "$no_proc" - "$SEEP" doctor
	expect_eq "without /proc: doctor: status" "$status" 3
	expect_match "without /proc: doctor" "$out" '^BAD +/proc +not mounted: processes cannot be seen'
	expect_no_match "without /proc: doctor does not look for libseep.so" "$out" 'libseep'
else
	left_out "no mount namespaces here"
fi
