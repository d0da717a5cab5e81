/* SPDX-License-Identifier: MIT */
/* The address space ends: every entry point returns NULL with ENOMEM, what is allocated stays
 * intact, freeing makes room again, and threads can start and end meanwhile. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/programs/work.h"

enum { ROOM_MIB = 192, BLOCKS_MAX = 400000, ENTRY_POINTS = 9 };

static unsigned char *blocks[BLOCKS_MAX];

static void *by_entry_point(unsigned which, size_t size)
{
    void *block = NULL;
    switch (which) {
    case 0:
        return malloc(size);
    case 1:
        return calloc(1, size);
    case 2:
        return realloc(NULL, size);
    case 3:
        return reallocarray(NULL, 1, size);
    case 4:
        return aligned_alloc(64, size);
    case 5:
        return memalign(4096, size);
    case 6:
        return valloc(size);
    case 7:
        return pvalloc(size);
    default:
        errno = posix_memalign(&block, 256, size);
        return block;
    }
}

/* Fills the address space by one entry point, checks, and frees all. Returns how many there
 * were. */
static unsigned exhaust(unsigned which, size_t size)
{
    unsigned count = 0;
    for (; count < BLOCKS_MAX; count++) {
        errno = ERRNO_UNTOUCHED;
        blocks[count] = by_entry_point(which, size);
        if (blocks[count] == NULL) {
            CHECK_AT(errno == ENOMEM, "entry point %u size %zu left errno %d", which, size, errno);
            break;
        }
        pattern_fill(blocks[count], size < 64 ? size : 64, count);
    }
    /* No room, but a resize that fails leaves the block, and a smaller one is always possible. */
    if (count > 1 && count < BLOCKS_MAX) {
        errno = ERRNO_UNTOUCHED;
        CHECK(realloc(blocks[0], (size_t)ROOM_MIB << 20) == NULL && errno == ENOMEM);
        CHECK(malloc((size_t)ROOM_MIB << 20) == NULL);
        CHECK(calloc(1, (size_t)ROOM_MIB << 20) == NULL);
        blocks[1] = realloc(opaque_ptr(blocks[1]), size / 2 + 1);
        CHECK(blocks[1] != NULL);
    }
    for (unsigned i = 0; i < count; i++) {
        size_t kept = size < 64 ? size : 64;
        kept = i == 1 && kept > size / 2 ? size / 2 : kept;
        CHECK_AT(pattern_differs_at(blocks[i], kept, i) == kept, "block %u of %u, size %zu", i,
                 count, size);
    }
    for (unsigned i = 0; i < count; i++) {
        free(blocks[i]);
    }
    return count;
}

/* Threads start while there is nothing left, or fail to start in good order. */
static void threads_without_memory(void)
{
    unsigned count = 0;
    while (count < BLOCKS_MAX && (blocks[count] = malloc(60000)) != NULL) {
        count++;
    }
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        bool good = false;
        if (pthread_create(&thread, NULL, thread_works, &good) == 0) {
            CHECK_EQ(pthread_join(thread, NULL), 0);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        free(blocks[i]);
    }
}

int main(void)
{
    const size_t sizes[] = {600, 5000, 30000, 200000, 3000000};
    struct rlimit limit = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    char line[300];
    unsigned long pages = 0;
    alarm(110);
    CHECK(heap_works(1));
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fgets(line, sizeof line, file) == NULL ||
        sscanf(line, "%lu", &pages) != 1) {
        return 2;
    }
    fclose(file);
    limit.rlim_cur = limit.rlim_max = pages * (rlim_t)getpagesize() + ((rlim_t)ROOM_MIB << 20);
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    void *probe =
        mmap(NULL, (size_t)2 * ROOM_MIB << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe != MAP_FAILED) {
        check_say("this system has no limit on the address space\n");
        return 77;
    }
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        unsigned min = BLOCKS_MAX;
        for (unsigned which = 0; which < ENTRY_POINTS; which++) {
            unsigned count = exhaust(which, sizes[s]);
            min = count < min ? count : min;
        }
        /* At least half of the room must be had, in whatever sizes it was used before. */
        size_t step = sizes[s] < 4096 ? 4096 : sizes[s] + 4096;
        CHECK_AT(min >= ((size_t)ROOM_MIB << 19) / step, "only %u blocks of %zu", min, sizes[s]);
    }
    threads_without_memory();
    CHECK(heap_works(2));
    return check_result();
}
