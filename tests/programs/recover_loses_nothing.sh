#!/bin/sh
# SPDX-License-Identifier: MIT
# `memoir recover` removes a file only when all of it was written elsewhere: not a damaged one, of which it
# writes what can be read, and it writes over no file of another program. --dry-run changes nothing. A child
# that has another user than its parent leaves a file that its user finds. A run that can't start leaves no folder.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
open_place
cat >"$place/killed.c" <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **words)
{
    if (count > 1 && (setgid(atoi(words[1])) != 0 || setuid(atoi(words[1])) != 0))
        return 2;
    if (count > 1 && fork() != 0)
        pause();
    for (int i = 0; i < 2000; i++)
        memset(malloc(1000), 1, 1000);
    usleep(100000); /* children get their files a moment later */
    for (int i = 0; i < 2000; i++)
        memset(malloc(1000), 1, 1000);
    printf("ready %d\n", getpid());
    fflush(stdout);
    pause();
}
END_OF_C
build "$place/killed.c" -o "$place/killed"
settle
mkdir kept

killed() { # OPTION...: one that leaves `state`, and what it wrote itself
    rm -rf shelf
    mkdir shelf
    launch env MEMOIR="heap.rate:0,recorder:$place/shelf/state,capture:$place/shelf/run.memoir$1" LD_PRELOAD="$MEMOIR_LIB" ./killed
    kill -9 $pid
    wait $pid 2>/dev/null
    [ -s shelf/state ] && [ -s shelf/run.memoir ] || fail "nothing was recorded: $(ls -l shelf)"
}

killed ''
cp -r shelf whole
expect 0 "$MEMOIR_TOOL" recover --dry-run shelf/state >said 2>&1
grep -q "^shelf/state   process $pid" said && cmp -s shelf/state whole/state && cmp -s shelf/run.memoir whole/run.memoir ||
    fail "--dry-run: $(cat said) $(ls -l shelf)"

# a part is cut off; the directory, the sites, the log are not what they were
damaged() { # WHAT: shelf/state is damaged
    expect 0 "$MEMOIR_TOOL" recover shelf/state >said 2>&1
    grep -q 'and the file is kept$' said && [ -s shelf/state ] || fail "$1: $(cat said) $(ls shelf)"
}
truncate -s 131072 shelf/state
damaged "cut off"
for at in 32772 65536 131072 196608 262144 327680 393216; do # the directory, and one sheet after the other
    rm -rf shelf
    cp -r whole shelf
    [ "$(stat -c %s shelf/state)" -gt $at ] || continue
    head -c $([ $at = 32772 ] && echo 4 || echo 65536) /dev/zero | tr '\0' '\377' |
        dd of=shelf/state bs=4 seek=$((at / 4)) conv=notrunc 2>/dev/null
    expect 0 "$MEMOIR_TOOL" recover shelf/state >said 2>&1
    if [ ! -e shelf/state ]; then # it was taken for whole: then the sums are those of the whole one
        "$MEMOIR_TOOL" report shelf/run.memoir >report 2>&1
        grep -q '3.9[0-9] MiB' report || fail "damaged at $at, removed, and: $(cat said report)"
    fi
done
rm -rf shelf
cp -r whole shelf
dd if=/dev/zero of=zeros bs=65536 count=64 2>/dev/null
sheet=$(od -An -v -t u1 -w4 -j 32768 -N 64 shelf/state | awk '$1 == 2 {print NR - 1; exit}')
dd if=zeros of=shelf/state bs=65536 seek="$sheet" count=1 conv=notrunc 2>/dev/null
damaged "sites without a key"
rm -rf shelf
cp -r whole shelf
expect 0 "$MEMOIR_TOOL" recover shelf/state >said 2>&1
[ ! -e shelf/state ] && "$MEMOIR_TOOL" report shelf/run.memoir 2>&1 | grep -q '3.9[0-9] MiB' || fail "a whole one: $(cat said)"

# killed while the file was made: its parts are there in part, and the recording says so
rm -rf shelf
cp -r whole shelf
rm shelf/run.memoir
printf '\010' | dd of=shelf/state bs=1 seek=16 conv=notrunc 2>/dev/null
dd if=zeros of=shelf/state bs=65536 seek="$sheet" count=1 conv=notrunc 2>/dev/null
expect 0 "$MEMOIR_TOOL" recover shelf/state >said 2>&1
[ ! -e shelf/state ] && ! grep -q kept said && "$MEMOIR_TOOL" top shelf/state.memoir 2>&1 | grep -q 'while its recording began' ||
    fail "killed while its file was made: $(cat said) $(ls shelf)"
cat >forks.c <<'END_OF_C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    if (fork() == 0) {
        for (int i = 0; i < 3000; i++)
            *(char *volatile *)malloc(1000) = NULL;
        printf("%d\nready\n", getpid());
        fflush(stdout);
    }
    pause();
}
END_OF_C
build forks.c -o forks
mkdir blank
launch "$MEMOIR_TOOL" run --exact -o "$place/blank" ./forks
child=$(head -n 1 out)
parent=$(ps -o ppid= -p "$child" | tr -d ' ')
kill -9 $pid
kill -9 "$parent" "$child"
wait $pid 2>/dev/null
state=$(find /dev/shm -name "state-$child" 2>/dev/null)
printf '\010' | dd of="$state" bs=1 seek=16 conv=notrunc 2>/dev/null
dd if=zeros of="$state" bs=65536 seek=1 count=$(($(stat -c %s "$state") / 65536 - 1)) conv=notrunc 2>/dev/null
shelf=$(dirname "$state")
[ -e "$shelf/about" ] || shelf=$(dirname "$shelf")
"$MEMOIR_TOOL" recover "$shelf" >said 2>&1
[ "$(find blank -name '*.memoir' | wc -l)" -eq 1 ] && ! grep -q 'kept' said && [ ! -e "$shelf" ] ||
    fail "a child that was killed before anything was in its file: $(cat said) $(ls blank)"

# the name of its capture is another file's by now
for other in words "$(readlink -f "$MEMOIR_TOOL")"; do
    rm -rf shelf
    cp -r whole shelf
    echo words >words
    cp "$other" shelf/run.memoir
    expect 0 "$MEMOIR_TOOL" recover shelf/state >said 2>&1
    cmp -s "$other" shelf/run.memoir && [ -s shelf/state.memoir ] || fail "a file of another program was changed: $(cat said) $(ls shelf)"
done

# another process with its number has written a capture there since: in a container each run is process 1
killed ''
cp shelf/run.memoir next.memoir
cp whole/state shelf/state
for byte in 0 8 16 24; do
    printf "\\$(printf %03o $((pid >> byte & 255)))"
done | dd of=shelf/state bs=1 seek=20 conv=notrunc 2>/dev/null # the number in its head
expect 0 "$MEMOIR_TOOL" recover shelf/state >said 2>&1
cmp -s next.memoir shelf/run.memoir && [ -s shelf/state.memoir ] || fail "the next run's capture was changed: $(cat said) $(ls shelf)"
grep -q "process $pid" said || fail "not of that number: $(cat said)"

# the user of a child is not that of its parent's start
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    user="setpriv --reuid=65534 --regid=65534 --clear-groups"
    mkdir -m 777 prof
    launch env HEAPPROFILE="$place/prof/x" LD_PRELOAD="$MEMOIR_LIB" ./killed 65534
    child=$(awk '/ready/ {print $2}' out)
    [ -e /dev/shm/memoir-65534-end-$child ] || fail "no file: $(ls /dev/shm)"
    kill -9 $pid "$child"
    wait $pid 2>/dev/null
    for _ in $(seq 100); do # until the kernel has taken it down
        grep -q '^State:[[:space:]]*[^ZX]' "/proc/$child/status" 2>/dev/null || break
        sleep 0.1
    done
    $user "$MEMOIR_TOOL" recover "$child" >said 2>&1 || fail "of a child: $(cat said)"
    [ -n "$(ls prof)" ] && [ ! -e /dev/shm/memoir-65534-end-$child ] || fail "of a child: $(cat said) $(ls prof)"
    rm -f /dev/shm/memoir-*-end-$pid /dev/shm/memoir-*-end-$child
fi

mkdir few
cd few || exit 2
id=$(id -u) # where it can be, one that no other test has: the name of a folder in /dev/shm has it
user=
if [ "$id" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    id=$((100000 + $$))
    user="setpriv --reuid=$id --regid=$id --clear-groups"
    chmod 777 .
fi
for files in 4 5; do
    (ulimit -n $files && exec $user "$MEMOIR_TOOL" run true) >../said 2>&1
    [ -z "$(ls -A)" ] || fail "with $files descriptors there are left: $(ls -A), and $(cat ../said)"
    left=$([ -z "$user" ] || ls -d /dev/shm/memoir-"$id"-* 2>/dev/null)
    [ -z "$left" ] || fail "with $files descriptors there is left: $left, and $(cat ../said)"
done
finish
