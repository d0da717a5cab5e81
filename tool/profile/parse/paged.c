/* SPDX-License-Identifier: MIT */
/* See tool/profile/parse/paged.h. */
#include "tool/profile/parse/paged.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_size(void);

bool paged_grow(struct paged *pages, size_t room)
{
    size_t page = page_size();
    if (pages->bytes && room <= pages->room)
        return true;
    if (room > SIZE_MAX / 2)
        return false;
    size_t length = (room + page) & ~(page - 1); /* one byte more: the 0 at the end */
    void *bytes = pages->bytes ? mremap(pages->bytes, pages->room + 1, length, MREMAP_MAYMOVE)
                               : mmap(NULL, length, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return false;
    pages->bytes = bytes;
    pages->room = length - 1;
    return true;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void paged_free(struct paged *pages)
{
    if (pages->bytes)
        munmap(pages->bytes, pages->room + 1);
    memset(pages, 0, sizeof *pages);
}

void paged_release(const char *bytes, size_t from, size_t to)
{
    uintptr_t page = page_size(), start = ((uintptr_t)bytes + from + page - 1) & ~(page - 1),
              end = ((uintptr_t)bytes + to) & ~(page - 1);
    if (start < end)
        madvise((void *)start, end - start, MADV_DONTNEED);
}

size_t paged_spare(void)
{
    uint64_t spare = UINT64_MAX, number;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %" SCNu64, &number) == 1)
            spare = number * 1024;
    if (file)
        fclose(file);
    file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (file && fscanf(file, "%" SCNu64, &number) == 1 && number < spare)
        spare = number;
    if (file)
        fclose(file);
    return spare > SIZE_MAX / 4 ? SIZE_MAX / 4 : (size_t)spare;
}
