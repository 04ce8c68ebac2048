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

# Processes that we may look into, recorded or not.
_seep_processes() {
	local dir
	for dir in /proc/[0-9]*; do
		[ ! -r "$dir/smaps" ] || _seep_reply -W "${dir#/proc/}" -- "$cur"
	done
}

_seep() {
	local cur prev cmd i
	cur=${COMP_WORDS[COMP_CWORD]}
	prev=${COMP_WORDS[COMP_CWORD - 1]}
	cmd=${COMP_WORDS[1]}
	COMPREPLY=()

	if [ "$COMP_CWORD" -eq 1 ]; then
		_seep_reply -W \
			'run attach detach report peak churn lifetimes timeline leaks scan diff watch why dump convert ps mark pause resume doctor jeprof google-pprof pprof memleak mtrace flamegraph.pl valgrind help --version --help' -- "$cur"
		return
	fi
	case $prev in
	-o | --output | --log-file | --metrics | --save | --since | --xml-file | --suppressions | --baseline | --junit | --sarif)
		_seep_reply -f -- "$cur"
		return
		;;
	--dir)
		_seep_reply -d -- "$cur"
		return
		;;
	-t | --to)
		_seep_reply -W 'pprof proto heap folded speedscope csv dot json rec' -- "$cur"
		return
		;;
	--sample-index)
		_seep_reply -W 'live peak allocated temporary live-objects peak-objects
			allocated-objects temporary-objects' -- "$cur"
		return
		;;
	--exe | --base | --diff_base | --svg | --pdf | --ps | --png | --gif | --flame | --html)
		_seep_reply -f -- "$cur"
		return
		;;
	--leak-kinds | --show-leak-kinds | --errors-for-leak-kinds)
		_seep_reply -W 'definite indirect possible reachable all none' -- "$cur"
		return
		;;
	--format)
		_seep_reply -W 'seep memcheck lsan' -- "$cur"
		return
		;;
	--leak-check)
		_seep_reply -W 'no summary full' -- "$cur"
		return
		;;
	--leak-resolution)
		_seep_reply -W 'low med high' -- "$cur"
		return
		;;
	--gen-suppressions)
		_seep_reply -W 'no yes all' -- "$cur"
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
			-o | --output | --dir | --log-file | --process | --checkpoint | --every | --max-size --max-unpacked | --format | --leak-kinds | --error-exitcode | \
				--show-leak-kinds | --errors-for-leak-kinds | --leak-check | --leak-resolution | \
				--num-callers | --suppressions | --gen-suppressions | --fail-on | --baseline | \
				--xml-file | --junit | --sarif | --quarantine | --guard)
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
				--format --xml --xml-file --leak-check --leak-kinds --show-leak-kinds
				--errors-for-leak-kinds --error-exitcode --leak-resolution --num-callers
				--suppressions --gen-suppressions --verbose --fail-on --baseline --junit --sarif --github
				--no-leak-check --no-save
				--process --checkpoint --every --max-size --no-children --mmap
				--keep-going --free-stacks --redzone --quarantine
				--guard --check-copy --no-names --debuginfod --help' -- "$cur"
		else
			_seep_reply -c -f -- "$cur"
		fi
		;;
	attach)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--for --budget --sample --exact --every --count --around --stay --children
				--cgroup --dry-run --output --html --log-file --json --max-size
				--max-stop --no-names --help' -- "$cur"
		else
			_seep_processes
		fi
		;;
	detach)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--output --json --max-stop --quiet --help' -- "$cur"
		else
			_seep_reply -W "$(_seep_pids)" -- "$cur"
		fi
		;;
	memleak)
		_seep_reply -W '--pid --command --show-allocs --older --top --min-size --max-size
			--sample-rate --sort --obj --symbols-prefix --combined-only
			--wa-missing-free --trace --percpu --help' -- "$cur"
		;;
	valgrind)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--tool= --log-file= --leak-check= --show-leak-kinds=
				--errors-for-leak-kinds= --show-reachable= --show-possibly-lost=
				--leak-resolution= --num-callers= --error-exitcode= --suppressions=
				--gen-suppressions= --xml= --xml-file= --redzone-size= --freelist-vol= --trace-children=
				--child-silent-after-fork= --quiet --verbose --show-error-list= --help' -- "$cur"
		else
			_seep_reply -c -f -- "$cur"
		fi
		;;
	leaks)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--format --xml --xml-file --leak-check --leak-kinds --show-leak-kinds
				--errors-for-leak-kinds --error-exitcode --leak-resolution --num-callers
				--suppressions --gen-suppressions --verbose --fail-on --baseline --junit --sarif --github
				--log-file --json --bytes --all --new --increased --changed
				--way --max-stop --dry-run --who --blocks --show-content --help' -- "$cur"
		else
			_seep_reply -W "@last $(_seep_pids)" -- "$cur"
			_seep_reply -f -- "$cur"
		fi
		;;
	scan)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--save --since --who --blocks --show-content --rows --all --bytes
				--json --no-pager --help' -- "$cur"
		else
			_seep_processes
			_seep_reply -f -- "$cur"
		fi
		;;
	report)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--top --sites --tree --bottom-up --peek --list --traces
				--tags --threads --sizes --lifetimes --timeline --peak --churn --graph --svg --pdf --ps --png --gif
				--flame --html --functions --filefunctions --lines --files
				--modules --addresses --no-inlines --sample-index --objects
				--cum --relative --focus --ignore --hide --show --show-from
				--prune-from --tagfocus --tagignore --tagshow --taghide --tagroot --tagleaf
				--thread --size --age --nodecount --nodefraction
				--edgefraction --bytes --by --rows --all --process
				--skip --no-skip --debug-dir --sysroot --exe --debuginfod
				--no-cache --save --since --share --json --no-pager --help' -- "$cur"
		else
			_seep_reply -W "@last $(_seep_pids)" -- "$cur"
			_seep_reply -f -- "$cur"
		fi
		;;
	diff)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--base --diff_base --normalize --flame --html --by --rows --all --bytes
				--process --skip --no-skip --debug-dir --sysroot --exe
				--debuginfod --no-cache --json --no-pager --help' -- "$cur"
		else
			_seep_reply -W "@last $(_seep_pids)" -- "$cur"
			_seep_reply -f -- "$cur"
		fi
		;;
	convert)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--to --sample-index --no-skip --no-names --all --exe
				--debug-dir --sysroot --debuginfod --no-cache
				--help' -- "$cur"
		else
			_seep_reply -W "@last $(_seep_pids)" -- "$cur"
			_seep_reply -f -- "$cur"
		fi
		;;
	jeprof | google-pprof)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--text --collapsed --list --dot --svg --pdf --ps --gif
				--callgrind --raw --symbols --interactive --functions --lines
				--files --addresses --inuse_space --inuse_objects
				--alloc_space --alloc_objects --show_bytes --drop_negative
				--base --cum --nodecount --nodefraction --edgefraction
				--maxdegree --focus --ignore --retain --exclude --thread
				--heapcheck --stacks --show_addresses --lib_prefix
				--debug-syms-by-id --disasm --evince --gv --web --help
				--version' -- "$cur"
		else
			_seep_reply -f -- "$cur"
		fi
		;;
	flamegraph.pl)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--title --subtitle --width --height --minwidth --fonttype
				--fontsize --countname --nametype --colors --bgcolors --hash
				--cp --reverse --inverted --flamechart --negate --notes
				--factor --total --help' -- "$cur"
		else
			_seep_reply -f -- "$cur"
		fi
		;;
	pprof)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--top --text --tree --peek --list --traces --tags --comments
				--raw --proto --callgrind --dot --svg --png --gif --pdf --ps
				--output --functions --filefunctions --files --lines
				--addresses --noinlines --sample_index --inuse_space
				--inuse_objects --alloc_space --alloc_objects --focus --ignore
				--hide --show --show_from --prune_from --tagfocus --tagignore
				--tagshow --taghide --tagroot --tagleaf --cum --nodecount --nodefraction
				--edgefraction --trim --base --diff_base --normalize
				--drop_negative --relative_percentages --unit --divide_by
				--compact_labels --all_frames --seconds --http --no_browser --help --version' -- "$cur"
		else
			_seep_reply -f -- "$cur"
		fi
		;;
	watch)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--every --count --for --cold --on-growth --at --metrics
				--rows --all --json --help' -- "$cur"
		else
			_seep_processes
		fi
		;;
	why)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--for --all --json --help' -- "$cur"
		else
			_seep_processes
		fi
		;;
	dump)
		if [[ $cur == -* ]]; then
			_seep_reply -W '--output --strings --hex --show-content --least --rows
				--json --help' -- "$cur"
		elif [ "$COMP_CWORD" -eq 2 ]; then
			_seep_processes
			_seep_reply -f -- "$cur"
		else
			_seep_reply -W 'heap stack' -- "$cur"
		fi
		;;
	ps) _seep_reply -W '--json --save --output --discard --help' -- "$cur" ;;
	mark | pause | resume | doctor)
		[ "$COMP_CWORD" -gt 2 ] ||
			_seep_reply -W "--help $(_seep_pids)" -- "$cur"
		;;
	help)
		_seep_reply -W '--all run attach detach report leaks scan diff watch why dump convert ps mark pause resume doctor jeprof pprof memleak mtrace flamegraph.pl valgrind' -- "$cur"
		;;
	esac
}

complete -F _seep -o filenames seep
