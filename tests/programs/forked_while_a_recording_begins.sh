#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that begins to keep a recorder file while it runs, here because it starts gperftools' heap
# profile, forks in another thread at that very moment. Its child, which is killed, has its own file
# in /dev/shm beside the parent's, and none elsewhere. strace holds up the thread that makes the file.
. "$(dirname "$0")/common.sh"
: "${MEMOIR_TOOL:?}"
strace -f -o /dev/null true 2>/dev/null || skip "strace is not installed, or may not trace"
unshare -m true 2>/dev/null || skip "no /dev/shm of our own"
cat >"$place/begins.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { CHILDREN = 3 };
static volatile int begun, done;
__attribute__((noinline)) void *keep_some(size_t size)
{
    return memset(malloc(size), 1, size);
}
static void *forks(void *unused)
{
    while (!begun)
        ;
    usleep(500000); /* the other thread has begun by then, and is held up for longer */
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (int k = 0; k < 30; k++)
                keep_some(100000);
            raise(SIGKILL);
        }
        printf("%s %d\n", done ? "late" : "child", child);
    }
    while (wait(NULL) > 0)
        ;
    return unused;
}
int main(void)
{
    void (*start)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "HeapProfilerStart");
    pthread_t thread;
    keep_some(1000);
    pthread_create(&thread, NULL, forks, NULL);
    begun = 1;
    start("begun");
    done = 1;
    pthread_join(thread, NULL);
    fflush(stdout);
    raise(SIGKILL);
}
END
build "$place/begins.c" -o "$place/begins"
settle
cat >inside.sh <<'END'
mount -t tmpfs -o size=64m none /dev/shm || exit 77
strace -f -o trace -e trace=getdents64 -e inject=getdents64:delay_enter=3000000:when=1 \
    env MEMOIR=heap.rate:0 LD_PRELOAD="$1" ./begins >out 2>errors
ls -A /dev/shm >files
END
unshare -m sh inside.sh "$MEMOIR_LIB"
[ $? -ne 77 ] || skip "no /dev/shm of our own"
[ "$(grep -c '^child ' out)" -eq 3 ] || fail "not forked in time: $(cat out errors)"
[ "$(grep -c '^memoir-.*-end-' files)" -eq 4 ] || fail "files: $(cat files errors)"
while read -r _ child; do
    grep -qx "memoir-$(id -u)-end-$child" files || fail "child $child has no file: $(cat files)"
    for folder in "" .; do
        [ ! -e "$folder/-$child" ] || fail "a file $folder/-$child"
        rm -f "$folder/-$child"
    done
done <out
finish
