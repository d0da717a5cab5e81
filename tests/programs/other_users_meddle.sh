#!/bin/sh
# SPDX-License-Identifier: MIT
# Root records programs that give up root, in a folder of their user's: whatever that user puts where
# `memoir run` and `memoir recover` look, they write and remove no file elsewhere, do not wait for it, send
# no orders to the terminal, and leave nothing behind.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
[ "$(id -u)" -eq 0 ] || skip "only root can change its user"
need setpriv pgrep mkfifo
open_place
cp "$(readlink -f "$MEMOIR_LIB")" "$place/libmemoir.so"
chmod 755 "$place/libmemoir.so"
cat >"$place/works.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void *volatile last;
int main(int count, char **words)
{
    char pipe[4096];
    for (int i = 0; i < 100; i++)
        last = memset(malloc(10000), 1, 10000);
    for (volatile long i = 0; i < 50000000; i++)
        ;
    snprintf(pipe, sizeof pipe, "%s_%d", count > 2 ? words[2] : "", (int)getpid());
    if (count > 2 && mkfifo(pipe, 0600) != 0)
        return 3;
    if (words[1][0] == 'w')
        sleep(60);
    raise(SIGKILL);
}
END
build "$place/works.c" -o "$place/works"
chmod 755 "$place/works"
settle
mkdir -m 700 victim own
mkdir home
chown 65534:65534 home
nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
run() { # WORDS...
    timeout 60 "$MEMOIR_TOOL" run --lib "$place/libmemoir.so" --exact "$@" 2>"$place/errors"
}
intact() {
    [ "$(ls victim)" = precious ] || fail "$what: the other folder has $(ls victim): $(cat errors)"
}
shelves() { # of this test
    grep -l "^folder:$place/" /dev/shm/memoir-0-*/about 2>/dev/null | sed 's,/about$,,'
}
echo something >victim/precious

what='the folder is exchanged for a link'
cat >exchange.sh <<END
for folder in $place/home/.memoir-*; do
    mv \$folder $place/home/moved
    ln -s $place/victim \$folder
done
exec $place/works k
END
(cd home && run $nobody sh ../exchange.sh) >/dev/null 2>&1
intact
[ "$(find home -name '*.memoir' | wc -l)" -eq 1 ] || fail "$what: $(ls -la home; cat errors)"
rm -rf home/* home/.memoir-*

what='the folder is exchanged before it is recovered'
(cd home && exec "$MEMOIR_TOOL" run --lib "$place/libmemoir.so" --exact $nobody "$place/works" w) 2>errors &
runs=$!
worker=
for _ in $(seq 100); do
    sleep 0.1
    shelf=$(shelves)
    worker=$(pgrep -P $runs)
    [ -n "$shelf" ] && [ -n "$(find "$shelf" -name 'state*[0-9]' -user 65534 2>/dev/null)" ] && break
done
sleep 0.5
# a file of that user's that says it is the one of this script, which lives on
state=$(find "$shelf" -name 'state*[0-9]' -user 65534)
little() { # NUMBER BYTES
    number=$1
    for _ in $(seq "$2"); do
        printf "\\$(printf %o $((number % 256)))"
        number=$((number / 256))
    done
}
little $$ 4 >claim
little "$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)" 8 >>claim
chmod 644 claim
$nobody sh -c "cp $state $state-2 && dd if=$place/claim of=$state-2 bs=1 seek=20 conv=notrunc" 2>errors || fail "$what: $(cat errors)"
kill -9 $runs "$worker"
wait $runs 2>/dev/null
$nobody sh -c "cd $place/home && for folder in .memoir-*; do mv \$folder moved && ln -s $place/victim \$folder; done"
(cd own && timeout 60 "$MEMOIR_TOOL" recover "$shelf") 2>errors || fail "$what: $(cat errors)"
intact
[ "$(find own -name '*.memoir' | wc -l)" -eq 1 ] && [ -z "$(find own -name '.memoir-*')" ] ||
    fail "$what: $(ls -la own; cat errors)"
[ ! -e "$shelf" ] || fail "$what: left behind: $(ls -lR "$shelf")"
rm -rf home/* home/.memoir-* own/*

what='a pipe where the profile is to be'
CPUPROFILE=$place/home/cpu run -o "$place/own" $nobody ./works k "$place/home/cpu"
grep -q 'ended by signal 9' errors || fail "$what: $(cat errors)"
[ -n "$(find home -name 'cpu_*' -type f -user 65534 -size +0)" ] || fail "$what: $(ls -l home; cat errors)"

what='a name with orders for the terminal'
CPUPROFILE=$place/home/$(printf 'a\033]0;b\007') run -o "$place/own" $nobody ./works k
grep -q 'home/a?]0;b?_' errors && ! grep -q "$(printf '\033')" errors || fail "$what: $(cat -v errors)"
rm -rf own/*

what='folders, links, pipes and files with holes beside the recorder files'
cat >litter.sh <<END
cd "\$(echo "\$MEMOIR" | tr ',' '\n' | sed -n 's,^recorder=\(.*\)/state\$,\1,p')" || exit 1
mkdir -p one/two/three .hidden
ln -s $place/victim link
ln -s $place/victim/precious one/two/link
ln -s $place/victim one/folder
mkfifo pipe one/pipe
: >one/two/three/file
for number in 1 2 3; do
    truncate -s 1000M holes-\$number
    dd if=state-\$\$ of=holes-\$number bs=64k conv=notrunc 2>/dev/null
done
pwd >$place/home/where
echo \$\$ >$place/home/number
exec $place/works k
END
run -o "$place/own" $nobody sh "$place/litter.sh"
[ -s home/where ] || fail "$what: $(cat errors)"
[ ! -e "$(cat home/where)" ] && [ ! -e "$(dirname "$(cat home/where)")" ] ||
    fail "$what: left behind: $(ls -lR "$(cat home/where)")"
intact
[ "$(grep -c . victim/precious)" -eq 1 ] || fail "$what: another file has changed"
# setpriv, sh and works
[ "$(find own -name "*-$(cat home/number)-*" | wc -l)" -eq 3 ] || fail "$what: holes were read: $(ls own; cat errors)"
[ -z "$(shelves)" ] || fail "left behind: $(shelves)"
finish
