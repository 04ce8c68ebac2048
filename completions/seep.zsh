#compdef seep
# SPDX-License-Identifier: MIT
# Completion for zsh: install it as _seep in a folder of $fpath. Commands and options are
# what `seep help --all` and `seep COMMAND --help` list.

# Each as `name:description`.
_seep_commands() {
	seep help --all 2>/dev/null | sed -n 's/^  \([a-z][a-z._-]*\) \+/\1:/p'
}
_seep_options() {
	seep $1 --help 2>/dev/null | awk '
		function flush(i) { for (i = 0; i < n; i++) print names[i] ":" text; n = 0 }
		/^ +-/ {
			flush(); sub(/^ +/, ""); at = match($0, /  +/)
			text = at ? substr($0, at + RLENGTH) : ""
			if (at) $0 = substr($0, 1, at - 1)
			while (match($0, /--[a-z][a-z0-9_-]*/)) {
				names[n++] = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
			}
			next
		}
		n && text == "" { sub(/^ +/, ""); text = $0 }
		END { flush() }'
}

_seep() {
	local -a found
	if (( CURRENT == 2 )) || [[ $words[2] == help ]]; then
		found=(${(f)"$(_seep_commands)"} 'help:explain a command')
		_describe -t commands command found
		return
	fi
	if [[ $PREFIX == -* ]]; then
		found=(${(f)"$(_seep_options $words[2])"})
		_describe -o -t options option found
		return
	fi
	case $words[2] in
	run|valgrind|massif|heaptrack|dhat) _alternative 'commands:program:_command_names -e' 'files:file:_files' ;;
	attach|detach|watch|why|mark|pause|resume|doctor) _pids ;;
	report|leaks|diff|convert|scan|dump|top) _alternative 'files:file:_files' 'processes:process:_pids' ;;
	*) _files ;;
	esac
}

# Sourced, it only defines the functions; autoloaded, it completes.
[[ $zsh_eval_context[-1] == file ]] || _seep "$@"
