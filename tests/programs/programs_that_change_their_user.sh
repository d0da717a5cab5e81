#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs that root starts with `memoir run` and that change their user, then fork or become another
# program: each process has its recording, however it ends, and nothing is said. What they were told to
# write is written with the rights of their own user, and no other user can put a file into the recording.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
[ "$(id -u)" -eq 0 ] || skip "only root can change its user"
need setpriv pgrep
open_place
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
chmod 755 "$place/libmemoir.so"
cat >"$place/changes.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile last;
__attribute__((noinline)) void *keep_some(size_t size)
{
    return last = memset(malloc(size), 1, size);
}
/* The first letter says what is done, the second how it ends. */
static int work(const char *how)
{
    for (int i = 0; i < 100; i++)
        keep_some(10000);
    usleep(30000);
    keep_some(10000);
    if (how[0] == 'w')
        sleep(10);
    for (int i = 0; i < 10 && (how[0] == 'l' || how[0] == 'L'); i++) { /* long */
        usleep(100000);
        for (int k = 0; k < 200; k++)
            keep_some(1000);
    }
    if (how[0] == 'k' || how[0] == 'l')
        raise(SIGKILL);
    if (how[0] == '_')
        _exit(0);
    return 0;
}
int main(int count, char **words)
{
    const char *how = words[1];
    (void)count;
    if (how[0] == '-')
        return work(how + 1);
    keep_some(1000);
    if (how[0] == 'b' && fork() != 0)
        return wait(NULL) < 0;
    if (setgid(65534) != 0 || setuid(65534) != 0)
        return 2;
    if (how[0] == 'f' && fork() != 0)
        return wait(NULL) < 0;
    if (how[0] == 'x' && fork() != 0)
        return wait(NULL) < 0;
    if (how[0] == 'x' || how[0] == 'e') {
        char again[3] = {'-', how[1], '\0'};
        execl(words[0], words[0], again, NULL);
        return 9;
    }
    return work(how + 1);
}
END
build "$place/changes.c" -o "$place/changes"
chmod 755 "$place/changes"
settle
run() { # WORDS...
    "$MEMOIR_TOOL" run --lib "$place/libmemoir.so" --exact "$@" 2>errors
}
shelves() { # of this test
    grep -l "^folder:$place/" /dev/shm/memoir-0-*/about 2>/dev/null | sed 's,/about$,,'
}

# fork, fork and exec, exec, and a worker that is forked first; killed, in order, by _exit
for how in fk f. f_ xk x. x_ ek e. e_ bk b.; do
    what="$how"
    rm -rf out
    mkdir -m 700 out
    run -o "$place/out" ./changes $how
    count=$(find out -name '*.memoir' | wc -l)
    case $how in
    e*) [ "$count" -ge 1 ] ;;
    *) [ "$count" -eq 2 ] ;;
    esac || fail "$what: $count recordings: $(cat errors)"
    ! grep -q '^memoir: no ' errors || fail "$what: $(cat errors)"
    found=no
    for file in out/*.memoir; do
        "$MEMOIR_TOOL" top --json "$file" 2>message | tr -d '\n' |
            grep -Eq '"name": "keep_some",[^}]*"self_objects": 10[12],' && found=yes
    done
    [ $found = yes ] || fail "$what: no recording has the 101 blocks: $(cat errors)"
    [ -z "$(find out ! -user 0)" ] || fail "$what: $(ls -l out)"
done

# snapshots on the way, and the verdict of a scan
for how in fl fL xl xL el eL; do
    what="$how: snapshots"
    rm -rf out
    mkdir -m 700 out
    run --every 100ms -o "$place/out" ./changes $how
    for file in out/*.memoir; do
        "$MEMOIR_TOOL" time --json "$file" 2>/dev/null | tr ',' '\n' | grep -c '"name": "time' # snapshots
    done | sort -n | tail -1 >most
    [ "$(cat most)" -ge 3 ] || fail "$what: $(cat most): $(ls -l out; cat errors)"
    [ "$(find out -name '*.memoir' | wc -l)" -le 2 ] && [ -z "$(find out ! -user 0)" ] || fail "$what: $(ls -l out)"
    [ -z "$(shelves)" ] || fail "$what: left $(shelves)"
done
for how in f. x. e.; do
    run --leaks -o out ./changes $how
    [ $? -eq 1 ] || fail "$how: the scan's verdict is not told: $(cat errors)"
done

what='a program started as another user'
rm -rf out
mkdir -m 700 out
run -o "$place/out" setpriv --reuid=65534 --regid=65534 --clear-groups ./changes -k
grep -Eq '^ +peak 1\.1[0-9] MiB' errors || fail "$what: $(cat errors)"
! grep -q '^memoir: no ' errors || fail "$what: $(cat errors)"

# the file of HEAPPROFILE: not where only root may write, and as the user's own elsewhere
mkdir -m 700 closed
mkdir -m 1777 open
while read -r how names; do
    what="told, $how"
    HEAPPROFILE=$place/closed/prof MEMOIR=heap.rate:0 run -o "$place/out" ./changes "$how"
    [ -z "$(find closed -name "$names")" ] || fail "$what: written by root: $(ls -l closed)"
    rm -f closed/*
    HEAPPROFILE=$place/open/prof run -o "$place/out" ./changes "$how"
    [ -n "$(find open -name "$names" -user 65534)" ] && [ -z "$(find open -name "$names" -user 0)" ] ||
        fail "$what: $(ls -l open; cat errors)"
    rm -f open/*
done <<'END'
ek prof_*.heap
fk *.heap
END

# without run: it was killed
what='killed with its run'
rm -rf out
mkdir -m 700 out
(cd out && exec "$MEMOIR_TOOL" run --lib "$place/libmemoir.so" --exact ../changes fw) 2>errors &
runs=$!
for _ in $(seq 100); do
    sleep 0.1
    shelf=$(shelves)
    [ -n "$shelf" ] && [ "$(find "$shelf" -name 'state-*' -user 65534 2>/dev/null | wc -l)" -ge 1 ] && break
done
worker=$(find "$shelf" -name 'state-*[0-9]' -user 65534 | sed 's/.*-//')
[ -n "$worker" ] || fail "$what: no file: $(find "$shelf"; cat errors)"
# no other user lists or reads anything
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
hidden=$(find "$shelf" -mindepth 1 -type d)
for command in "ls $shelf" "ls $hidden" "cat $shelf/about"; do
    $nobody $command >message 2>&1 && fail "$what: $command: $(cat message)"
done
[ "$(stat -c %a "$hidden"/state* | sort -u)" = 600 ] || fail "$what: $(ls -l "$hidden")"
parent=$(pgrep -P $runs)
kill -9 $runs "$parent" "$worker"
wait $runs 2>/dev/null
sleep 0.2
"$MEMOIR_TOOL" ps >message 2>&1
grep -q 'has ended .*changes fw' message || fail "$what: $(cat message)"
"$MEMOIR_TOOL" recover "$shelf" 2>message || fail "$what: $(cat message)"
grep -q 'the largest of 2 processes' message && grep -Eq '^ +peak 1\.1[0-9] MiB' message ||
    fail "$what: $(cat message)"
[ ! -e "$shelf" ] && [ -z "$(shelves)" ] || fail "left behind: $shelf $(shelves)"
finish
