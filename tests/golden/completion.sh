#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
#
# What the tabulator offers in bash: verbs, flags and their values, options and theirs, metrics, files,
# functions of the profile that was named, and processes that run with the library.
. "$(dirname "$0")/../programs/common.sh"
need bash python3
need_terminal
settle
PATH=$(dirname "$MEMOIR_TOOL"):$PATH
printf 'main;parse;Cache::insert 5\nmain;parse_line;operator new 7\n' >few.folded
memoir completion bash >script || fail "no script"
LD_PRELOAD=$MEMOIR_LIB sleep 60 &
pid=$!
trap 'kill $pid; rm -rf "$place"' EXIT
for _ in $(seq 50); do
    grep -q libmemoir "/proc/$pid/maps" && break
    sleep 0.1
done

cat >ask.sh <<'END'
. ./script
compopt() { :; } # it works on the command line only
COMP_WORDS=("$@") # as bash cuts them: = and : are words
COMP_CWORD=$(($# - 1))
COMP_LINE=$LINE COMP_POINT=${#LINE}
_memoir
printf '%s\n' "${COMPREPLY[@]}"
END
offers() { # EXPECTED LINE WORDS...: the line, and its words
    wanted=$1
    LINE=$2 export LINE
    shift 2
    got=$(bash ask.sh "$@" | sort | tr '\n' ' ')
    [ "$got" = "$wanted " ] || fail "$LINE: offers '$got', not '$wanted'"
}
offers 'top' 'memoir to' memoir to
offers '--metric' 'memoir top --met' memoir top --met
offers 'churn condition count cpu' 'memoir top --metric c' memoir top --metric c
offers 'peak' 'memoir top --at p' memoir top --at p
offers 'module' 'memoir top --by m' memoir top --by m
offers 'few.folded' 'memoir top few' memoir top few
offers 'parse parse_line' 'memoir peek few.folded par' memoir peek few.folded par
offers 'insert' 'memoir peek few.folded Cache::ins' memoir peek few.folded Cache :: ins
offers 'parse parse_line' 'memoir top few.folded --focus pars' memoir top few.folded --focus pars
offers "$pid" "memoir ctl $pid" memoir ctl "$pid"
offers "$pid" "memoir top $pid" memoir top "$pid"
offers 'rate' "memoir ctl $pid ra" memoir ctl "$pid" ra
offers 'heap.rate=' "memoir ctl $pid heap.ra" memoir ctl "$pid" heap.ra
offers 'off on' "memoir ctl $pid heap=" memoir ctl "$pid" heap =
offers 'on' "memoir ctl $pid heap=on" memoir ctl "$pid" heap = on
offers 'heap.rate' "memoir ctl $pid show heap.r" memoir ctl "$pid" show heap.r
offers 'few.folded' "memoir ctl $pid dump few" memoir ctl "$pid" dump few
offers 'stop' "memoir ctl $pid record st" memoir ctl "$pid" record st
offers 'reset' "memoir ctl $pid cpu re" memoir ctl "$pid" cpu re
offers 'start' "memoir ctl $pid locks sta" memoir ctl "$pid" locks sta
offers 'heap.rate=' "memoir ctl $pid set heap.ra" memoir ctl "$pid" set heap.ra
offers 'heap.rate=' "memoir ctl $pid heap=on heap.ra" memoir ctl "$pid" heap = on heap.ra
offers '' "memoir ctl $pid purge " memoir ctl "$pid" purge ''
offers '' "memoir ctl $pid cpu start r" memoir ctl "$pid" cpu start r
# The table has all verbs that a process knows.
memoir ctl "$pid" help | sed 's/[: ].*//' | sort >known
[ "$(wc -l <known)" -gt 10 ] || fail "the process knows: $(cat known)"
LINE="memoir ctl $pid " bash ask.sh memoir ctl "$pid" '' | grep -v '=$' | sort | diff known - ||
    fail "verbs of memoir ctl and those that are offered differ"
offers 'off' 'memoir run --set heap=of' memoir run --set heap = of
# Old commands take files, and so do guard and recover.
offers 'few.folded' 'memoir jeprof --text few' memoir jeprof --text few
offers 'few.folded' 'memoir flamegraph.pl f' memoir flamegraph.pl f
offers 'few.folded' 'memoir recover few' memoir recover few
# At a prompt, where bash quotes what it takes for names of files.
cat >prompt.py <<'END'
import os, pty, select, sys, time

os.environ.update(TERM="dumb", PS1="> ", INPUTRC="/dev/null")
process, terminal = pty.fork()
if process == 0:
    os.execlp("bash", "bash", "--norc", "--noprofile", "-i")


def read(until, seconds=10):
    text, end = b"", time.monotonic() + seconds
    while until not in text and time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            text += os.read(terminal, 4096)
    return text


os.write(terminal, b". ./script; echo rea''dy\n")
read(b"ready\r\n")
read(b"> ")
for typed, wanted in (("memoir run --set heap.ra", "heap.rate="), ("memoir ctl 1 heap.ra", "heap.rate="),
                      ("memoir top a\\ fi", "a\\ file.folded ")):
    os.write(terminal, typed.encode() + b"\tX")
    shown = read(b"X").decode()
    if not shown.endswith(wanted + "X"):
        sys.exit("%s: %r, not %r" % (typed, shown, wanted))
    os.write(terminal, b"\x15")
os.write(terminal, b"exit\n")
os.waitpid(process, 0)
END
printf 'main 1\n' >'a file.folded'
python3 prompt.py || fail "at the prompt: see above"
rm 'a file.folded'
case " $(LINE='memoir cpu ' bash ask.sh memoir cpu '' | tr '\n' ' ')" in
*" $pid "*) ;;
*) fail "memoir cpu offers no process" ;;
esac
for shell in bash zsh fish; do
    memoir completion "$shell" | grep -w "WORDS'*)*$" && fail "$shell is offered a name of the table"
done
memoir completion zsh | sed -n '/^    recover)/,/;;/p' | grep -q "'\*:file:_files'" ||
    fail "zsh: recover does not take files"
# In zsh and fish the words behind ctl PID are those of the same table.
for shell in zsh fish; do
    memoir completion $shell >script.$shell
    sed -n '/_memoir_ctl/,/^\(}\|end\)$/p' script.$shell >ctl.$shell
    grep -q 'start stop rate dump .*version help' ctl.$shell || fail "$shell: no verbs: $(cat ctl.$shell)"
    grep -q 'start stop rate reset dump$\|start stop rate reset dump;' ctl.$shell || fail "$shell: no words of cpu"
    [ "$(grep -c '__*memoir_option' ctl.$shell)" -ge 3 ] || fail "$shell: no settings"
    grep -q 'heap heap.rate heap.pace ' ctl.$shell || fail "$shell: no keys behind show"
    ! command -v $shell >/dev/null || $shell -n script.$shell || fail "$shell: its script is wrong"
done
grep -q "'\*:::word:_memoir_ctl'" script.zsh || fail "zsh: _memoir_ctl is not used"
grep -q "from ctl' -a '(__memoir_ctl)'" script.fish || fail "fish: __memoir_ctl is not used"
memoir completion fish | grep -q "from recover' -F" || fail "fish: recover does not take files"
finish
