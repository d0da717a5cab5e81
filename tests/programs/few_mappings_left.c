/* SPDX-License-Identifier: MIT */
/* The kernel allows a process some 65,000 mappings. With all but a few of them taken, the heap
 * still grows, shrinks and returns memory, or says ENOMEM in good order, and threads and large
 * blocks come and go. */
#include <sys/mman.h>

#include "tests/programs/memory.h"
#include "tests/programs/work.h"

enum { LEFT = 40, BLOCKS = 4000 };

static unsigned char *blocks[BLOCKS];

/* Takes mappings until the kernel refuses, then gives LEFT of them back. */
static bool take_mappings(size_t most)
{
    size_t page = (size_t)getpagesize(), taken = 0;
    char *area = mmap(NULL, (most + 2) * page, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        return false;
    }
    while (taken < most &&
           mprotect(area + taken * page, page, taken % 2 ? PROT_READ : PROT_NONE) == 0) {
        taken++;
    }
    if (taken == most) {
        return false; /* no such limit here */
    }
    return mprotect(area, LEFT * page, PROT_NONE) == 0;
}

static unsigned use(void)
{
    unsigned refused = 0;
    for (unsigned i = 0; i < BLOCKS; i++) {
        errno = ERRNO_UNTOUCHED;
        blocks[i] = i % 4 ? malloc(work_size(i % 120)) : memalign(4096, 50000 + i);
        if (blocks[i] == NULL) {
            CHECK_EQ(errno, ENOMEM);
            refused++;
            continue;
        }
        pattern_fill(blocks[i], 1, i);
    }
    for (unsigned i = 0; i < BLOCKS; i += 2) {
        if (blocks[i] != NULL) {
            CHECK_EQ(pattern_differs_at(blocks[i], 1, i), 1);
            unsigned char *larger = realloc(blocks[i], 3000000);
            blocks[i] = larger != NULL ? larger : blocks[i];
            CHECK_EQ(pattern_differs_at(blocks[i], 1, i), 1);
            free(blocks[i]);
        }
        if (i % 512 == 0) {
            malloc_trim(0);
        }
    }
    for (unsigned i = 1; i < BLOCKS; i += 2) {
        free(blocks[i]);
    }
    return refused;
}

int main(void)
{
    char text[30] = "";
    int file = open("/proc/sys/vm/max_map_count", O_RDONLY);
    alarm(100);
    if (file < 0 || read(file, text, sizeof text - 1) <= 0) {
        return 77;
    }
    close(file);
    size_t most = strtoul(text, NULL, 10);
    CHECK(heap_works(1));
    if (most > 1000000 || !take_mappings(most + 100)) {
        check_say("mappings are not limited here\n");
        return 77;
    }
    for (int round = 0; round < 5; round++) {
        unsigned refused = use();
        CHECK_AT(refused < BLOCKS / 20, "%u of %d refused", refused, BLOCKS);
        CHECK(heap_works(2));
    }
    return check_result();
}
