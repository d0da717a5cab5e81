/* SPDX-License-Identifier: MIT */
/* See lib/leak/apart.h. What was unmapped since is not known: the kernel then has nothing to read
 * there, or another mapping, whose words count twice. */
#include "lib/leak/apart.h"

#include <sys/mman.h>

#include "base/compiler.h"
#include "base/os.h"
#include "lib/leak/touched.h"

enum {
    RANGES = 64,         /* the last one takes all that find no room */
    BYTES_MAX = 1 << 27, /* copied at most, for threads stand still */
    PATIENCE_MS = 100,   /* for another thread that notes a range */
};

struct range {
    uintptr_t start, end; /* 0 and 0: unused */
};

static struct range ranges[RANGES];
static uint32_t changing;

/* What the visitors below need. */
struct taking {
    struct apart *apart;
    int memory;
};

static touched_visitor count_bytes, take_bytes;
static void ranges_each(const struct touched *touched, touched_visitor *visit, void *context);

void apart_advised(const void *start, size_t size, int advice)
{
    bool leaves = advice == MADV_DONTFORK || advice == MADV_WIPEONFORK;
    bool comes_back = advice == MADV_DOFORK || advice == MADV_KEEPONFORK;
    uintptr_t from = (uintptr_t)start, to = from + size;
    if ((!leaves && !comes_back) || size == 0)
        return;
    /* A forked child may find it taken by a thread that it does not have. */
    for (unsigned i = 0; __atomic_exchange_n(&changing, 1, __ATOMIC_ACQUIRE) != 0; i++) {
        if (i == PATIENCE_MS)
            break;
        os_wait(&changing, 1, 1);
    }
    struct range *place = &ranges[RANGES - 1];
    for (unsigned i = 0; i < RANGES; i++) {
        struct range *range = &ranges[i];
        if (range->start >= from && range->end <= to) /* unused ones, too */
            *range = (struct range){0, 0};
        if (range->end == 0 && place == &ranges[RANGES - 1])
            place = range;
    }
    if (leaves && place->end != 0 && place->start < from)
        from = place->start;
    if (leaves)
        *place = (struct range){from, to > place->end ? to : place->end};
    store_release(&changing, 0);
}

bool apart_take(struct apart *apart)
{
    struct touched touched;
    struct taking taking = {.apart = apart};
    *apart = (struct apart){NULL, 0, 0};
    touched_open(&touched);
    ranges_each(&touched, count_bytes, &apart->room);
    bool good = apart->room <= BYTES_MAX;
    if (good && apart->room > 0) {
        apart->words = os_map(apart->room);
        taking.memory = os_memory_open();
        good = apart->words != NULL && taking.memory != -1;
        if (good)
            ranges_each(&touched, take_bytes, &taking);
        os_memory_close(taking.memory);
    }
    touched_close(&touched);
    return good;
}

void apart_free(struct apart *apart)
{
    if (apart->words != NULL)
        os_unmap(apart->words, apart->room);
}

static void ranges_each(const struct touched *touched, touched_visitor *visit, void *context)
{
    for (unsigned i = 0; i < RANGES; i++) {
        struct range range = ranges[i];
        if (range.start < range.end)
            touched_each(touched, range.start, range.end, TOUCHED_ALL, visit, context);
    }
}

static void count_bytes(void *sum, uintptr_t start, uintptr_t end)
{
    *(size_t *)sum += end - start;
}

static void take_bytes(void *context, uintptr_t start, uintptr_t end)
{
    struct taking *taking = context;
    struct apart *apart = taking->apart;
    if (end - start > apart->room - apart->bytes)
        return;
    ssize_t got =
        os_memory_read(taking->memory, (char *)apart->words + apart->bytes, end - start, start);
    if (got > 0)
        apart->bytes += (size_t)got & ~(sizeof(uintptr_t) - 1);
}
