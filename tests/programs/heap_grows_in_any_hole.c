/* SPDX-License-Identifier: MIT */
/* helper: heap_grows_in_any_hole.sh runs this in each mode of the profiler.
 *
 * Everything that is left of the address space is mapped, as if by a program that keeps it for
 * itself, and the heap is used up. Then a hole is made somewhere, and what fits into it can be had
 * from malloc and all its relatives, wherever the hole is; when it is freed, the hole is a hole
 * again. "limit": the same with little address space (RLIMIT_AS) instead of a full one. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/programs/work.h"

enum { PIECES_MAX = 20000, HELD_MAX = 100000, MIB = 1 << 20, LIMIT_MIB = 96, GIVEN = 32 * MIB };

static struct piece {
    char *start;
    size_t size;
    char *given; /* where GIVEN bytes of it are not this program's any more */
} pieces[PIECES_MAX];
static unsigned piece_count;
static void *held[HELD_MAX];
static unsigned held_count;
static size_t page;

static char *map(void *at, size_t size, int flags)
{
    void *got =
        mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
    return got == MAP_FAILED ? NULL : got;
}

/* Maps all that there is, the largest pieces first. */
static void fill(size_t largest)
{
    for (size_t size = largest; size >= page; size /= 2) {
        char *start;
        while (piece_count < PIECES_MAX && (start = map(NULL, size, 0)) != NULL) {
            pieces[piece_count++] = (struct piece){start, size, NULL};
        }
    }
    CHECK(map(NULL, page, 0) == NULL);
}

static void use_up(void)
{
    static const size_t sizes[] = {2 * MIB, 40000, 5000, 600, 16};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (;;) {
            errno = ERRNO_UNTOUCHED;
            void *block = held_count < HELD_MAX ? malloc(sizes[i]) : NULL;
            if (block == NULL) {
                break;
            }
            held[held_count++] = block;
        }
        CHECK_AT(errno == ENOMEM, "size %zu: errno %d", sizes[i], errno);
    }
}

static void dies_of_second_free(void)
{
    pid_t child = fork();
    if (child == 0) {
        char *block = malloc(3000);
        close(2);
        free(block);
        free(opaque_ptr(block));
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_AT(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x", status);
}

/* All entry points, in a hole of 16 MiB or more. */
static void hole_serves_all(void)
{
    unsigned char *large = malloc(5 * MIB), *aligned = memalign(MIB, 100000), *grown;
    unsigned char *zeros = calloc(3, 70000), *small[2000];
    CHECK(large != NULL && aligned != NULL && zeros != NULL);
    if (large == NULL || aligned == NULL || zeros == NULL) {
        return;
    }
    CHECK(malloc_usable_size(large) >= 5 * MIB && (uintptr_t)aligned % MIB == 0);
    CHECK_EQ(first_other_byte(zeros, 210000, 0), 210000);
    pattern_fill(large, 5 * MIB, 1);
    pattern_fill(aligned, 100000, 2);
    for (unsigned i = 0; i < 2000; i++) {
        size_t size = 1 + i * 37 % 900;
        small[i] = i % 5 == 0   ? calloc(1, size)
                   : i % 7 == 0 ? aligned_alloc(64, size)
                                : malloc(size);
        CHECK_AT(small[i] != NULL && malloc_usable_size(small[i]) >= size, "small block %u", i);
        if (small[i] == NULL) {
            return;
        }
        CHECK(i % 5 != 0 || first_other_byte(small[i], size, 0) == size);
        pattern_fill(small[i], size, i);
    }
    small[0] = realloc(small[0], 5000);
    grown = realloc(zeros, 300000);
    CHECK(small[0] != NULL && grown != NULL && first_other_byte(grown, 210000, 0) == 210000);
    CHECK(pattern_differs_at(large, 5 * MIB, 1) == 5 * MIB);
    CHECK(pattern_differs_at(aligned, 100000, 2) == 100000);
    for (unsigned i = 0; i < 2000; i++) {
        size_t size = 1 + i * 37 % 900;
        CHECK(pattern_differs_at(small[i], size, i) == size);
    }
    dies_of_second_free();
    pid_t child = fork();
    if (child == 0) { /* what the parent has is the child's, too */
        alarm(CHILD_SECONDS);
        free(small[3]);
        free(large);
        void *more = malloc(2 * MIB);
        _exit(more != NULL && pattern_differs_at(small[4], 149, 4) == 149 ? 0 : 1);
    }
    child_ended_well(child);
    for (unsigned i = 0; i < 2000; i++) {
        free(small[i]);
    }
    free(large);
    free(aligned);
    free(grown);
}

static void *churn(void *unused)
{
    static void *_Atomic shared[64];
    for (unsigned i = 0; i < 3000; i++) {
        unsigned char *block = malloc(1 + i * 61 % 3000);
        CHECK(block != NULL);
        if (block != NULL) {
            block[0] = 1;
        }
        free(atomic_exchange(&shared[i % 64], block));
    }
    for (unsigned i = 0; i < 64; i++) {
        free(atomic_exchange(&shared[i], NULL));
    }
    return unused;
}

/* Makes a hole, uses it and sees it again when all is freed. */
static void hole(char *at, size_t size, size_t fits)
{
    struct mallinfo2 before = mallinfo2();
    CHECK_EQ(munmap(at, size), 0);
    errno = ERRNO_UNTOUCHED;
    unsigned char *block = malloc(fits);
    CHECK_AT(block != NULL, "%zu bytes in a hole of %zu at %p", fits, size, (void *)at);
    if (block != NULL) {
        CHECK_EQ(errno, ERRNO_UNTOUCHED);
        pattern_fill(block, fits, 3);
        struct mallinfo2 during = mallinfo2();
        CHECK(during.uordblks + during.hblkhd >= before.uordblks + before.hblkhd + fits);
        CHECK(pattern_differs_at(block, fits, 3) == fits);
        free(block);
    }
    if (size >= 16 * MIB) {
        pthread_t thread;
        hole_serves_all();
        churn(NULL);
        if (pthread_create(&thread, NULL, churn, NULL) == 0) {
            CHECK_EQ(pthread_join(thread, NULL), 0);
        }
    }
}

static void hole_again(char *at, size_t size)
{
    CHECK_AT(map(at, size, MAP_FIXED_NOREPLACE) == at, "%zu bytes at %p", size, (void *)at);
}

/* A hole that stays: libc keeps stacks there and the heap its tables. */
static void hole_for_good(struct piece *piece, size_t middle)
{
    piece->given = piece->start + middle;
    hole(piece->given, GIVEN, 20 * MIB);
}

static void unmap(char *start, char *end)
{
    if (start < end) {
        CHECK_EQ(munmap(start, (size_t)(end - start)), 0);
    }
}

static void full_address_space(void)
{
    fill((size_t)1 << 46);
    char *block = held[0] = malloc(100); /* where the heap is */
    held_count = block != NULL;
    use_up();
    size_t tail = 0;
    for (unsigned i = 0; i < piece_count; i++) {
        struct piece *piece = &pieces[i];
        size_t middle = piece->size / 2 & ~(page - 1);
        if (piece->size == page) {
            if (tail++ < 3) {
                hole(piece->start, page, 100);
                hole_again(piece->start, page);
            }
        } else if (piece->size >= 64 * MIB && i % 3 == 0) {
            hole_for_good(piece, middle);
        } else if (piece->size >= 8 * page && i % 5 == 0) {
            hole(piece->start + middle, 4 * page, 3 * page);
            hole_again(piece->start + middle, 4 * page);
        }
    }
}

static void little_address_space(void)
{
    struct rlimit limit;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) {
        exit(2);
    }
    fclose(file);
    limit.rlim_cur = limit.rlim_max = pages * page + (rlim_t)LIMIT_MIB * MIB;
    CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
    fill((size_t)64 * MIB);
    use_up();
    hole_for_good(&pieces[0], 0);
}

int main(int count, char **args)
{
    alarm(200);
    page = (size_t)getpagesize();
    CHECK(heap_works(1));
    if (count > 1) {
        little_address_space();
    } else {
        full_address_space();
    }
    for (unsigned i = 0; i < held_count; i++) {
        free(held[i]);
    }
    for (unsigned i = 0; i < piece_count; i++) {
        char *start = pieces[i].start, *end = start + pieces[i].size, *given = pieces[i].given;
        unmap(start, given != NULL ? given : end);
        unmap(given != NULL ? given + GIVEN : end, end);
    }
    CHECK(heap_works(2));
    return check_result();
}
