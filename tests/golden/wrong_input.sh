#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# Words, files and lines that make no sense: each is refused with its cause and the next step, with
# the status for it (2 usage, 3 input, 4 target), and with nothing on standard output.
. "$(dirname "$0")/../programs/common.sh"
settle
PATH=$(dirname "$MEMOIR_TOOL"):$PATH

echo 'main;f 5' >few.folded
mkdir folder
: >empty
printf '\000\001\002binary' >junk.bin
echo hello >text.txt
gzip -c few.folded | head -c 12 >cut.gz
ln -s nowhere dangling
ln -s loop loop
cp "$MEMOIR_TOOL" program
cat >prof.0001.heap <<'E'
heap profile:      1:     100 [     1:     100] @ heapprofile
     1:     100 [     1:     100] @ 0x1 0x2
MAPPED_LIBRARIES:
E
cp prof.0001.heap prof.0002.heap
cp prof.0001.heap other.heap

# STATUS, what is said (both lines, ended by '|' each), the words
while IFS='~' read -r status pattern words; do
    [ -n "$status" ] || continue
    # shellcheck disable=SC2086
    eval "memoir $words" >said 2>errors </dev/null
    got=$?
    [ "$got" = "$status" ] || fail "memoir $words: status $got, not $status: $(cat errors)"
    tr '\n' '|' <errors | grep -Eq -- "$pattern" || fail "memoir $words: $(cat errors) instead of: $pattern"
    grep -q '^→ ' errors || fail "memoir $words: no next step: $(cat errors)"
    [ -s said ] && fail "memoir $words: on standard output: $(cat said)"
done <<'E'
2~--output r.pb.gz: memoir run writes .memoir[|]→ memoir run -o FILE.memoir~run -o r.pb.gz true
2~--output r.svg: memoir run writes .memoir[|]~run -o r.svg true
3~few.folde: No such file or directory[|]→ did you mean few.folded~few.folde
3~no[.]such: No such file~no.such
3~./nothing: No such file~top ./nothing
3~folder is a folder, not a profile[|]→ memoir diff folder~top folder
3~folder is a folder~report folder
3~folder is a folder~shell folder
3~./folder is a folder~./folder
3~folder has no profiles~diff folder
3~empty: it is empty~top empty
3~junk.bin: unknown format: it begins with~top junk.bin
3~text.txt: unknown format~top text.txt
3~cut.gz: it ends before any data~top cut.gz
2~program is a program, not a profile[|]→ memoir run -- ./program~top program
2~'program' is a program, not a memoir command[|]→ memoir run -- ./program~program
2~a profile with no name.*→ memoir top FILE~top ''
127~no such program: ./progrm[|]→ did you mean ./program~run ./progrm
127~no such program: ./nowhere[|]→ give the path~run ./nowhere
3~can't write nowhere/x.svg: No such file or directory[|]→ make its folder first~export few.folded -o nowhere/x.svg
3~nowhere: No such file or directory[|]→ memoir recover --dry-run~recover nowhere
3~nowhere can't be read: .*[|]→ its lines are explained by~check few.folded --budget nowhere
3~nosuch: No such file or directory[|]→ memoir run~symbols few.folded nosuch
3~nosuch: No such file or directory[|]→ memoir run~shell few.folded nosuch
3~--program nowhere: No such file or directory[|]→ give the file~top few.folded --program nowhere
3~nowhere: it can't be opened: No such file or directory[|]→ memoir run --guard~guard nowhere
3~text.txt: unknown format.*[|]→ memoir run --guard~guard text.txt
2~--embed needs an output file[|]→ memoir symbols PROFILE --embed -o~symbols few.folded --embed
2~diff needs two profiles, but there is no file 'nowhere'[|]→ memoir diff~diff few.folded nowhere
2~no command 'view'[|]→ memoir report -o report.html~view
2~top needs a profile, and there is no~top
2~top needs a profile: there is no file 'nosuchword'~top nosuchword
3~dangling: it can't be opened: No such file~top dangling
3~loop: it can't be opened: Too many levels~top loop
2~'--rows' follows '--'~top -- few.folded --rows 3
2~--rows needs a value: NUMBER~top few.folded --rows
2~--rows can't be 'x': it takes an integer~top few.folded --rows x
2~--rows can't be '-1'~top few.folded --rows -1
2~--by can't be 'nothing', accepted: site.function~top few.folded --by nothing
2~--json and --csv exclude each other~top few.folded --json --csv
2~--json takes no value~top few.folded --json=5
2~tree does not print a table, so there is no CSV~tree few.folded --csv
2~'[(]' is not a regular expression: missing closing~top few.folded --focus '('
2~'[*]' is not a regular expression~top few.folded '*'
2~'a.' is not a regular expression~peek few.folded 'a['
2~--size can't be '5K:1K'~top few.folded --size 5K:1K
2~has no block lifetimes, which --age needs~top few.folded --age :1s
2~has no metric 'nope'[|]→ it has: samples~top few.folded --metric nope
2~has no metric 'peak'~peak few.folded
2~has no metric 'live'~leaks few.folded
2~peek needs a function~peek few.folded
3~no function matches 'nosuch' in few.folded~peek few.folded nosuch
3~no function matches 'nosuch' in few.folded~list few.folded nosuch
4~no file and no process 999999999~top 999999999
4~Couldn't connect to server~top http://localhost:1/x
2~export needs an output file~export few.folded
2~x: unknown ending for a profile[|]→ endings are:~export few.folded -o x
2~--format can't be 'foo', accepted~export few.folded --format foo -o x
2~merge needs an output file~merge few.folded
3~nosuch.heap: No such file~merge few.folded nosuch.heap -o x.folded
2~redact needs an output file~redact few.folded
2~diff needs two profiles, but got only few.folded~diff few.folded
3~nosuch.heap: No such file~diff few.folded nosuch.heap
3~nosuch.heap: No such file~top few.folded --base nosuch.heap
2~check needs a limit~check few.folded
2~--max-peak can't be 'lots'~check few.folded --max-peak lots
2~is relative, which needs a base~check prof.0001.heap --max-live 5%
3~nosuch can't be read: No such file~check few.folded --budget nosuch
3~nosuch.heap: No such file~check nosuch.heap --max-peak 1G
2~text.txt:1: a line is PATTERN LIMIT~check few.folded --budget text.txt
2~--rule can't be 'foo'~leaks prof.0001.heap --rule foo
3~nosuch can't be read~leaks prof.0001.heap --suppressions nosuch
2~text.txt:1: 'hello' is not a suppression~leaks prof.0001.heap --suppressions text.txt
3~nosuch.heap: No such file~leaks nosuch.heap
3~nosuch.heap: No such file~doctor nosuch.heap
2~run needs a program to run~run
2~--exact and --rate exclude each other~run --exact --rate 4K true
2~heap.rate can't be 'x', accepted~run --rate x true
2~--set: no option 'foo' [(]all~run --set foo=1 true
2~no option 'heap.rat', the nearest is 'heap.rate'~run --set heap.rat=1 true
3~no/such/x: can't create a file there~run -o no/such/x true
2~ctl needs the id of a process~ctl
2~'nosuch' is not a process id~ctl nosuch
4~no process 4194303~ctl 4194303
2~completion needs one of: bash~completion
2~version does not take 'foo'~version foo
2~--embed needs an output file~symbols few.folded --embed
E

# a folder, a command or a misspelt file among the patterns of a profile
memoir top few.folded folder >said 2>errors || fail "a folder's name as a pattern: $(cat errors)"
grep -q "no stack matches 'folder'" errors || fail "a folder's name as a pattern: $(cat errors)"
memoir top report few.folded >said 2>errors
grep -q "no stack matches 'report'; it is a command: run one at a time" errors || fail "two verbs: $(cat errors)"
memoir top few.folded few.foldet >said 2>errors
grep -q 'did you mean the file few.folded' errors || fail "a misspelt file: $(cat errors)"
echo 'main;keep;keep_more 10' >word.folded
memoir top word.folded keep -keep_more >said 2>errors
grep -q "no stack matches 'keep' and the other filters" errors || fail "a filter that leaves out all: $(cat errors)"

# dumps of one run are no sum
memoir top prof.0001.heap prof.0002.heap >said 2>errors
grep -q 'prof.0001.heap and prof.0002.heap look like dumps of one run.* memoir diff' errors || fail "two dumps: $(cat errors)"
memoir top prof.0001.heap other.heap >said 2>errors
grep -q 'look like' errors && fail "two programs: $(cat errors)"

# a file that may not be read
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    cp few.folded secret.folded && chmod 600 secret.folded && chmod 755 .
    setpriv --reuid 65534 --clear-groups "$MEMOIR_TOOL" top secret.folded >said 2>errors
    [ $? = 3 ] || fail "a file that may not be read: $(cat errors)"
    grep -q 'secret.folded: .*Permission denied' errors || fail "a file that may not be read: $(cat errors)"
fi

# the shell goes on after each line
cat >lines <<'E'
nope
shell
tpo
by=nothing
rows=x
metric=nope
bogus=1
"unclosed
top > no/such/file
top |
>
peek nosuch
top --flub
top --at 1s
export -o x.foo
version
quit now
never
E
memoir shell few.folded <lines >said 2>errors || fail "shell: $?"
while read -r wanted; do
    grep -q -- "$wanted" errors || fail "shell: not '$wanted' in $(cat errors)"
done <<'E'
no command 'nope'; 'help' lists the commands
this is already the shell; 'quit' leaves it
no command 'tpo', the nearest is 'top'
--by can't be 'nothing', accepted
--rows can't be 'x'
few.folded has no metric 'nope'
no setting 'bogus'
a quote is not closed
no/such/file can't be written
a command is missing after |
a file name is missing after >
no function matches 'nosuch' in few.folded
top has no flag '--flub'
--at needs a file
x.foo: unknown ending for a profile
E
grep -q '^memoir [0-9]' said || fail "shell: it did not go on: $(cat said)"
grep -q never errors && fail "shell: it went on behind quit"
finish
