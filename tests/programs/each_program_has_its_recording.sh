#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=300
#
# memoir run keeps the recording of every program that a run goes through: of programs that one
# process becomes by exec, also from a thread and after a daemon's double fork; of processes with
# the same number in different namespaces; and of those that a shell leaves behind as it ends, or
# that are forked and exec'd while run looks who is left.
. "$(dirname "$0")/common.sh"
cat >"$place/steps.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static char **rest;
static void *become(void *unused)
{
    execvp(rest[0], rest);
    return unused;
}
__attribute__((noinline)) static void keep(int megabytes)
{
    for (int i = 0; i < megabytes; i++)
        memset(malloc(1 << 20), 1, 1 << 20);
}
static void *last(void *unused)
{
    sleep(1);
    keep(3);
    raise(SIGKILL);
    return unused;
}
/* Words: a number of MiB to keep; w MS, k(ill), f: fork, and the parent ends; s(etsid); e WORDS... and t WORDS...:
 * exec, from a thread; l: the first thread ends, another one goes on. */
int main(int argc, char **argv)
{
    pthread_t thread;
    for (int i = 1; i < argc; i++) {
        rest = argv + i + 1;
        switch (argv[i][0]) {
        case 'w': usleep((unsigned)atoi(argv[++i]) * 1000); break;
        case 'k': raise(SIGKILL); break;
        case 'f': if (fork() > 0) _exit(0); break;
        case 's': setsid(); break;
        case 'e': become(NULL); return 99;
        case 't': pthread_create(&thread, NULL, become, NULL); for (;;) pause();
        case 'l': pthread_create(&thread, NULL, last, NULL); pthread_exit(NULL);
        default: keep(atoi(argv[i]));
        }
    }
    return 0;
}
END
build "$place/steps.c" -o "$place/steps" -lpthread
export LC_ALL=C.UTF-8

try() { # ROUNDS "PEAK..." COMMAND...
    rounds=$1 peaks=$2
    shift 2
    for _ in $(seq "$rounds"); do
        rm -rf "$place/here" && mkdir "$place/here"
        (cd "$place/here" && "$MEMOIR_TOOL" run -o . "$@") >"$place/out" 2>"$place/errors"
        for peak in $peaks; do # two of one second differ by a number
            want=$(printf '%s\n' $peaks | grep -cx "$peak")
            [ "$(find "$place/here" -name "*-peak$peak.memoir" -o -name "*-peak$peak-2.memoir" | wc -l)" -ge "$want" ] ||
                fail "$*: no recording of $peak: $(ls -a "$place/here") $(cat "$place/errors")"
        done
        [ -z "$(find "$place/here" -name '.*' -mindepth 1)" ] || fail "$*: left $(ls -a "$place/here")"
        [ -z "$(grep -l "^folder:$place/" /dev/shm/memoir-*/about 2>/dev/null)" ] || fail "$*: a shelf is left"
    done
}
try 1 '3.0M 5.0M 4.0M' ../steps 3 e ../steps 5 e ../steps 4 k
try 1 '3.0M 3.0M' ../steps 3 e ../steps 3
try 1 '3.0M 5.0M' ../steps 3 t ../steps 5 k
try 1 '3.0M 5.0M' ../steps 3 t ../steps 5
try 3 '2.0M 9.0M' ../steps 2 f s f w 50 e ../steps 9 k
try 10 '2.0M 6.0M 14M' ../steps 2 f s 4 f 8 w 100 k
try 10 '4.0M' sh -c '../steps 4 w 100 k &'
try 1 '2.0M 7.0M' ../steps 2 f 2 l # 3 more in the last thread of the child
if unshare -pf true 2>/dev/null; then
    try 1 '6.0M 4.0M 2.0M 2.0M' sh -c 'for n in 6 4 2 2; do unshare -pf ../steps $n; done'
fi

# The largest is told of, and where it was not the last one that is said.
cd "$place/here" && find . -mindepth 1 -delete
"$MEMOIR_TOOL" run ../steps 9 e ../steps 3 2>"$place/errors" || fail "exec: $(cat "$place/errors")"
grep -q '^    as it was before it became another program (exec): ../steps 9 e ../steps 3$' "$place/errors" ||
    fail "it is not told of: $(cat "$place/errors")"
grep -q '^    peak 9.00 MiB' "$place/errors" || fail "another peak: $(cat "$place/errors")"
"$MEMOIR_TOOL" run env X=1 ../steps 3 2>"$place/errors" || fail "env: $(cat "$place/errors")"
grep -q 'exec\|processes' "$place/errors" && fail "env is told of: $(cat "$place/errors")"
finish
try 1 '2.0M' ../steps $(for _ in $(seq 120); do echo e ../steps; done) 2 k # one after the other
