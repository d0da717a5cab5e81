#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
# Whatever happens to a dump, the program goes on as if there were none, and what is under the name
# of a dump is a whole one. Each system call of a dump fails in its turn, and the program is killed
# at each in its turn; then the disk is full, read-only, a link is in the way, the folder is missing.
. "$(dirname "$0")/common.sh"
need strace gzip
build "$root/tests/programs/dumps.c" -o "$place/program"
strace -f -o /dev/null true 2>/dev/null || skip "strace may not trace here"
out=$place/out
# recorder.end: what it looks at in /dev/shm depends on what else was killed on the machine.
export MEMOIR=heap.rate:0,dump.format:pprof,dump.exit:on,dump.prefix:$out/p,recorder.end:off

# whole: every file that has the name of a dump can be read to its end
whole() {
    for file in "$out"/p*; do
        [ ! -e "$file" ] || gzip -t "$file" 2>/dev/null || fail "$1: $file is torn"
    done
}

# one_line: at most one line was said, and it is ours
one_line() {
    [ "$(wc -l <"$place/said")" -le 1 ] || fail "$1: said $(cat "$place/said")"
    grep -qv '^memoir: no dump ' "$place/said" && fail "$1: said $(cat "$place/said")"
}

fresh() {
    rm -rf "$out"
    mkdir "$out"
}

# The loader makes more or fewer calls for a library at another address.
same=
setarch -R true 2>/dev/null && same='setarch -R'
# The calls of the dump alone, and how many of each kind come before. Of many of a kind the first
# and some others are tried. The walk over stacks makes more or fewer calls of rt_sigprocmask.
fresh
strace -o "$place/trace" $same env LD_PRELOAD="$MEMOIR_LIB" "$place/program" grow 1
grep -n 'openat(.*/out/\.' "$place/trace" | head -n 1 | cut -d: -f1 >"$place/from"
[ -s "$place/from" ] || fail "no dump was made: $(tail -n 3 "$place/trace")"
sed -n "$(cat "$place/from"),\$p" "$place/trace" | grep -o '^[a-z_0-9]*(' | tr -d '(' |
    grep -v -e '^exit' -e '^rt_sigprocmask' | sort | uniq -c >"$place/calls"
sed "$(cat "$place/from"),\$d" "$place/trace" | grep -o '^[a-z_0-9]*(' | tr -d '(' >"$place/before"

while read -r times call; do
    before=$(grep -cx "$call" "$place/before")
    n=1
    while [ $n -le "$times" ]; do
        for error in EIO ENOSPC EINTR; do
            fresh
            strace -o /dev/null -e inject="$call:error=$error:when=$((before + n))" \
                $same env LD_PRELOAD="$MEMOIR_LIB" "$place/program" grow 1 >"$place/said" 2>&1 ||
                fail "$call $n fails with $error: exit code $?"
            whole "$call $n $error"
            one_line "$call $n $error"
            case $call in
            unlinkat) ;;
            *) [ "$(find "$out" -name '.memoir*' | wc -l)" -eq 0 ] ||
                fail "$call $n fails with $error: left $(ls -A "$out")" ;;
            esac
        done
        fresh
        strace -o /dev/null -e inject="$call:signal=KILL:when=$((before + n))" \
            $same env LD_PRELOAD="$MEMOIR_LIB" "$place/program" grow 1 >"$place/said" 2>&1
        code=$?
        [ $code -eq 137 ] || fail "$call $n: not killed but $code"
        whole "$call $n killed"
        # The next one cleans up.
        preload "$place/program" grow 1
        [ "$(find "$out" -name '.memoir*' | wc -l)" -eq 0 ] ||
            fail "$call $n killed: $(ls -A "$out") stays"
        n=$((n + 1 + times / 16))
    done
    echo "$call: $times calls"
done <"$place/calls"

# Files that may not be that large: the signal for it must not end the program, either.
fresh
(ulimit -f 0 && preload "$place/program" grow 1 && echo "it went on") 2>&1 | cat >"$place/said"
grep -q '^memoir: no dump .*ulimit -f' "$place/said" || fail "ulimit -f: $(cat "$place/said")"
grep -qx 'it went on' "$place/said" || fail "ulimit -f: it ended the program"
[ -z "$(ls -A "$out")" ] || fail "ulimit -f: left $(ls -A "$out")"

# No folder; a file in its place.
rm -rf "$out"
preload "$place/program" grow 1 2>"$place/said" || fail "no folder: exit code $?"
grep -q '^memoir: no dump .*make it' "$place/said" || fail "no folder: $(cat "$place/said")"
grep -q 'with dump.prefix ' "$place/said" || fail "no folder: $(cat "$place/said")"
one_line "no folder"
MALLOC_CONF=prof_final:true,prof:true,prof_prefix:$out/j MEMOIR='' preload "$place/program" grow 1 \
    2>"$place/said"
grep -q '^memoir: no dump .*with prof_prefix ' "$place/said" ||
    fail "no folder for jemalloc's: $(cat "$place/said")"
HEAPPROFILE=$out/g MEMOIR='' preload "$place/program" grow 1 2>"$place/said"
grep -q '^memoir: no dump .*with HEAPPROFILE ' "$place/said" ||
    fail "no folder for gperftools': $(cat "$place/said")"
preload "$place/program" grow 1 dump "$out/named" >/dev/null 2>"$place/said"
grep -q '^memoir: no dump .*/named: .*choose another one (error 2)' "$place/said" ||
    fail "no folder of that name: $(cat "$place/said")"

# Real disks that are full or read-only, where we may mount one.
fresh
if [ "$(id -u)" -eq 0 ] && mount -t tmpfs -o size=4k none "$out" 2>/dev/null; then
    echo full >"$out/full"
    preload "$place/program" grow 1 2>"$place/said" || fail "a full disk: exit code $?"
    grep -q '^memoir: no dump .*full' "$place/said" || fail "a full disk: $(cat "$place/said")"
    one_line "a full disk"
    [ "$(ls -A "$out")" = full ] || fail "a full disk: left $(ls -A "$out")"
    MEMOIR=$MEMOIR,dump.every:1M preload "$place/program" grow 20 2>"$place/said" ||
        fail "a full disk, again and again: exit code $?"
    one_line "a full disk, again and again"
    mount -o remount,ro "$out"
    preload "$place/program" grow 1 2>"$place/said" || fail "a read-only disk: exit code $?"
    grep -q '^memoir: no dump .*read-only' "$place/said" || fail "read-only: $(cat "$place/said")"
    umount "$out"
fi

# A link at the very name: never followed.
fresh
echo precious >"$place/victim"
ln -s "$place/victim" "$out/link"
preload "$place/program" grow 1 dump "$out/link" >/dev/null 2>"$place/said"
grep -q '^memoir: no dump .*symbolic link' "$place/said" || fail "a link: $(cat "$place/said")"
[ "$(cat "$place/victim")" = precious ] || fail "a link was followed"
[ "$(find "$out" -name 'p-*' -perm 600 | wc -l)" -eq 1 ] || fail "modes: $(ls -l "$out")"
finish
