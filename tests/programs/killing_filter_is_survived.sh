#!/bin/sh
# SPDX-License-Identifier: MIT
# Promise 21: under a seccomp filter that kills, a program with threads and forks needs no other
# system calls than under glibc's malloc, but for getpid; each feature needs those of docs/CONTROL.md,
# and no more. A feature whose calls the filter would end the program for stops before that, and says
# so once.
. "$(dirname "$0")/common.sh"
settle
build "$root/tests/programs/killing_filter_is_survived.c" -o target
"$place/target" '' tell >/dev/null 2>&1
[ $? -ne 77 ] || skip "no filter can be set"

survives() { # FEATURE OPTIONS [WORD]...
    feature=$1
    options=$2
    shift 2
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./target "$feature" "$@" >out 2>&1
    got=$?
    [ "$got" -eq 0 ] && return
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./target "$feature" tell "$@" >told 2>&1
    fail "'$feature' $*, options '$options': exit code $got: $(cat out told)"
}

survives '' ''
survives '' control:off
survives exact heap.rate:0
survives exact heap.rate:4K
survives dump dump.prefix:p
"$MEMOIR_TOOL" top now.memoir >out 2>&1 || fail "the dump: $(cat out)"

survives leaks leak.at_exit:on
survives leaks leak.at_exit:on,heap.rate:4K
quiet out

# what a filter that allows none of it leaves: the program, and what was recorded until then
said_once() { # WHAT
    lines=$(grep -c '^memoir:' out)
    [ "$lines" -eq 1 ] && grep -q 'seccomp filter' out || fail "$1: said $lines times: $(cat out)"
}
survives '' heap.rate:0
quiet out
survives '' heap.rate:4K sync
for options in capture:c.memoir,capture.interval:100ms capture:c.memoir,heap.rate:0; do
    for way in '' sync; do
        rm -f c.memoir
        survives '' "$options" $way
        said_once "$options"
        "$MEMOIR_TOOL" top c.memoir >out 2>&1 || fail "the capture: $(cat out)"
    done
done
survives '' cpu:on
quiet out
# in a child that libc's fork did not make, and that has not allocated yet
for options in cpu:on heap.rate:0 heap.rate:4K leak.at_exit:on; do
    survives '' "$options" cloned
    quiet out
done
rm -f c.memoir
survives '' capture:c.memoir cloned
survives '' leak.at_exit:on
survives '' leak.at_exit:on sync
survives '' dump.prefix:d,dump.interval:100ms,dump.exit:on,recorder.end:off # a file could not be removed
said_once 'dumps'
rm -f c.memoir
survives capture capture:c.memoir,capture.interval:100ms
quiet out

# guarded and hardened blocks, after a filter that kills at mprotect
cat >pages.c <<'END'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static void *volatile kept[3000];
static void turn(int rounds)
{
    for (int i = 0; i < rounds * 3000; i++) {
        free(kept[i % 3000]);
        kept[i % 3000] = malloc(i * 7 % 9000);
    }
    void *large = malloc(5 << 20);
    memset(large, 1, 5 << 20);
    free(large);
}
int main(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    turn(2);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return 1;
    turn(20);
    return 0;
}
END
build pages.c -o pages
for options in guard:full guard:sampled,heap.rate:4K debug:on harden:on guard:full,control:off; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./pages >out 2>&1 ||
        fail "no mprotect, options '$options': exit code $?: $(cat out)"
    case $options in guard:full*) said_once "$options" ;; *) quiet out ;; esac
done

# one alternate signal stack for two threads, after a filter that kills on a look at handlers
cat >stacks.c <<'END'
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static char memory[1 << 16];
static pthread_barrier_t both;
static void *give(void *unused)
{
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    sigaltstack(&stack, NULL);
    pthread_barrier_wait(&both);
    return unused;
}
int main(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof steps / sizeof *steps, steps};
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    for (int turn = 0; turn < 2; turn++) { /* libc looks at handlers for its first thread */
        pthread_create(&thread, NULL, give, NULL);
        turn == 0 ? (void)pthread_barrier_wait(&both) : (void)give(NULL);
        pthread_join(thread, NULL);
        if (turn == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                          prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0))
            return 1;
    }
    return 0;
}
END
build stacks.c -o stacks
LD_PRELOAD=$MEMOIR_LIB ./stacks >out 2>&1 || fail "a shared signal stack after a filter: $?: $(cat out)"

# called from outside, and ended by a signal, after the filter
stays() { # FEATURE OPTIONS [WORD]
    rm -f out
    MEMOIR=$2 LD_PRELOAD=$MEMOIR_LIB ./target "$1" stay ${3-} >out 2>err &
    target=$!
    for _ in $(seq 300); do
        grep -q ready out 2>/dev/null && break
        sleep 0.1
    done
}
stays '' ''
for words in "ctl $target" "ctl $target stats" "ctl $target dump now2.memoir" "top $target"; do
    "$MEMOIR_TOOL" $words >said 2>&1
    got=$?
    [ "$got" -eq 4 ] || fail "memoir $words: exit code $got: $(cat said)"
    grep -q 'seccomp filter' said || fail "memoir $words: no reason: $(cat said)"
done
[ ! -e now2.memoir ] || fail "a dump that was not made leaves a file"
"$MEMOIR_TOOL" ps >said 2>&1
kill -URG "$target"
wait "$target"
got=$?
[ "$got" -eq 0 ] || fail "asked from outside: exit code $got"
quiet err
for way in '' deaf; do
    stays control '' $way
    "$MEMOIR_TOOL" ctl "$target" stats >said 2>&1 || fail "control $way: $(cat said)"
    "$MEMOIR_TOOL" ctl "$target" rate 64K >said 2>&1 || fail "control $way: $(cat said)"
    wait "$target"
    got=$?
    [ "$got" -eq 0 ] || fail "control $way: exit code $got"
done
stays '' capture:c.memoir
kill -TERM "$target"
wait "$target"
got=$?
[ "$got" -eq 143 ] || fail "SIGTERM: exit code $got: $(cat err)"

# the filter does kill where the library can't see it: the control of this test
MEMOIR=heap.rate:0 LD_PRELOAD=$MEMOIR_LIB ./target '' raw >out 2>&1
[ $? -eq 159 ] || fail "the filter lets everything pass"
finish
