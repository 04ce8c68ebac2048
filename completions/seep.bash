# SPDX-License-Identifier: MIT
# Completion for bash: source it, or install it as $bashcompdir/seep.

_seep_pids() {
	seep ps --json 2>/dev/null |
		grep -o '"pid":[0-9]*\|"name":"[^"\\]*"' | sed 's/.*://; s/"//g'
}

# Adds what compgen says.
_seep_reply() {
	local found
	mapfile -t found < <(compgen "$@")
	COMPREPLY+=("${found[@]}")
}

_seep() {
	local cur prev cmd i
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	cmd=${COMP_WORDS[1]}
	COMPREPLY=()

	if [ "$COMP_CWORD" -eq 1 ]; then
		_seep_reply -W \
			'run report ps mark pause resume doctor help --version --help' -- "$cur"
		return
	fi
	case $prev in
	-o | --output | --log-file)
		_seep_reply -f -- "$cur"
		return
		;;
	--dir)
		_seep_reply -d -- "$cur"
		return
		;;
	--by)
		_seep_reply -W 'live peak count allocated temporary' -- "$cur"
		return
		;;
	esac
	case $cmd in
	run)
		# The first word that is no option is the program; from there on its own
		# completion applies.
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--)
				((i++))
				break
				;;
			-o | --output | --dir | --log-file | --process | --checkpoint | --max-size)
				((i++))
				;;
			-*) ;;
			*) break ;;
			esac
		done
		if [ "$i" -lt "$COMP_CWORD" ] && declare -F _command_offset >/dev/null; then
			_command_offset "$i"
			return
		fi
		if [[ $cur == -* ]]; then
			_seep_reply -W '--exact --sample --output --dir --log-file --json
				--process --checkpoint --max-size --no-children --mmap
				--no-names --help' -- "$cur"
		else
			_seep_reply -c -f -- "$cur"
		fi
		;;
	report)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--top --bytes --by --rows --all --process
				--skip --no-skip --json --help' -- "$cur"
		else
			_seep_reply -W "@last $(_seep_pids)" -- "$cur"
			_seep_reply -f -X '!*.rec' -- "$cur"
		fi
		;;
	ps) _seep_reply -W '--json --help' -- "$cur" ;;
	mark | pause | resume | doctor)
		[ "$COMP_CWORD" -gt 2 ] ||
			_seep_reply -W "--help $(_seep_pids)" -- "$cur"
		;;
	help)
		_seep_reply -W 'run report ps mark pause resume doctor' -- "$cur"
		;;
	esac
}

complete -F _seep -o filenames seep
