# SPDX-License-Identifier: MIT
# Completion for fish: install it in a folder of $fish_complete_path. Commands and options
# are what `seep help --all` and `seep COMMAND --help` list.

function __seep_commands
    seep help --all 2>/dev/null | string replace -rf '^  ([a-z][a-z._-]*) +' '$1\t'
    printf 'help\texplain a command\n'
end

# Names and descriptions of the options of the command on the line.
function __seep_options
    set -l words (commandline -opc)
    seep $words[2] --help 2>/dev/null | awk '
        function flush(i) { for (i = 0; i < n; i++) print names[i] "\t" text; n = 0 }
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
end

complete -c seep -n __fish_use_subcommand -f -a '(__seep_commands)'
complete -c seep -n 'not __fish_use_subcommand' -a '(__seep_options)'
complete -c seep -n '__fish_seen_subcommand_from attach detach watch why mark pause resume doctor' \
    -f -a '(__fish_complete_pids)'
complete -c seep -n '__fish_seen_subcommand_from help' -f -a '(__seep_commands)'
