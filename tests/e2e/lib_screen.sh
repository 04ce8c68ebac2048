# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What the tests of seep top share: a terminal to look at (tmux), with a shell in it.

# begin_screen WIDTH HEIGHT: false where tmux does not run. It ends with the test.
begin_screen() {
	have tmux || return 1
	[ -n "$(find_library libncursesw.so.6)" ] || { left_out "no libncursesw here"; return 1; }
	trap 'tm kill-server 2>/dev/null; lib_end' EXIT
	# A copy of a shell without anybody's settings, whose terminal is as it was made.
	tm -f /dev/null new-session -d -x "$1" -y "$2" 'exec bash --norc -i' 2>tmux.err && return
	left_out "tmux does not run here: $(cat tmux.err)"
	return 1
}
tm() { tmux -L "seep$$" "$@"; }

# keys KEY...: as tmux names them; a text is typed.
keys() { tm send-keys "$@"; }
screen() { tm capture-pane -p; }
shows() { screen | grep -qE -e "$1"; }

# awaits WHAT REGEX: the screen has such a line, soon.
awaits() { if wait_for 20 shows "$2"; then pass; else fail "$1" "no line: $2" "$(screen)"; fi; }
