#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that was told to write a file of another tool at its end (HEAPPROFILE, prof_final,
# CPUPROFILE, dump.exit) and is killed: `memoir recover` and `memoir run` write it, under its name and
# in its format, with the same numbers as after an end in order. Samples of the CPU survive, too. No
# option is needed for that, and programs that end in order leave nothing in /dev/shm.
script=$(cd "$(dirname "$0")" && pwd)/$(basename "$0")
. "$(dirname "$0")/common.sh"
need python3
: "${MEMOIR_TOOL:?}"
cat >"$place/told.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sum;
__attribute__((noinline)) void *keep_small(void)
{
    return memset(malloc(100), 1, 100);
}
__attribute__((noinline)) void *keep_large(void)
{
    return memset(malloc(100000), 1, 100000);
}
__attribute__((noinline)) void burn(double seconds)
{
    struct timespec now;
    do {
        for (int i = 0; i < 10000; i++)
            sum += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while (now.tv_sec + now.tv_nsec / 1e9 < seconds);
}
static void *work(void *seconds)
{
    prctl(PR_SET_NAME, "burner");
    burn(*(double *)seconds);
    for (int i = 0; i < 500; i++)
        keep_small();
    return NULL;
}
int main(int count, char **words)
{
    double seconds = atof(words[1]);
    pthread_t thread;
    pthread_create(&thread, NULL, work, &seconds);
    for (int i = 0; i < 1000; i++)
        keep_small();
    for (int i = 0; i < 200; i++) {
        free(keep_large());
        keep_large();
    }
    burn(seconds);
    pthread_join(thread, NULL);
    if (count > 3 && fork() != 0)
        wait(NULL);
    else if (count > 3)
        usleep(30000), keep_large(), keep_large();
    for (int i = 0; i < 30 && strcmp(words[2], "children") == 0; i++) {
        if (fork() == 0) {
            for (int k = 0; k < 20; k++)
                keep_large();
            _exit(0);
        }
        wait(NULL);
    }
    if (strcmp(words[2], "kill") == 0)
        raise(SIGKILL);
    if (strcmp(words[2], "_exit") == 0)
        _exit(0);
    return 0;
}
END
build "$place/told.c" -o "$place/told"
settle

# The lines of a heap profile without its addresses and their order, which differ from run to run.
lines() { # FILE
    sed -n '/^$/q; s/ 0x[0-9a-f]*//g; p' "$1" | sort
}
one() { # PATTERN: the one file that fits, or nothing
    # shellcheck disable=SC2086
    set -- $1
    [ $# -eq 1 ] && [ -e "$1" ] && echo "$1"
}
same() { # WHAT KILLED ENDED
    killed=$(one "$2") ended=$(one "$3")
    if [ -z "$killed" ] || [ -z "$ended" ]; then
        fail "$1: no file: $(ls)"
    elif [ "$(lines "$killed")" != "$(lines "$ended")" ]; then
        lines "$ended" >wanted
        fail "$1: $(lines "$killed" | diff - wanted)"
    fi
}

for rate in 0 14; do
    for how in end kill _exit; do
        mkdir -p $how
        (
            cd $how || exit 2
            MALLOC_CONF=prof:true,prof_final:true,prof_accum:true,lg_prof_sample:$rate,prof_prefix:je \
                MEMOIR=recorder:state LD_PRELOAD=$MEMOIR_LIB ../told 0 $how 2>errors
            [ $how = end ] || "$MEMOIR_TOOL" recover state 2>>errors || echo "recover: $?" >>errors
        )
        ! grep -q 'recover:' $how/errors || fail "$how: $(cat $how/errors)"
    done
    if [ "$rate" -eq 0 ]; then
        same "prof_final, killed" 'kill/je.*.0.f.heap' 'end/je.*.0.f.heap'
        same "prof_final, _exit" '_exit/je.*.0.f.heap' 'end/je.*.0.f.heap'
    elif [ -z "$(one 'kill/je.*.0.f.heap')" ]; then
        fail "prof_final, sampled: $(ls kill)"
    else
        # What readers make of it is about what was there: 1,500 blocks of 112, 200 of 102,400.
        bytes=$("$MEMOIR_TOOL" top --json "$(one 'kill/je.*.0.f.heap')" |
            sed -n 's/^ *"total": \([0-9]*\),*/\1/p' | head -1)
        [ "${bytes:-0}" -gt 15000000 ] && [ "${bytes:-0}" -lt 26000000 ] ||
            fail "prof_final, sampled: ${bytes:-no} bytes"
    fi
    rm -rf end kill _exit
done

for how in end kill; do
    mkdir $how
    (
        cd $how || exit 2
        HEAPPROFILE=./hp CPUPROFILE=cpu.prof CPUPROFILE_FREQUENCY=200 \
            MEMOIR=recorder:state,dump.exit:on,dump.prefix:mm,dump.format:pprof LD_PRELOAD=$MEMOIR_LIB \
            ../told 0.3 $how fork 2>errors
        for state in state*; do
            [ $how = end ] || "$MEMOIR_TOOL" recover "$state" 2>>errors
        done
    )
done
same "HEAPPROFILE" kill/hp.0001.heap end/hp.0001.heap
same "HEAPPROFILE of a child" 'kill/hp_*.0001.heap' 'end/hp_*.0001.heap'
for file in cpu.prof 'mm-*-0001-exit-*.pb.gz'; do
    [ -n "$(one "kill/$file")" ] || ls kill/$file >/dev/null 2>&1 || fail "no $file: $(ls kill)"
done
"$MEMOIR_TOOL" top --json kill/cpu.prof >out 2>errors || fail "CPUPROFILE: $(cat errors)"
python3 - out <<'END' || fail "CPUPROFILE: $(cat out)"
import json, sys
report = json.load(open(sys.argv[1]))
rows = {row["name"]: row for row in report["rows"]}
total = sum(row["self"] for row in report["rows"])
sys.exit(not (0.4e9 < total < 1.2e9 and rows["burn"]["total"] > 0.7 * total))
END
for tool in google-pprof; do
    command -v $tool >/dev/null || continue
    $tool --text told kill/hp.0001.heap 2>/dev/null | grep -q 'keep_large$' || fail "$tool: the heap"
    $tool --text told kill/cpu.prof 2>/dev/null | grep -q 'burn$' || fail "$tool: the CPU profile"
done

# A number that is taken is not written over.
mkdir taken
(cd taken && HEAPPROFILE=hp HEAP_PROFILE_CLEANUP=0 MEMOIR=recorder:state LD_PRELOAD=$MEMOIR_LIB ../told 0 kill 2>/dev/null
    echo mine >hp.0001.heap
    "$MEMOIR_TOOL" recover state 2>/dev/null)
[ "$(cat taken/hp.0001.heap)" = mine ] && [ -s taken/hp.0002.heap ] || fail "taken: $(ls taken)"

# memoir run writes them by itself, and has the samples of a killed program.
mkdir run
(cd run && HEAPPROFILE=hp "$MEMOIR_TOOL" run --cpu -o run.memoir ../told 0.3 kill 2>../errors)
[ -s run/hp.0001.heap ] || fail "memoir run: $(ls run; cat errors)"
"$MEMOIR_TOOL" top --metric cpu --by thread --json run/run.memoir >out 2>errors
python3 - out <<'END' || fail "memoir run --cpu: $(cat out errors)"
import json, sys
rows = {row["name"]: row["self"] for row in json.load(open(sys.argv[1]))["rows"]}
sys.exit(not (0.2e9 < rows["burner"] < 0.5e9 and 0.2e9 < rows["told"] < 0.5e9))
END
# Preloaded, with no option of ours. This part has a /dev/shm of its own, as other tests leave files
# there.
cat >plain.sh <<'END'
mount -t tmpfs -o size=32m none /dev/shm || exit 77
. ./functions.sh
left() { find /dev/shm -name 'memoir-*' | wc -l; }
hidden() { find /dev/shm -name '.memoir-*' | wc -l; }
for how in end kill; do
    mkdir -p plain/$how
    cd plain/$how || exit 2
    for variables in HEAPPROFILE=./hp 'CPUPROFILE=cpu.prof CPUPROFILE_FREQUENCY=200' \
        MALLOC_CONF=prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:je; do
        # shellcheck disable=SC2086
        env $variables LD_PRELOAD="$MEMOIR_LIB" ../../told 0.1 $how 2>errors &
        pid=$!
        wait $pid
        if [ $how = kill ]; then
            [ "$(left)" -eq 1 ] || fail "$variables, killed: $(ls /dev/shm)"
            "$MEMOIR_TOOL" recover $pid 2>errors || fail "recover $variables: $(cat errors)"
        fi
        [ "$(left)" -eq 0 ] || fail "$variables, $how: left $(ls /dev/shm)"
    done
    cd ../..
done
same "HEAPPROFILE alone" plain/kill/hp.0001.heap plain/end/hp.0001.heap
same "MALLOC_CONF alone" 'plain/kill/je.*.0.f.heap' 'plain/end/je.*.0.f.heap'
"$MEMOIR_TOOL" top --json plain/kill/cpu.prof 2>&1 | grep -q '"name": "burn"' ||
    fail "CPUPROFILE alone: $(ls plain/kill)"

cd plain || exit 2
HEAPPROFILE=./off MEMOIR=recorder.end:off LD_PRELOAD=$MEMOIR_LIB ../told 0 kill 2>errors
[ "$(left)" -eq 0 ] || fail "recorder.end:off: $(ls /dev/shm)"
# A shell that starts the program in its own place.
HEAPPROFILE=./exec LD_PRELOAD=$MEMOIR_LIB sh -c 'exec ../told 0 kill' 2>errors
[ "$(left)" -eq 1 ] || fail "exec: $(ls /dev/shm)"
"$MEMOIR_TOOL" recover 2>errors || fail "recover: $(cat errors)"
[ "$(find . -name 'exec*.heap' | wc -l)" -eq 1 ] || fail "exec: $(ls)"
# Of many killed programs the newest eight.
for i in 1 2 3 4 5 6 7 8 9 10; do
    HEAPPROFILE=./many$i LD_PRELOAD=$MEMOIR_LIB ../told 0 kill 2>errors
done
[ "$(left)" -eq 8 ] || fail "many: $(ls /dev/shm)"
"$MEMOIR_TOOL" recover --json >out 2>errors || fail "recover: $(cat errors)"
[ "$(find . -name 'many*.0001.heap' | wc -l)" -eq 8 ] && [ ! -e many1.0001.heap ] &&
    [ ! -e many2.0001.heap ] || fail "many: $(ls)"
[ "$(left)" -eq 0 ] || fail "many: left $(ls /dev/shm)"
# Of many children of one program, too, which end without a profile.
HEAPPROFILE=./children LD_PRELOAD=$MEMOIR_LIB ../told 0 children 2>errors
[ "$(left)" -eq 8 ] || fail "children: $(left) files"
"$MEMOIR_TOOL" recover >out 2>errors || fail "children: $(cat errors)"
[ "$(find . -name 'children_*.0001.heap' | wc -l)" -eq 8 ] || fail "children: $(ls)"
# Files of programs that were killed while they made them hold nothing, and go; those of others stay.
true &
ended=$!
wait $ended
own=/dev/shm/memoir-$(id -u)-end
head -c 65536 /dev/zero >$own-$ended
: >$own-$ended-2
head -c 65536 /dev/zero >$own-$$
echo 'of another program' >$own-$ended-other
HEAPPROFILE=./unborn LD_PRELOAD=$MEMOIR_LIB ../told 0 end 2>errors
[ ! -e $own-$ended ] && [ ! -e $own-$ended-2 ] && [ -e $own-$$ ] && [ -e $own-$ended-other ] ||
    fail "unborn: $(ls /dev/shm)"
rm -f $own-*
# Lists of paths whose recorder file is gone go, too; not those of living programs, or beside their file.
hide=/dev/shm/.memoir-$(id -u)-end
for name in $ended.paths $ended-2.paths.new $$.paths $ended.other $ended-3.paths; do echo a list >"$hide-$name"; done
echo 'of another program' >$own-$ended-3
HEAPPROFILE=./orphans LD_PRELOAD=$MEMOIR_LIB ../told 0 end 2>errors
[ ! -e "$hide-$ended.paths" ] && [ ! -e "$hide-$ended-2.paths.new" ] && [ -e "$hide-$$.paths" ] &&
    [ -e "$hide-$ended.other" ] && [ -e "$hide-$ended-3.paths" ] || fail "orphans: $(ls -A /dev/shm)"
rm -f $own-* "$hide"-*
# Killed between two lists of paths: nothing stays when it is recovered, or when a later program sweeps.
if strace -f -o /dev/null true 2>/dev/null; then
    for i in 1 2 3 4 5 6 7 8 9; do
        HEAPPROFILE=./two$i CPUPROFILE=./two$i.prof strace -o trace -e inject=rename,renameat,renameat2:signal=KILL \
            env LD_PRELOAD="$MEMOIR_LIB" ../told 0 end >out 2>&1
        grep -q 'rename.*\.paths' trace || fail "two lists: $(tail -n 3 trace)"
    done
    [ "$(left)" -eq 8 ] && [ "$(hidden)" -eq 16 ] || fail "two lists: $(ls -A /dev/shm)"
    "$MEMOIR_TOOL" recover 2>errors || fail "two lists: $(cat errors)"
    [ "$(hidden)" -eq 0 ] || fail "two lists: left $(ls -A /dev/shm)"
    rm -f $own-*
fi
# A folder that is gone: a line, and the file stays for another try.
mkdir gone
HEAPPROFILE=$PWD/gone/hp LD_PRELOAD=$MEMOIR_LIB ../told 0 kill 2>errors
rmdir gone
"$MEMOIR_TOOL" recover 2>errors || fail "gone: $?"
grep -q "can't be written" errors && [ "$(left)" -eq 1 ] || fail "gone: $(cat errors)"
# A full /dev/shm is not mentioned.
dd if=/dev/zero of=/dev/shm/fill bs=1M 2>/dev/null
HEAPPROFILE=./full LD_PRELOAD=$MEMOIR_LIB ../told 0 end 2>errors || fail "full: exit code $?"
! grep -q '^memoir: ' errors && [ -s full.0001.heap ] || fail "full: $(cat errors)"
finish
END
if unshare -m true 2>/dev/null; then
    {
        echo failures=0
        sed -n '/^fail() /,/^}/p; /^finish() /,/^}/p' "$root/tests/programs/common.sh"
        sed -n '/^# The lines of/,/^for rate/p' "$script" | sed '$d'
    } >functions.sh
    MEMOIR_LIB=$MEMOIR_LIB MEMOIR_TOOL=$MEMOIR_TOOL unshare -m sh plain.sh >out 2>&1
    case $? in
    0) ;;
    77) echo "no /dev/shm of our own: not tried" ;;
    *) fail "without options: $(cat out)" ;;
    esac
fi

mkdir format
(cd format && "$MEMOIR_TOOL" run --format gperftools -o out.heap ../told 0 kill 2>../errors)
grep -q '^heap profile:' format/out.heap 2>/dev/null || fail "run --format: $(ls format; cat errors)"
finish
