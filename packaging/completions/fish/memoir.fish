# fish completion of memoir, printed by: memoir completion fish
function __memoir_option
    printf 'heap=%s\tsample the heap: keep a record of one block in every heap.rate bytes\n' on off
    printf 'heap.rate=\tbytes allocated between two samples, on average; 0 records every block\n'
    printf 'heap.pace=\tsamples that a thread may take in a second before it takes fewer; 0: any number\n'
    printf 'heap.depth=\tframes of a stack that are kept, counted from the one that allocates\n'
    printf 'heap.memory=\tlimit of the memory for stacks and their counts\n'
    printf 'cpu=%s\tsample where the program spends CPU time, from its start\n' on off
    printf 'cpu.clock=%s\ttime that the profile counts: CPU time, or all time, waiting included\n' cpu wall
    printf 'cpu.rate=\tsamples for each second of a thread'\''s CPU time\n'
    printf 'locks=%s\tcount where threads wait for mutexes, rwlocks and condition variables, and how long\n' on off
    printf 'dump.prefix=\twhere dumps go and how their names begin; the program'\''s name here if empty\n'
    printf 'dump.format=%s\tthe format of dumps\n' memoir pprof jemalloc gperftools
    printf 'dump.every=\ta dump each time N more bytes have been allocated; 0: none\n'
    printf 'dump.freed=\ta dump each time N more bytes have been freed; 0: none\n'
    printf 'dump.growth=\ta dump each time the live heap is N bytes above its size at the last such dump; 0: none\n'
    printf 'dump.peak=\ta dump at every new maximum of the live heap, in steps of at least N bytes; 0: none\n'
    printf 'dump.interval=\ta dump each time this much time has passed\n'
    printf 'dump.above=\ta dump when the live heap grows beyond N bytes; 0: none\n'
    printf 'dump.above_percent=\tthe same in percent of the process'\''s memory limit; 0: none\n'
    printf 'dump.failure=%s\ta dump when an allocation fails, the first time\n' on off
    printf 'dump.signal=\ta dump on each signal of this number; 0: none\n'
    printf 'dump.exit=%s\ta dump when the program ends\n' on off
    printf 'dump.time=%s\tthe time in the names of jemalloc'\''s and gperftools'\'' dumps, PREFIX.20261115-145918.PID...\n' on off
    printf 'dump.keep=\tnumber of dumps of a process that are kept: older ones are removed; 0 keeps all\n'
    printf 'dump.keep_bytes=\tthe same by their total size; the last one is always kept; 0 keeps all\n'
    printf 'capture=\tone file with the profile of the whole run, snapshot after snapshot; none if empty\n'
    printf 'capture.replace=%s\ta capture of an earlier run is replaced; off: the new one has another name\n' on off
    printf 'capture.interval=\thow often the capture gets a snapshot\n'
    printf 'capture.size=\thow long the capture may become; 0: 4 MiB, or 16 snapshots if that is more\n'
    printf 'capture.signals=%s\tthe capture gets its last snapshot also when SIGINT, SIGTERM or SIGHUP ends the program\n' on off
    printf 'leak.at_exit=%s\tat the end of the program, look for blocks that nothing points to any more\n' on off
    printf 'leak.lsan=%s\tat the end of the program, look for lost blocks and report them as LeakSanitizer does\n' on off
    printf 'leak.mappings=%s\ta pointer in memory that the program mapped by itself keeps a block from being lost\n' on off
    printf 'leak.tags=%s\tbits of a pointer to a block that the program uses for something else\n' auto off high low all
    printf 'guard=%s\tblocks between pages that can'\''t be touched: overflows and uses after free stop the program\n' off sampled full
    printf 'harden=%s\tblocks that resist misuse: wiped, checked, in random places, and not reused soon\n' on off
    printf 'guard.rate=\twith guard sampled: one in this many sampled blocks is guarded\n'
    printf 'guard.action=%s\tafter a report: the program'\''s own handler or death by its signal, abort, or nothing\n' report abort ignore
    printf 'guard.tight=%s\tthe last byte of a guarded block is next to the guard page, whatever its alignment\n' on off
    printf 'guard.front=%s\ta guarded block begins at a guard page instead of ending at one\n' on off
    printf 'guard.memory=\tcap on the memory of guarded blocks\n'
    printf 'guard.quarantine=\taddresses of freed guarded blocks that are not reused\n'
    printf 'guard.file=\thow the names of report files begin; memoir-guard in the current folder if empty\n'
    printf 'guard.suppress=\terrors with these functions or files in their stacks are not reported\n'
    printf 'guard.stacks=%s\treports on standard error have the stacks; off: only if no report file could be made\n' on off
    printf 'guard.readable=%s\treads after a guarded block are allowed and return zeros; writes are reported\n' on off
    printf 'debug=%s\tcheck every block as gperftools'\'' debug allocator does\n' on off
    printf 'debug.queue=\twith debug: bytes of freed blocks that wait to be reused, 32,768 blocks at most\n'
    printf 'debug.reclaim=%s\twith debug: memory of freed blocks is reused\n' on off
    printf 'debug.at_exit=%s\twith debug: check blocks that were never freed, when the program ends\n' on off
    printf 'debug.names=%s\twith debug: functions in reports, from the symbol tables of the program and its libraries\n' on off
    printf 'recorder=\ta file that has the recording at every moment, however the program ends; none if empty\n'
    printf 'recorder.end=%s\ta recorder file in /dev/shm for a program that is to write a profile at its end\n' on off
    printf 'recorder.memory=\tcap on the size of the recorder'\''s file\n'
    printf 'recorder.run=%s\tno message if a process may not write its capture; set by memoir run\n' on off
    printf 'return.delay=\thow long free memory is kept before it goes back to the kernel\n'
    printf 'limit=\tbytes that the heap may take from the kernel; beyond them malloc returns NULL; 0: any\n'
    printf 'thp=%s\ttransparent huge pages for the heap: off, on, or auto (not while the heap is small)\n' off on auto
    printf 'numa.nodes=\tnumber of memory nodes that are kept apart; 0: all of the machine\n'
    printf 'cache=\tlimit of the free blocks that one thread keeps for itself\n'
    printf 'cache.total=\tthe same for all threads together, in equal parts; 0: no such limit\n'
    printf 'stats=%s\tprint the allocator'\''s accounting on standard error when the program ends\n' on off
    printf 'control=%s\tanswer to memoir ctl and memoir ps\n' on off
    printf 'conf=\tone more file of options, read right after /etc/memoir.conf\n'
    printf 'verbose=%s\tprint every option and its value on standard error when the program starts\n' on off
end

function __memoir_ctl
    set -l words (commandline -opc)
    switch (count $words)
    case 2
        __fish_complete_pids
    case 3
        printf '%s\n' start stop rate dump leaks record snapshot mark reset purge cpu locks stats show set version help
        __memoir_option
    case '*'
        switch $words[4]
        case dump
            __fish_complete_path (commandline -ct)
        case record
            test (count $words) -eq 4; and printf '%s\n' stop
            __fish_complete_path (commandline -ct)
        case cpu
            test (count $words) -eq 4; and printf '%s\n' start stop rate reset dump
        case locks
            test (count $words) -eq 4; and printf '%s\n' start stop reset
        case show
            printf '%s\n' heap heap.rate heap.pace heap.depth heap.memory cpu cpu.clock cpu.rate locks dump.prefix dump.format dump.every dump.freed dump.growth dump.peak dump.interval dump.above dump.above_percent dump.failure dump.signal dump.exit dump.time dump.keep dump.keep_bytes capture capture.replace capture.interval capture.size capture.signals leak.at_exit leak.lsan leak.mappings leak.tags guard harden guard.rate guard.action guard.tight guard.front guard.memory guard.quarantine guard.file guard.suppress guard.stacks guard.readable debug debug.queue debug.reclaim debug.at_exit debug.names recorder recorder.end recorder.memory recorder.run return.delay limit thp numa.nodes cache cache.total stats control conf verbose
        case set
            __memoir_option
        case '*=*'
            __memoir_option
        end
    end
end

complete -c memoir -f
complete -c memoir -n __fish_use_subcommand -a run -d 'run a program under memoir and summarize its use of memory'
complete -c memoir -n '__fish_seen_subcommand_from run' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c memoir -n __fish_use_subcommand -a guard -d 'reports about overflows, uses after free and wrong frees, with names and lines'
complete -c memoir -n '__fish_seen_subcommand_from guard' -F
complete -c memoir -n __fish_use_subcommand -a recover -d 'finish the recordings of programs that were left running or killed with memoir run'
complete -c memoir -n '__fish_seen_subcommand_from recover' -F
complete -c memoir -n __fish_use_subcommand -a top -d 'the sites with the most memory, one line each'
complete -c memoir -n '__fish_seen_subcommand_from top' -F
complete -c memoir -n __fish_use_subcommand -a report -d 'one-page summary: totals, heap over time, top allocation sites'
complete -c memoir -n '__fish_seen_subcommand_from report' -F
complete -c memoir -n __fish_use_subcommand -a tree -d 'the call tree, from the roots'
complete -c memoir -n '__fish_seen_subcommand_from tree' -F
complete -c memoir -n __fish_use_subcommand -a peek -d 'a function'\''s callers and callees'
complete -c memoir -n '__fish_seen_subcommand_from peek' -F
complete -c memoir -n __fish_use_subcommand -a list -d 'the source of a function, with numbers beside its lines'
complete -c memoir -n '__fish_seen_subcommand_from list' -F
complete -c memoir -n __fish_use_subcommand -a disasm -d 'the machine code of a function, with numbers beside its instructions'
complete -c memoir -n '__fish_seen_subcommand_from disasm' -F
complete -c memoir -n __fish_use_subcommand -a traces -d 'whole stacks with their values, the largest first'
complete -c memoir -n '__fish_seen_subcommand_from traces' -F
complete -c memoir -n __fish_use_subcommand -a peak -d 'like top, at the moment when the heap was largest'
complete -c memoir -n '__fish_seen_subcommand_from peak' -F
complete -c memoir -n __fish_use_subcommand -a export -d 'write a profile in another tool'\''s format, as a page or as a picture'
complete -c memoir -n '__fish_seen_subcommand_from export' -F
complete -c memoir -n __fish_use_subcommand -a merge -d 'add profiles up'
complete -c memoir -n '__fish_seen_subcommand_from merge' -F
complete -c memoir -n __fish_use_subcommand -a redact -d 'replace the names in a profile by hashes, before sharing it'
complete -c memoir -n '__fish_seen_subcommand_from redact' -F
complete -c memoir -n __fish_use_subcommand -a diff -d 'what changed from one profile to another'
complete -c memoir -n '__fish_seen_subcommand_from diff' -F
complete -c memoir -n __fish_use_subcommand -a leaks -d 'memory that was never freed, where it was allocated, and whether it grows'
complete -c memoir -n '__fish_seen_subcommand_from leaks' -F
complete -c memoir -n __fish_use_subcommand -a churn -d 'blocks that lived less than a millisecond, by site'
complete -c memoir -n '__fish_seen_subcommand_from churn' -F
complete -c memoir -n __fish_use_subcommand -a frag -d 'sites whose blocks keep nearly empty pages in memory'
complete -c memoir -n '__fish_seen_subcommand_from frag' -F
complete -c memoir -n __fish_use_subcommand -a sizes -d 'blocks by size, and the cost of rounding up'
complete -c memoir -n '__fish_seen_subcommand_from sizes' -F
complete -c memoir -n __fish_use_subcommand -a threads -d 'time and memory of each thread'
complete -c memoir -n '__fish_seen_subcommand_from threads' -F
complete -c memoir -n __fish_use_subcommand -a time -d 'memory over time, as a graph'
complete -c memoir -n '__fish_seen_subcommand_from time' -F
complete -c memoir -n __fish_use_subcommand -a check -d 'check limits on memory and time, for continuous integration'
complete -c memoir -n '__fish_seen_subcommand_from check' -F
complete -c memoir -n __fish_use_subcommand -a symbols -d 'how complete the names in a profile are, and how to complete them'
complete -c memoir -n '__fish_seen_subcommand_from symbols' -F
complete -c memoir -n __fish_use_subcommand -a shell -d 'ask many questions about one profile, which is loaded once'
complete -c memoir -n '__fish_seen_subcommand_from shell' -F
complete -c memoir -n __fish_use_subcommand -a doctor -d 'find out why data or names are missing'
complete -c memoir -n '__fish_seen_subcommand_from doctor' -F
complete -c memoir -n __fish_use_subcommand -a ctl -d 'control memoir in a running process'
complete -c memoir -n '__fish_seen_subcommand_from ctl' -a '(__memoir_ctl)'
complete -c memoir -n __fish_use_subcommand -a cpu -d 'sample the CPU time of a running process and show its functions'
complete -c memoir -n '__fish_seen_subcommand_from cpu' -a '(__fish_complete_pids)'
complete -c memoir -n __fish_use_subcommand -a stats -d 'show where the resident memory of a process is'
complete -c memoir -n '__fish_seen_subcommand_from stats' -a '(__fish_complete_pids)'
complete -c memoir -n __fish_use_subcommand -a ps -d 'list the processes that run with memoir'
complete -c memoir -n __fish_use_subcommand -a jeprof -d 'jemalloc'\''s jeprof: the same options, tables and shell'
complete -c memoir -n '__fish_seen_subcommand_from jeprof' -F
complete -c memoir -n __fish_use_subcommand -a google-pprof -d 'the pprof of gperftools: the same options, tables and shell'
complete -c memoir -n '__fish_seen_subcommand_from google-pprof' -F
complete -c memoir -n __fish_use_subcommand -a pprof -d 'pprof of gperftools or of Go, depending on its options'
complete -c memoir -n '__fish_seen_subcommand_from pprof' -F
complete -c memoir -n __fish_use_subcommand -a flamegraph.pl -d 'draw folded stacks, from FILE or standard input, as an SVG on standard output'
complete -c memoir -n '__fish_seen_subcommand_from flamegraph.pl' -F
complete -c memoir -n __fish_use_subcommand -a difffolded.pl -d 'join two files of folded stacks into one with both numbers, for flamegraph.pl'
complete -c memoir -n '__fish_seen_subcommand_from difffolded.pl' -F
complete -c memoir -n __fish_use_subcommand -a options -d 'describe the options of the library'
complete -c memoir -n __fish_use_subcommand -a help -d 'explain a command or topic, or list the most common commands'
complete -c memoir -n '__fish_seen_subcommand_from help' -a 'run guard recover top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor ctl cpu stats ps jeprof google-pprof pprof flamegraph.pl difffolded.pl options help version completion man blame filters formats metrics moments'
complete -c memoir -n __fish_use_subcommand -a version -d 'print the version'
complete -c memoir -n __fish_use_subcommand -a completion -d 'print the completion script of a shell'
complete -c memoir -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c memoir -n __fish_use_subcommand -a man -d 'print the manual page memoir(1), in roff'
complete -c memoir -n '__fish_seen_subcommand_from run' -l output -d 'keep the recording as this file, or in this folder' -r -F
complete -c memoir -n '__fish_seen_subcommand_from run' -l format -d 'keep the last profile only, in this format' -x -a 'memoir pprof jemalloc gperftools'
complete -c memoir -n '__fish_seen_subcommand_from run' -l rate -d 'mean bytes between two recorded blocks (512K); the option heap.rate' -x
complete -c memoir -n '__fish_seen_subcommand_from run' -l exact -d 'record every block'
complete -c memoir -n '__fish_seen_subcommand_from run' -l leaks -d 'record every block; at the end, find lost blocks: no pointer leads to them any more'
complete -c memoir -n '__fish_seen_subcommand_from run' -l suppressions -d 'with --leaks: leave out lost blocks matching a line of this file' -r -F
complete -c memoir -n '__fish_seen_subcommand_from run' -l error-exitcode -d 'with --leaks: the exit status if there are lost blocks, whatever the program'\''s is' -x
complete -c memoir -n '__fish_seen_subcommand_from run' -l guard -d 'guard every block: overflows and uses after free are reported; the option guard'
complete -c memoir -n '__fish_seen_subcommand_from run' -l debug -d 'check every block as gperftools'\'' debug allocator does: stomped words, writes after free, functions that do not fit; the option debug'
complete -c memoir -n '__fish_seen_subcommand_from run' -l every -d 'time between snapshots (10s); the option capture.interval' -x
complete -c memoir -n '__fish_seen_subcommand_from run' -l cpu -d 'also record CPU time; the option cpu'
complete -c memoir -n '__fish_seen_subcommand_from run' -l locks -d 'also count where threads wait for locks; the option locks'
complete -c memoir -n '__fish_seen_subcommand_from run' -l wall -d 'also record all time of threads, waiting included; the option cpu.clock'
complete -c memoir -n '__fish_seen_subcommand_from run' -l rate-hz -d 'samples for each second of CPU time (100), 1 to 10000; the option cpu.rate' -x
complete -c memoir -n '__fish_seen_subcommand_from run' -l rows -d 'rows of each list in the summary (-n); default 3' -x
complete -c memoir -n '__fish_seen_subcommand_from run' -l no-summary -d 'print nothing; without --output, record nothing either'
complete -c memoir -n '__fish_seen_subcommand_from run' -l detach -d 'return at once; memoir recover finishes the recording when the program has ended'
complete -c memoir -n '__fish_seen_subcommand_from run' -l lib -d 'use this libmemoir.so' -r -F
complete -c memoir -n '__fish_seen_subcommand_from run' -l set -d 'set an option, see memoir options; may be repeated' -x -a '(__memoir_option)'
complete -c memoir -n '__fish_seen_subcommand_from guard' -l json -d 'as JSON, schema memoir.guard.named/1'
complete -c memoir -n '__fish_seen_subcommand_from recover' -l output -d 'keep the recording as this file, or in this folder' -r -F
complete -c memoir -n '__fish_seen_subcommand_from recover' -l json -d 'as JSON, schema memoir.recover/1'
complete -c memoir -n '__fish_seen_subcommand_from recover' -l dry-run -d 'list what would be finished, and change nothing'
complete -c memoir -n '__fish_seen_subcommand_from list' -l asm -d 'add the machine code, as memoir disasm does'
complete -c memoir -n '__fish_seen_subcommand_from list' -l source-path -d 'folders with sources, separated by '\'':'\''' -r -F
complete -c memoir -n '__fish_seen_subcommand_from disasm' -l source-path -d 'folders with sources, separated by '\'':'\''' -r -F
complete -c memoir -n '__fish_seen_subcommand_from export' -l format -d 'the format, whatever the ending of FILE' -x -a 'pprof folded difffolded callgrind speedscope firefox perfetto pftrace dhat massif heaptrack gperftools symbolized contention csv'
complete -c memoir -n '__fish_seen_subcommand_from export' -l picture -d 'which picture, if the ending does not determine it' -x -a 'flame graph time sizes threads'
complete -c memoir -n '__fish_seen_subcommand_from export' -l inverted -d 'flame graphs: draw the roots at the top'
complete -c memoir -n '__fish_seen_subcommand_from export' -l reversed -d 'flame graphs: merge from the leaf, with callers above it'
complete -c memoir -n '__fish_seen_subcommand_from export' -l title -d 'title of the picture' -x
complete -c memoir -n '__fish_seen_subcommand_from export' -l width -d 'width of the picture in pixels' -x
complete -c memoir -n '__fish_seen_subcommand_from merge' -l format -d 'the format, whatever the ending of FILE' -x -a 'pprof folded difffolded callgrind speedscope firefox perfetto pftrace dhat massif heaptrack gperftools symbolized contention csv'
complete -c memoir -n '__fish_seen_subcommand_from redact' -l keep -d 'keep matching names, files and paths, and names in such files; may be repeated' -x
complete -c memoir -n '__fish_seen_subcommand_from redact' -l format -d 'the format, whatever the ending of FILE' -x -a 'pprof folded difffolded callgrind speedscope firefox perfetto pftrace dhat massif heaptrack gperftools symbolized contention csv'
complete -c memoir -n '__fish_seen_subcommand_from diff' -l normalize -d 'scale BEFORE to the size of AFTER, to compare shares only'
complete -c memoir -n '__fish_seen_subcommand_from diff' -l exit-code -d 'exit with status 1 if anything changed'
complete -c memoir -n '__fish_seen_subcommand_from leaks' -l rule -d 'which memory counts as a leak; default auto' -x -a 'auto lost exit growth'
complete -c memoir -n '__fish_seen_subcommand_from leaks' -l suppressions -d 'leave out leaks matching a line of this file' -r -F
complete -c memoir -n '__fish_seen_subcommand_from leaks' -l suppress -d 'print such lines for the leaks found'
complete -c memoir -n '__fish_seen_subcommand_from leaks' -l watch -d 'of a process: observe its writes for this long before the scan' -x
complete -c memoir -n '__fish_seen_subcommand_from leaks' -l dry-run -d 'of a process: do not scan it, only say how long its threads would stand still'
complete -c memoir -n '__fish_seen_subcommand_from check' -l max-peak -d 'live bytes at the peak' -x
complete -c memoir -n '__fish_seen_subcommand_from check' -l max-live -d 'live bytes at the end' -x
complete -c memoir -n '__fish_seen_subcommand_from check' -l max-allocs -d 'number of allocations, including each realloc' -x
complete -c memoir -n '__fish_seen_subcommand_from check' -l max-cpu -d 'CPU time in all, 1.5s or 200ms' -x
complete -c memoir -n '__fish_seen_subcommand_from check' -l max-growth -d 'growth against --base, for values without a limit; profiles of time: growth of the time' -x
complete -c memoir -n '__fish_seen_subcommand_from check' -l no-leaks -d 'fail if memoir leaks finds any'
complete -c memoir -n '__fish_seen_subcommand_from check' -l suppressions -d 'as in memoir leaks' -r -F
complete -c memoir -n '__fish_seen_subcommand_from check' -l budget -d 'file with limits by function, file or module, one per line' -r -F
complete -c memoir -n '__fish_seen_subcommand_from check' -l strict -d 'exit with status 1 if a limit can'\''t be decided'
complete -c memoir -n '__fish_seen_subcommand_from check' -l junit -d 'also write the results as JUnit XML to this file' -r -F
complete -c memoir -n '__fish_seen_subcommand_from check' -l github -d 'print GitHub annotations; append a Markdown table to $GITHUB_STEP_SUMMARY'
complete -c memoir -n '__fish_seen_subcommand_from symbols' -l embed -d 'write the profile with its names to --output, for pprof and memoir'
complete -c memoir -n '__fish_seen_subcommand_from doctor' -l system -d 'the kernel'\''s settings for huge pages and overcommit'
complete -c memoir -n '__fish_seen_subcommand_from ctl' -l format -d 'format of a dump; default by the ending of FILE: .memoir, .pb.gz or .heap' -x -a 'memoir pprof jemalloc gperftools'
complete -c memoir -n '__fish_seen_subcommand_from ctl' -l json -d 'as JSON, schema memoir.ctl/1'
complete -c memoir -n '__fish_seen_subcommand_from cpu' -l duration -d 'how long to sample (-d); default 10s' -x
complete -c memoir -n '__fish_seen_subcommand_from cpu' -l wall -d 'all time, waiting included, instead of CPU time'
complete -c memoir -n '__fish_seen_subcommand_from cpu' -l rate-hz -d 'samples for each second of CPU time, 1 to 10000; default 100' -x
complete -c memoir -n '__fish_seen_subcommand_from cpu' -l output -d 'the file (-o), which must not exist yet' -r -F
complete -c memoir -n '__fish_seen_subcommand_from cpu' -l rows -d 'functions in the list (-n)' -x
complete -c memoir -n '__fish_seen_subcommand_from stats' -l json -d 'as JSON, schema memoir.stats/1'
complete -c memoir -n '__fish_seen_subcommand_from stats' -l interval -d 'of a process: again each TIME, until it ends' -x
complete -c memoir -n '__fish_seen_subcommand_from stats' -l at -d 'captures: the moment: peak, end, a snapshot'\''s number, or a time' -x
complete -c memoir -n '__fish_seen_subcommand_from ps' -l all -d 'as root, also ask processes of other users (-a)'
complete -c memoir -n '__fish_seen_subcommand_from ps' -l json -d 'as JSON, schema memoir.ps/1'
complete -c memoir -n '__fish_seen_subcommand_from options' -l markdown -d 'as Markdown'
complete -c memoir -n '__fish_seen_subcommand_from options' -l man -d 'as the manual page memoir.conf(5), in roff'
complete -c memoir -n '__fish_seen_subcommand_from options' -l json -d 'as JSON, schema memoir.options/1'
complete -c memoir -n '__fish_seen_subcommand_from help' -l all -d 'list every command and topic (-a)'
complete -c memoir -n '__fish_seen_subcommand_from version' -l json -d 'as JSON, schema memoir.version/1'
complete -c memoir -n '__fish_seen_subcommand_from man' -l markdown -d 'as Markdown, docs/COMMANDS.md'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l metric -d 'live, peak, alloc, count, churn, cpu, wait, or a value type of the profile' -x -a 'live objects peak alloc count requested churn lost forgotten pinned cpu wall wait waits condition'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l by -d 'what a row is' -x -a 'site function line file module address thread size'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l frames -d 'charge blocks to the first frame outside of libraries, outside of malloc, or to malloc' -x -a 'blame leaf all'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l focus -d 'keep stacks with a matching frame; may be repeated' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l ignore -d 'leave out stacks with a matching frame; may be repeated' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l show -d 'keep matching frames only' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l hide -d 'leave out matching frames' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l from -d 'cut the callers of the outermost matching frame' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l prune -d 'cut the callees of the innermost matching frame' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l thread -d 'keep allocations of this thread, by name or number' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l module -d 'keep stacks with a frame of a matching program or library' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l size -d 'keep blocks of these sizes, 1K:64K; large blocks by their mean' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l age -d 'keep blocks that were freed at this age, :1ms or 10s:' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l tag-focus -d 'keep samples with a matching label, KEY=RE or KEY=1K:64K' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l tag-ignore -d 'leave out samples with a matching label' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l at -d 'captures: the moment to show: peak, end, a snapshot'\''s number, or a time' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l since -d 'captures: compare with this earlier moment, named as for --at' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l until -d 'captures: the later moment of that comparison; the same as --at' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l no-inlines -d 'charge inlined functions to the function they were inlined into'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l base -d 'compare with this profile' -r -F
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l sort -d 'order of the rows' -x -a 'self total'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l rows -d 'number of rows (-n); 0 for all' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l json -d 'as JSON, with exact numbers'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l csv -d 'as CSV, if the output is a table'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l output -d 'write to this file (-o), in the format of its ending: .json, .csv, .html, .svg, .dot' -r -F
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l verbose -d 'show more, such as library frames (-v)'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l program -d 'the program'\''s file, if it has moved' -r -F
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l sysroot -d 'look for programs and libraries below this folder' -r -F
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l debug-path -d 'further folders with debug files, separated by '\'':'\''' -r -F
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l seconds -d 'URLs: for how long the server should record' -x
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l fetch -d 'ask debuginfod for missing debug files'
complete -c memoir -n '__fish_seen_subcommand_from top report tree peek list disasm traces peak export merge redact diff leaks churn frag sizes threads time check symbols shell doctor' -l no-cache -d 'do not use the cache of names'
complete -c memoir -l color -d 'use colours; auto: on a terminal, unless NO_COLOR is set' -x -a 'auto always never'
complete -c memoir -l quiet -d 'print errors only, no warnings or advice'
complete -c memoir -l help -d 'explain the command'
