# SPDX-License-Identifier: MIT
# Completion for bash: source it, or install it as $bashcompdir/seep. Commands and options
# are what `seep help --all` and `seep COMMAND --help` list.

# For each option of command $2 a line: its name, a tab, and the argument it takes.
_seep_options() {
	"$1" "$2" --help 2>/dev/null | awk '/^ +-/ {
		sub(/^ +/, ""); sub(/  .*/, ""); n = 0
		while (match($0, /--[a-z][a-z0-9_-]*/)) {
			names[n++] = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH)
		}
		sub(/^ /, "")
		for (i = 0; i < n; i++) print names[i] "\t" $0
	}'
}

# Adds what compgen says.
_seep_reply() {
	local found
	mapfile -t found < <(compgen "$@")
	COMPREPLY+=("${found[@]}")
}

# Processes that we may look into, recorded or not.
_seep_processes() {
	local dir
	for dir in /proc/[0-9]*; do
		[ ! -r "$dir/smaps" ] || _seep_reply -W "${dir#/proc/}" -- "$cur"
	done
}

# The last recording, and what is being recorded.
_seep_targets() {
	_seep_reply -W "@last $("$1" ps --json 2>/dev/null |
		grep -o '"pid":[0-9]*\|"name":"[^"\\]*"' | sed 's/.*://; s/"//g')" -- "$cur"
}

# The value of option $prev, which takes $1. Fails where we know nothing of it.
_seep_value() {
	case $prev in
	-t | --to)
		_seep_reply -W 'pprof proto heap folded speedscope csv massif dot json rec' -- "$cur"
		return
		;;
	--sample-index)
		_seep_reply -W 'live peak allocated temporary live-objects peak-objects
			allocated-objects temporary-objects' -- "$cur"
		return
		;;
	esac
	case $1 in
	DIR) _seep_reply -d -- "$cur" ;;
	FILE | PROGRAM | BASE) _seep_reply -f -- "$cur" ;;
	KINDS) _seep_reply -W 'definite indirect possible reachable all none' -- "$cur" ;;
	[a-z]*'|'*) _seep_reply -W "${1//|/ }" -- "$cur" ;;
	*) return 1 ;;
	esac
}

_seep() {
	local cur prev cmd i name takes options=()
	declare -A takes_of=()
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	cmd=${COMP_WORDS[1]}
	COMPREPLY=()

	if [ "$COMP_CWORD" -eq 1 ] || { [ "$cmd" = help ] && [ "$COMP_CWORD" -eq 2 ]; }; then
		_seep_reply -W "$("$1" help --all 2>/dev/null | awk '/^  [a-z]/ { print $1 }')
			help --version --help" -- "$cur"
		return
	fi
	while IFS=$'\t' read -r name takes; do
		takes_of[$name]=$takes
		[[ $cmd != valgrind && $cmd != massif ]] || [ -z "$takes" ] || name+="="
		options+=("$name")
	done < <(_seep_options "$1" "$cmd")
	case $prev in
	-o) prev=--output ;;
	-t) prev=--to ;;
	esac
	if [[ $prev == --* ]] && _seep_value "${takes_of[$prev]:-}"; then
		return
	fi
	case $cmd in
	run | valgrind | massif | heaptrack | dhat)
		# The first word that is not an option is the program; from there on its
		# own completion applies.
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--)
				((i++))
				break
				;;
			-o) ((i++)) ;;
			--*)
				takes=${takes_of[${COMP_WORDS[i]}]:-}
				[ -z "$takes" ] || [[ $takes == '['* ]] || ((i++))
				;;
			-*) ;;
			*) break ;;
			esac
		done
		if [ "$i" -lt "$COMP_CWORD" ] && declare -F _command_offset >/dev/null; then
			_command_offset "$i"
			return
		fi
		;;
	esac
	if [[ $cur == -* ]]; then
		_seep_reply -W "${options[*]} --help" -- "$cur"
		return
	fi
	case $cmd in
	run | valgrind | massif | heaptrack | dhat) _seep_reply -c -f -- "$cur" ;;
	attach | watch | why) _seep_processes ;;
	scan | top)
		_seep_processes
		_seep_reply -f -- "$cur"
		;;
	dump)
		if [ "$COMP_CWORD" -eq 2 ]; then
			_seep_processes
			_seep_reply -f -- "$cur"
		else
			_seep_reply -W 'heap stack' -- "$cur"
		fi
		;;
	detach | mark | pause | resume | doctor) [ "$COMP_CWORD" -gt 2 ] || _seep_targets "$1" ;;
	report | leaks | diff | convert)
		_seep_targets "$1"
		_seep_reply -f -- "$cur"
		;;
	ps | memleak) ;;
	*) _seep_reply -f -- "$cur" ;;
	esac
}

complete -F _seep -o filenames seep
