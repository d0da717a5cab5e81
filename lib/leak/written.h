/* SPDX-License-Identifier: MIT */
/*
 * Which pages of the heap the program writes to within some time. The kernel tells since Linux 6.7:
 * a userfaultfd that protects pages from writing, and lifts that by itself when one comes
 * (UFFD_FEATURE_WP_ASYNC), and PAGEMAP_SCAN for the outcome. No privilege is needed. The first
 * write to each page costs the program a page fault, and a huge page that it writes to becomes
 * small ones. Reads can't be seen.
 */
#ifndef LEAK_WRITTEN_H
#define LEAK_WRITTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct written {
    uint64_t *bits; /* a bit a page of the window; NULL: nothing is known */
    size_t bytes;
    size_t pages;
    unsigned watched_ms;
};

/* Watches for that long, while the calling thread, which is ours and has files of its own, waits.
 */
void written_watch(struct written *written, unsigned ms);
void written_free(struct written *written);
/* Whether the program wrote to one of the pages of a block in the window. True where nothing is
 * known. */
bool written_to(const struct written *written, uintptr_t start, size_t size);

#endif
