#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A thread that only allocates and one that only frees meet at the centre, and there seldom: with some MiB
# in use their bins take and give some hundred blocks a visit. callgrind counts the visits, each of
# which takes a lock; the difference of a long and a short run is free of the start.
#
# Positive control: bins that may hold 16 KiB go there many times as often.
tools=valgrind
. "$(dirname "$0")/common.sh"

cat >"$place/pipe.c" <<'END_OF_C'
/* pipe BATCHES: a thread hands batches of 64 bytes to another one, 16 of them at a time under way. */
#include <pthread.h>
#include <stdlib.h>

enum { BLOCKS = 4096, UNDER_WAY = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static void **queue[UNDER_WAY];
static size_t put, taken, batches;

static void *release(void *unused)
{
    for (size_t batch = 0; batch < batches; batch++) {
        pthread_mutex_lock(&lock);
        while (put == taken)
            pthread_cond_wait(&changed, &lock);
        void **blocks = queue[taken % UNDER_WAY];
        taken++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        for (size_t i = 0; i < BLOCKS; i++)
            free(blocks[i]);
        free(blocks);
    }
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t other;
    if (count != 2)
        return 2;
    batches = strtoul(arguments[1], NULL, 10);
    if (pthread_create(&other, NULL, release, NULL) != 0)
        return 1;
    for (size_t batch = 0; batch < batches; batch++) {
        void **blocks = malloc(BLOCKS * sizeof *blocks);
        for (size_t i = 0; i < BLOCKS; i++)
            blocks[i] = malloc(64);
        pthread_mutex_lock(&lock);
        while (put - taken == UNDER_WAY)
            pthread_cond_wait(&changed, &lock);
        queue[put % UNDER_WAY] = blocks;
        put++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return pthread_join(other, NULL);
}
END_OF_C
"${CC:-cc}" -O2 -fno-builtin -pthread -o "$place/pipe" "$place/pipe.c"

# a_million OPTIONS: visits for a million blocks after the first 500,000
a_million() {
    short=$(visits "$1" "$place/pipe" 122)
    long=$(visits "$1" "$place/pipe" 366)
    [ "$short" -gt 100 ] || { echo "nothing is counted: $short" >&2 && return 1; }
    echo $((long - short))
}

count=$(a_million '')
echo "$count visits to the centre for a million blocks that another thread frees, at most 5000"
control=$(a_million ,cache:16K)
echo "control: $control visits where bins may hold 16 KiB"
[ "$count" -le 5000 ] && [ "$control" -gt $((4 * count)) ]
