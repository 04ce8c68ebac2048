#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: git, with its children, on a scratch repository of 29
# commits.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command git

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=$TMP
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@d
export GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'
git -c init.defaultBranch=main init -q "$TMP/repo"
for ((i = 1; i <= 29; i++)); do
	seq $i $((i * 37)) >"$TMP/repo/file$((i % 7))"
	git -C "$TMP/repo" add . && git -C "$TMP/repo" commit -q -m "commit $i"
done
# Every run has its own copy to change.
real_setup() { cp -r "$TMP/repo" r; }
# shellcheck disable=SC2034 # of lib_real.sh
real_sed="s,$TMP/in,HERE,g; s/in [0-9.]+ seconds/in S seconds/"

real_same log -- git -C r log --stat -p
real_estimate log
real_same clone -- git clone -q --no-local r copy
real_same gc -- git -C r gc --aggressive --quiet --prune=now
real_same fsck -- git -C r fsck --full --no-progress
real_same grep -- git -C r grep --threads=2 -c '7$'
# shellcheck disable=SC2016 # expanded by the shell under test
real_same work -- sh -c 'cd r && git checkout -q -b topic HEAD~7 && echo x >x && git add x &&
	git commit -q -m x && git rebase -q main && git merge -q --no-ff -m m HEAD~3; git stash list;
	git log --oneline | head -n 3; git repack -adq --threads=2 && git count-objects -v | grep -v size'
