# fish completion of memoir, printed by: memoir completion fish
function __memoir_option
    printf 'heap=%s\tsample the heap: keep a record of one block in every heap.rate bytes\n' on off
    printf 'heap.rate=\tbytes allocated between two samples, on average; 0 records every block\n'
    printf 'return.delay=\thow long free memory is kept before it goes back to the kernel\n'
    printf 'thp=%s\ttransparent huge pages for the heap: off, on, or auto (not while the heap is small)\n' off on auto
    printf 'numa.nodes=\thow many memory nodes are kept apart; 0 keeps all of the machine'\''s\n'
    printf 'cache=\tcap on the free blocks that one thread keeps for itself\n'
    printf 'stats=%s\tprint the allocator'\''s accounting on standard error when the program ends\n' on off
    printf 'control=%s\tanswer to memoir ctl and memoir ps\n' on off
    printf 'conf=\tone more file of options, read right after /etc/memoir.conf\n'
    printf 'verbose=%s\tprint every option and its value on standard error when the program starts\n' on off
end

complete -c memoir -f
complete -c memoir -n __fish_use_subcommand -a run -d 'run a program under memoir'
complete -c memoir -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c memoir -n __fish_use_subcommand -a ctl -d 'control memoir in a running process'
complete -c memoir -n '__fish_seen_subcommand_from ctl' -a 'start stop rate dump snapshot stats show set facts'
complete -c memoir -n __fish_use_subcommand -a ps -d 'list the processes that run with memoir'
complete -c memoir -n __fish_use_subcommand -a options -d 'describe the options of the library'
complete -c memoir -n __fish_use_subcommand -a help -d 'explain a command, or list all of them'
complete -c memoir -n '__fish_seen_subcommand_from help' -a 'run ctl ps options help version completion man'
complete -c memoir -n __fish_use_subcommand -a version -d 'print the version'
complete -c memoir -n __fish_use_subcommand -a completion -d 'print the completion script of a shell'
complete -c memoir -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c memoir -n __fish_use_subcommand -a man -d 'print the manual page memoir(1), in roff'
complete -c memoir -n '__fish_seen_subcommand_from run' -l lib -d 'use this libmemoir.so' -r -F
complete -c memoir -n '__fish_seen_subcommand_from run' -l set -d 'set an option (memoir options lists them); may be repeated' -x -a '(__memoir_option)'
complete -c memoir -n '__fish_seen_subcommand_from ps' -l all -d 'as root, ask the processes of other users as well'
complete -c memoir -n '__fish_seen_subcommand_from ps' -l json -d 'as JSON, schema memoir.ps/1'
complete -c memoir -n '__fish_seen_subcommand_from options' -l markdown -d 'as Markdown'
complete -c memoir -n '__fish_seen_subcommand_from options' -l man -d 'as the manual page memoir.conf(5), in roff'
complete -c memoir -n '__fish_seen_subcommand_from options' -l json -d 'as JSON, schema memoir.options/1'
complete -c memoir -n '__fish_seen_subcommand_from version' -l json -d 'as JSON, schema memoir.version/1'
complete -c memoir -l color -d 'colours; auto is on a terminal, unless NO_COLOR is set' -x -a 'auto always never'
complete -c memoir -l quiet -d 'no warnings and no advice, errors only'
complete -c memoir -l help -d 'explain the command'
