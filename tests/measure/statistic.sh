#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Counts the instructions of one statistic with callgrind: it does not matter how large the heap
# is, 4 MiB or 400, and a thread more costs little. Asked are glibc's mallinfo2, numbers of
# gperftools' MallocExtension, a fresh epoch of jemalloc's mallctl and a number of the last one, and
# memoir_stats as far as it goes without the kernel. The same holds for malloc_trim of a heap that
# nobody used since the last one.
#
# Positive control: memoir_stats as a whole asks the kernel about each page, and must be seen to
# grow with the heap.
tools=valgrind
. "$(dirname "$0")/common.sh"

cat >"$place/ask.c" <<'END'
/* ask QUESTION MIB THREADS: asks 10 times with MIB mebibytes live and THREADS more threads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memoir/memoir.h"

enum { SIZE = 1000, OWN = 100, TIMES = 10 };

struct info {
    size_t fields[32];
};

static struct info (*info_of)(void);
static int (*extension_of)(const char *name, size_t *value);
static int (*mallctl_of)(const char *name, void *old, size_t *size, void *new, size_t new_size);
static bool (*stats_of)(struct memoir_stats *out, size_t size);
static const char *question;
static pthread_barrier_t ready, done;

static void put(void)
{
    uint64_t value = 0;
    size_t size = sizeof value;
    struct memoir_stats stats;
    if (strcmp(question, "mallinfo2") == 0)
        info_of();
    else if (strcmp(question, "malloc_trim") == 0)
        malloc_trim(0);
    else if (strcmp(question, "epoch") == 0)
        mallctl_of("epoch", NULL, NULL, &value, sizeof value);
    else if (strcmp(question, "memoir_stats") == 0)
        stats_of(&stats, sizeof stats);
    else if (strcmp(question, "live_bytes") == 0)
        stats_of(&stats, offsetof(struct memoir_stats, metadata_bytes));
    else if (strncmp(question, "stats.", 6) == 0)
        mallctl_of(question, &value, &size, NULL, 0);
    else if (!extension_of(question, &size))
        abort();
}

/* What is counted. */
__attribute__((noinline)) void ask(void)
{
    put();
}

static void *visit(void *unused)
{
    void *own[OWN];
    for (int i = 0; i < OWN; i++)
        own[i] = malloc(16 + (size_t)i * 8);
    for (int i = 0; i < OWN; i += 2)
        free(own[i]);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&done);
    return unused;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    question = argv[1];
    long blocks = atol(argv[2]) * (1 << 20) / SIZE, threads = atol(argv[3]);
    *(void **)&info_of = dlsym(RTLD_DEFAULT, "mallinfo2");
    *(void **)&extension_of = dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty");
    *(void **)&mallctl_of = dlsym(RTLD_DEFAULT, "mallctl");
    *(void **)&stats_of = dlsym(RTLD_DEFAULT, "memoir_stats");
    void *volatile held;
    for (long i = 0; i < blocks; i++)
        held = malloc(SIZE);
    (void)held;
    pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&done, NULL, (unsigned)threads + 1);
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, visit, NULL) != 0)
            abort();
    }
    pthread_barrier_wait(&ready);
    put(); /* the first epoch */
    for (int i = 0; i < TIMES; i++) {
        free(malloc(64)); /* no answer is the one before */
        ask();
    }
    pthread_barrier_wait(&done);
    return 0;
}
END
"${CC:-cc}" -O2 -fno-builtin -I"$root/include" -o "$place/ask" "$place/ask.c" -ldl -lpthread

# cost QUESTION MIB THREADS: instructions of one question
cost() {
    env -u MEMOIR LD_PRELOAD="$library" valgrind --tool=callgrind --toggle-collect=ask \
        --callgrind-out-file=/dev/null "$place/ask" "$@" 2>"$place/log" >/dev/null || {
        cat "$place/log" >&2
        return 1
    }
    awk '/Collected *:/ { print int($NF / 10); found = 1 } END { exit !found }' "$place/log"
}

verdict=0

judge() { # WHAT COUNT LIMIT
    if [ "$2" -le 0 ]; then
        echo "$1: counted as '$2': the program did not ask"
        verdict=1
    elif [ "$2" -gt "$3" ]; then
        echo "$1: $2 instructions, more than $3"
        verdict=1
    else
        echo "$1: $2 instructions, at most $3"
    fi
}

for question in mallinfo2 malloc_trim epoch live_bytes stats.allocated stats.resident \
    stats.arenas.0.bins.3.nmalloc generic.current_allocated_bytes generic.total_physical_bytes; do
    small=$(cost $question 4 1)
    # A fresh epoch reads every class of every arena, that of very large blocks among them, and the
    # 191 sizes of large blocks: some 7 us, of which 20 are allowed.
    [ $question = epoch ] && most=31000 || most=15000
    judge "$question, 4 MiB" "$small" $most
    judge "$question, 400 MiB" "$(cost $question 400 1)" $((2 * small))
done
judge "stats.allocated, 101 threads" "$(cost stats.allocated 4 101)" 4000
few=$(cost epoch 4 1)
many=$(cost epoch 4 101)
judge "epoch, a thread more" $(((many - few) / 100)) 2000
few=$(cost malloc_trim 4 1)
many=$(cost malloc_trim 4 101)
more=$(((many - few) / 100)) # noise may make it 0 or less
judge "malloc_trim, a thread more" $((more < 1 ? 1 : more)) 20

small=$(cost memoir_stats 4 1)
large=$(cost memoir_stats 400 1)
if [ "$large" -gt $((2 * small)) ]; then
    echo "control: the kernel's answer takes $small instructions, $large with a larger heap"
else
    echo "control: $large instructions to count the pages of 400 MiB: the count is wrong"
    verdict=1
fi
exit $verdict
