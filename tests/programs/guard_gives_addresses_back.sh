#!/bin/sh
# SPDX-License-Identifier: MIT
# A program that lowers RLIMIT_AS, although guarded blocks have a reserve of 1 TiB of addresses: it gets
# its memory, and one line says what was given back. The same for blocks with an owner, for smaller ones
# when all addresses are in freed larger ones, and for other sizes under RLIMIT_DATA. So does one with a
# recorder file. Guarded blocks count for the option limit.
. "$(dirname "$0")/common.sh"
cd "$place" || exit 2
cat >lowers.c <<'END_OF_PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
int main(void)
{
    enum { COUNT = 3000 };
    static char *blocks[COUNT];
    struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    char *first = malloc(100000);
    memset(first, 1, 100000);
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            size_t size = i % 100 == 0 ? 400000 : (size_t)i * 3;
            if ((blocks[i] = malloc(size)) == NULL)
                return printf("no memory: block %d of round %d\n", i, round);
            memset(blocks[i], i, size);
        }
        for (int i = 0; i < COUNT; i++)
            free(blocks[i]);
    }
    printf("ok %d\n", first[5000]);
    return 0;
}
END_OF_PROGRAM
cat >threads.c <<'END_OF_PROGRAM'
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
static void *nothing(void *argument)
{
    return argument;
}
int main(int count, char **arguments)
{
    struct rlimit limit = {(rlim_t)1 << 30, RLIM_INFINITY};
    pthread_t thread;
    if ((count > 1 ? prlimit(0, RLIMIT_AS, &limit, NULL) : setrlimit(RLIMIT_AS, &limit)) != 0)
        return 2;
    if (setrlimit(1000, &limit) != -1)
        return 3;
    int error = pthread_create(&thread, NULL, nothing, NULL);
    void *page = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("thread %d mapping %d\n", error, page == MAP_FAILED);
    return 0;
}
END_OF_PROGRAM
# The next thread and mapping of the program find addresses, before the heap has asked for any.
build threads.c -pthread -o threads
for options in heap:on guard:sampled guard:full debug:on harden:on; do
    for call in '' prlimit; do
        got=$(MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./threads $call 2>err)
        [ "$got" = "thread 0 mapping 0" ] || fail "$options $call: exit code $?: $got $(cat err)"
    done
done
build lowers.c -o lowers
for options in heap:on guard:sampled guard:full guard:full,guard.memory:4M debug:on harden:on; do
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./lowers >out 2>err || fail "$options: exit code $?: $(cat out err)"
    [ "$(cat out)" = "ok 1" ] || fail "$options: $(cat out err)"
    lines=$(grep -c 'lowered its limit of addresses' err)
    [ "$lines" -le 1 ] || fail "$options: said $lines times: $(cat err)"
    case $options in
    debug:on | *guard.memory*) [ "$lines" -eq 1 ] || fail "$options: nothing is said: $(cat err)" ;;
    esac
done

# The same with a recorder file, which has a reserve of addresses, too; also in a forked child.
cat >lowers_more.c <<'END_OF_PROGRAM'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **words)
{
    struct rlimit limit = {(rlim_t)96 << 20, (rlim_t)96 << 20};
    char *volatile first = malloc(100000);
    int got = 0, status = 0;
    memset(first, 1, 100000);
    if (count > 1 && strcmp(words[1], "child") == 0 && fork() != 0)
        return wait(&status) > 0 && status == 0 ? 0 : 3;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        return 2;
    for (void *volatile block; got < 20 && (block = malloc(1000000)) != NULL; got++)
        memset(block, 1, 1000000);
    return printf("%d blocks\n", got) > 0 && got == 20 ? 0 : 1;
}
END_OF_PROGRAM
build lowers_more.c -o lowers_more
for options in heap:on heap.rate:0 harden:on; do
    for who in itself child; do
        MEMOIR=$options,recorder:$place/recorder LD_PRELOAD=$MEMOIR_LIB ./lowers_more $who >out 2>err ||
            fail "recorder, $options, $who: exit code $?: $(cat out err)"
        rm -f recorder*
    done
done
"$MEMOIR_TOOL" run --output lowered.memoir --lib "$MEMOIR_LIB" ./lowers_more >out 2>err || fail "run: $(cat out err)"

cat >fills.c <<'END_OF_PROGRAM'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
static void *heap, *(*heap_malloc)(void *, size_t);
static void *take(size_t size)
{
    return heap == NULL ? malloc(size) : heap_malloc(heap, size);
}
static size_t fill(size_t size)
{
    struct block { struct block *next; } *blocks = NULL, *block;
    size_t taken = 0;
    for (; (block = take(size)) != NULL; taken += size) {
        block->next = blocks;
        blocks = block;
    }
    while ((block = blocks) != NULL) {
        blocks = block->next;
        free(block);
    }
    return taken >> 20;
}
int main(int count, char **args) /* KIND SIZE SIZE-AFTER-FREES MEGABYTES [data] */
{
    size_t megabytes = strtoul(args[4], NULL, 0);
    struct rlimit limit = {megabytes << 20, megabytes << 20};
    if (strcmp(args[1], "owned") == 0) {
        *(void **)&heap_malloc = dlsym(RTLD_DEFAULT, "mi_heap_malloc");
        heap = ((void *(*)(void))dlsym(RTLD_DEFAULT, "mi_heap_new"))();
    }
    if (megabytes != 0 && setrlimit(count > 5 ? RLIMIT_DATA : RLIMIT_AS, &limit) != 0)
        return 2;
    size_t before = fill(strtoul(args[2], NULL, 0)), after = fill(strtoul(args[3], NULL, 0));
    printf("%zu %zu\n", before, after);
    return 0;
}
END_OF_PROGRAM
build fills.c -o fills
fills() { # OPTIONS LEAST MOST ARGUMENTS...
    options=$1 least=$2 most=$3
    shift 3
    MEMOIR=$options LD_PRELOAD=$MEMOIR_LIB ./fills "$@" >out 2>err || fail "$options, $*: exit code $?: $(cat out err)"
    read -r first second <out
    [ "$first" -ge "$least" ] && [ "$first" -le "$most" ] || fail "$options, $*: $first MiB: $(cat err)"
    [ "$second" -ge $((first / 2)) ] || fail "$options, $*: $first MiB, after frees $second: $(cat err)"
}
for kind in plain owned; do
    fills guard:full,guard.memory:8M 8 300 $kind 3000 3000 200
    fills debug:on,guard.memory:8M 8 300 $kind 3000 3000 200
    for options in guard:full debug:on guard:sampled,guard.rate:1,heap.rate:4K harden:on; do
        fills limit:24M,$options 8 24 $kind 9000 9000 0
    done
done
fills limit:40M,harden:on 20 40 plain 1000000 1000000 0
fills harden:on 20 100 plain 1000000 1000000 100
fills guard:full,guard.memory:60M 20 300 plain 33000 25000 64
# What the program gets within its limit does not depend on the reserve: the kernel would give 4 GiB.
for kind in plain owned; do
    fills guard:full 20 64 $kind 1000 1000 64
    fills debug:on 20 64 $kind 30000 30000 64
done
# pages of smaller freed blocks, and then of larger ones, where the limit counts what is writable
for kind in plain owned; do
    fills guard:full 6 64 $kind 1000 5000 64 data
    fills guard:full 20 64 $kind 20000 1000000 64 data
    fills guard:full 20 64 $kind 1000000 30000 64 data
done

# a size that no memory has is no reason to say that blocks are no longer guarded
fills guard:full 0 0 plain 4611686018427387904 4611686018427387904 0
quiet err
finish
