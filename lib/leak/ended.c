/* SPDX-License-Identifier: MIT */
/* See lib/leak/ended.h. The kernel sets the thread's number in the descriptor to 0 when the thread
 * ends, and pthread_join to -1: before that, the value that the thread returned is in there. */
#include "lib/leak/ended.h"

#include "base/arch.h"
#include "base/os.h"

enum {
    OFFSET_MIN = 0x100, /* of the number in a descriptor: behind what compilers know about it, */
    OFFSET_MAX = 0x600, /* and before the end */
    SELF_WORDS = 2,     /* from the pointer at the start to the second one */
    ALIGNMENT = 16,
    HEAD = 64, /* bytes of a descriptor with what the next thread takes over: the list of blocks
                  for thread-local variables of libraries */
};

void ended_begin(struct ended *ended, const struct roots_thread *threads, unsigned count,
                 int memory)
{
    uintptr_t words[OFFSET_MAX / sizeof(uintptr_t)];
    ended->tid_offset = 0;
    for (unsigned i = 0; i < count && ended->tid_offset == 0 && ARCH_DESCRIPTOR_SELF; i++) {
        uintptr_t tp = threads[i].tp;
        ssize_t got = tp == 0 ? 0 : os_memory_read(memory, words, sizeof words, tp);
        if (got < OFFSET_MIN || words[0] != tp)
            continue;
        for (size_t at = OFFSET_MIN; at + sizeof(pid_t) <= (size_t)got; at += sizeof(pid_t))
            if (*(const pid_t *)((const char *)words + at) == threads[i].tid) {
                ended->tid_offset = at;
                break;
            }
    }
}

static bool is_live(uintptr_t tp, const uintptr_t *tps, unsigned count)
{
    unsigned low = 0;
    while (low < count) {
        unsigned middle = low + (count - low) / 2;
        if (tps[middle] == tp)
            return true;
        if (tps[middle] < tp)
            low = middle + 1;
        else
            count = middle;
    }
    return false;
}

bool ended_stack(const struct ended *ended, const uintptr_t *tail, size_t bytes, uintptr_t end,
                 const uintptr_t *tps, unsigned tps_count, struct scan_range *counts)
{
    size_t count = bytes / sizeof *tail, step = ALIGNMENT / sizeof *tail;
    size_t need = (ended->tid_offset + sizeof(pid_t) + sizeof *tail - 1) / sizeof *tail;
    for (size_t at = 0; ended->tid_offset != 0 && at + need <= count; at += step) {
        uintptr_t address = end - bytes + at * sizeof *tail;
        if (tail[at] != address || tail[at + SELF_WORDS] != address)
            continue;
        if (is_live(address, tps, tps_count))
            return false;
        pid_t tid = *(const pid_t *)((const char *)&tail[at] + ended->tid_offset);
        if (tid > 0)
            return false; /* of a thread that is beginning */
        *counts = (struct scan_range){address, tid < 0 ? address + HEAD : end};
        return true;
    }
    return false;
}
