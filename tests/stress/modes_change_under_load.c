/* SPDX-License-Identifier: MIT */
/*
 * Eight threads allocate, free each other's blocks, resize them, fork, end and are replaced, while
 * another one goes from mode to mode: every block recorded, some, none, by every call that can
 * say so, and forgets in between. No block is handed out twice, contents stay, the allocator's sums
 * are those of the shadow, and when all is freed nothing is live in the profile. What was recorded
 * block by block keeps its exact numbers whatever the rate is when it is resized in place.
 */
#include <assert.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memoir/memoir.h"
#include "tests/stress/shadow.h"

#pragma weak memoir_dump
#pragma weak memoir_stats
#pragma weak memoir_set_rate
#pragma weak memoir_start
#pragma weak memoir_stop
int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
void HeapProfilerStart(const char *prefix);
void HeapProfilerStop(void);
#pragma weak mallctl
#pragma weak HeapProfilerStart
#pragma weak HeapProfilerStop

enum { THREADS = 8, SLOTS = 3000, TURNS = 4000, LIVES = 6, SMALL_RATE = 4096, EVERY = 0 };

struct block {
    uint64_t seed;
    size_t size;
    unsigned char rest[];
};

static struct block *_Atomic slots[SLOTS];
static atomic_llong live_blocks, live_bytes; /* of the slots */
static atomic_bool over;
static bool forking;

/* One place for each call, so that the profile's leaf tells ours from others. */
static __attribute__((noinline, noclone)) void *place_take(unsigned way, size_t size)
{
    void *block = way == 0   ? calloc(1, size)
                  : way == 1 ? memalign((size_t)16 << size % 10, size)
                             : malloc(size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static __attribute__((noinline, noclone)) void *place_resize(void *old, size_t size)
{
    void *block = realloc(old, size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

static void fill(struct block *block, size_t size, uint64_t seed)
{
    block->size = size;
    block->seed = seed;
    size_t room = size - sizeof *block;
    fill_walk(block->rest, room, seed, false, 0);
    bool fresh = granules_flip(block, malloc_usable_size(block), true);
    assert(fresh);
    live_blocks++;
    live_bytes += (long long)malloc_usable_size(block);
}

static void check(struct block *block)
{
    size_t room = block->size - sizeof *block;
    assert(fill_walk(block->rest, room, block->seed, true, room) == SIZE_MAX);
    bool ours = granules_flip(block, malloc_usable_size(block), false);
    assert(ours);
    live_blocks--;
    live_bytes -= (long long)malloc_usable_size(block);
}

static size_t any_size(uint64_t *random)
{
    uint64_t kind = mix(random) % 64;
    size_t max = kind == 0 ? 300000 : kind < 8 ? 20000 : 500;
    return sizeof(struct block) + 2 + mix(random) % max;
}

static void turn(uint64_t *random)
{
    struct block *_Atomic *slot = &slots[mix(random) % SLOTS];
    struct block *block = atomic_exchange(slot, NULL);
    uint64_t what = mix(random) % 8;
    if (block == NULL || what == 0) {
        size_t size = any_size(random);
        struct block *made = place_take((unsigned)(mix(random) % 8), size);
        fill(made, size, mix(random));
        made = atomic_exchange(slot, made);
        if (made != NULL) {
            check(made);
            free(made);
        }
    } else if (what < 4) {
        /* Often a little more or less: in place. */
        size_t size = what == 1 ? any_size(random) : block->size + mix(random) % 64;
        check(block);
        block = place_resize(block, size);
        fill(block, size, mix(random));
        block = atomic_exchange(slot, block);
    }
    if (block != NULL) {
        check(block);
        free(block);
    }
}

static void child(void)
{
    uint64_t random = (uint64_t)getpid();
    alarm(60);
    for (unsigned i = 0; i < 300; i++) {
        void *blocks[4];
        for (unsigned k = 0; k < 4; k++)
            blocks[k] = place_take(k, any_size(&random));
        for (unsigned k = 0; k < 4; k++)
            free(blocks[k]);
    }
    _exit(memoir_dump("child.heap") == 0 || access("child.heap", F_OK) == 0 ? 0 : 3);
}

static void *life(void *seed)
{
    uint64_t random = (uint64_t)(uintptr_t)seed;
    /* Some lives are so short that the thread never has a heap. */
    unsigned turns = mix(&random) % 4 == 0 ? 5 : TURNS;
    for (unsigned i = 0; i < turns; i++) {
        turn(&random);
        if (forking && i == turns / 2 && mix(&random) % 4 == 0) {
            pid_t pid = fork();
            if (pid == 0)
                child();
            int status = -1;
            assert(waitpid(pid, &status, 0) == pid && status == 0);
        }
    }
    return NULL;
}

static void *lives(void *seed)
{
    uint64_t random = (uint64_t)(uintptr_t)seed;
    for (unsigned i = 0; i < LIVES; i++) {
        pthread_t thread;
        assert(pthread_create(&thread, NULL, life, (void *)(uintptr_t)(mix(&random) | 1)) == 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void prof_active(bool on)
{
    if (mallctl != NULL)
        mallctl("prof.active", NULL, NULL, &on, sizeof on);
}

static void change(unsigned what, bool forget, bool rarely)
{
    switch (what) {
    case 0:
    case 1:
        memoir_start(EVERY);
        break;
    case 2:
        memoir_start(SMALL_RATE);
        break;
    case 3:
        memoir_start(512 << 10);
        break;
    case 4:
        memoir_stop();
        break;
    case 5:
    case 6:
        prof_active(what == 5);
        break;
    case 7:
        if (HeapProfilerStart != NULL && rarely) { /* it says so each time */
            HeapProfilerStart("modes");
            HeapProfilerStop();
        }
        break;
    default:
        if (forget && mallctl != NULL)
            mallctl("prof.reset", NULL, NULL, NULL, 0);
        memoir_set_rate(what == 8 ? EVERY : SMALL_RATE);
    }
}

static void *changes(void *forget)
{
    uint64_t random = 7;
    while (!over) {
        change((unsigned)(mix(&random) % 10), forget != NULL, mix(&random) % 32 == 0);
        usleep(200);
    }
    return NULL;
}

struct seen {
    double objects, bytes;
};

/* What is live of ours, as the profile has it. Read without stdio, which allocates. */
static struct seen profile_live(void)
{
    static char text[32 << 20];
    struct seen seen = {0, 0};
    size_t length = 0;
    assert(memoir_dump("modes.heap") == 0);
    int fd = open("modes.heap", O_RDONLY);
    for (ssize_t got; (got = read(fd, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    text[length] = '\0';
    for (char *at = strstr(text, "\n@ 0x"); at != NULL; at = strstr(at + 1, "\n@ 0x")) {
        uintptr_t pc = strtoul(at + 3, NULL, 16);
        char *line = strchr(at + 1, '\n');
        bool take = pc - (uintptr_t)place_take < 200, resize = pc - (uintptr_t)place_resize < 100;
        if (!take && !resize)
            continue;
        char *end;
        seen.objects += strtod(strstr(line, "t*:") + 3, &end);
        seen.bytes += strtod(end + 1, NULL);
    }
    return seen;
}

static void free_all(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct block *block = atomic_exchange(&slots[i], NULL);
        if (block == NULL)
            continue;
        check(block);
        free(block);
    }
}

static void load(void *(*beside)(void *), void *argument)
{
    pthread_t threads[THREADS], other;
    over = false;
    if (beside != NULL)
        assert(pthread_create(&other, NULL, beside, argument) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert(pthread_create(&threads[i], NULL, lives, (void *)(i + 100)) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    over = true;
    if (beside != NULL)
        pthread_join(other, NULL);
}

static void sums_are_true(const struct memoir_stats *before)
{
    struct memoir_stats now;
    assert(memoir_stats(&now, sizeof now));
    long long blocks = (long long)(now.live_blocks - before->live_blocks);
    long long bytes = (long long)(now.live_bytes - before->live_bytes);
    /* A few more are the thread library's and a forked child's parent's. */
    if (blocks < live_blocks || blocks > live_blocks + 64 || bytes < live_bytes ||
        bytes > live_bytes + (64 << 10)) {
        fprintf(stderr, "live %lld blocks, %lld bytes; truth %lld, %lld\n", blocks, bytes,
                (long long)live_blocks, (long long)live_bytes);
        abort();
    }
}

static void profile_is(long long blocks, long long bytes, const char *when)
{
    struct seen seen = profile_live();
    if (seen.objects != (double)blocks || seen.bytes != (double)bytes) {
        fprintf(stderr, "%s: %g objects, %g bytes in the profile; truth %lld, %lld\n", when,
                seen.objects, seen.bytes, blocks, bytes);
        abort();
    }
}

static void resize_all(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        struct block *block = slots[i];
        if (block == NULL || block->size - 1 <= malloc_usable_size(block) / 2)
            continue;
        size_t size = block->size - 1;
        check(block);
        block = place_resize(block, size);
        fill(block, size, i);
        slots[i] = block;
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    if (memoir_dump == NULL)
        return 77;
    if (getenv("MEMOIR") == NULL) {
        setenv("MEMOIR", "dump.format:jemalloc", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    unsigned rounds = getenv("MEMOIR_STRESS_SHORT") != NULL ? 2 : 40;
    struct memoir_stats before;
    alarm(rounds * 250);
    assert(memoir_stats(&before, sizeof before));
    for (unsigned round = 0; round < rounds; round++) {
        memoir_start(EVERY);
        load(NULL, NULL);
        sums_are_true(&before);
        profile_is(live_blocks, live_bytes, "every block");
        memoir_set_rate(512 << 10);
        resize_all();
        memoir_set_rate(EVERY);
        profile_is(live_blocks, live_bytes, "resized at another rate");
        forking = true;
        load(changes, NULL);
        sums_are_true(&before);
        free_all();
        sums_are_true(&before);
        memoir_start(EVERY);
        profile_is(0, 0, "after all modes");
        load(changes, &before);
        forking = false;
        sums_are_true(&before);
        free_all();
        memoir_start(EVERY);
        profile_is(0, 0, "after all modes and resets");
    }
    unlink("modes.heap");
    unlink("child.heap");
    return 0;
}
