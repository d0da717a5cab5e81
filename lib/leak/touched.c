/* SPDX-License-Identifier: MIT */
/*
 * See lib/leak/touched.h. The kernel is asked through descriptors that stay open for the scan: a
 * copy of the process opens its own, since /proc/self is another folder there. Nothing here reads
 * the memory that it tells about.
 */
#include "lib/leak/touched.h"

#include <fcntl.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/words.h"

enum { AT_ONCE = 512 }; /* pages, or parts, asked about at once */

/* Of /proc/self/pagemap, a word a page. */
static const uint64_t PRESENT = UINT64_C(1) << 63, SWAPPED = UINT64_C(1) << 62,
                      FILED = UINT64_C(1) << 61, GUARD = UINT64_C(1) << 58;

/* PAGEMAP_SCAN, as the kernel has it. Its headers are often older than it is. */
enum { SCAN_WRITTEN = 1 << 1 };
enum { SCAN_FILED = 1 << 2, SCAN_PRESENT = 1 << 3, SCAN_SWAPPED = 1 << 4, SCAN_ZERO = 1 << 5 };
enum { SCAN_GUARD = 1 << 8 }; /* Linux 6.15 */
struct scan_call {
    uint64_t size, flags, start, end, walk_end, regions, regions_count, pages_max;
    uint64_t inverted, all_of, any_of, told;
};
static const uint64_t SCAN_REQUEST = UINT64_C(0xc0606610);

struct region {
    uint64_t start, end, kinds;
};

static bool tells_of_us(int file);
static long scan_call(const struct touched *touched, struct scan_call *call, struct region *regions,
                      uintptr_t start, uintptr_t end, enum touched_kind kind);
static touched_visitor sum_add;
static uint64_t kib_of(const char *text, const char *name);

void touched_open(struct touched *touched)
{
    struct scan_call call;
    struct region region;
    uintptr_t here = (uintptr_t)&call & ~(uintptr_t)(os_page_size() - 1);
    touched->file = os_open_own("/proc/thread-self/pagemap", "/proc/self/pagemap");
    if (touched->file >= 0 && !tells_of_us(touched->file)) {
        os_close(touched->file);
        touched->file = -1;
    }
    touched->guards = touched->quick = touched->file >= 0;
    if (touched->quick && scan_call(touched, &call, &region, here, here, TOUCHED_ALL) != 0) {
        touched->guards = false;
        touched->quick = scan_call(touched, &call, &region, here, here, TOUCHED_ALL) == 0;
    }
}

/* Whether pages that are in use are there: an emulator may have put our memory elsewhere, and its
 * kernel tells about its own addresses. */
static bool tells_of_us(int file)
{
    static uintptr_t used;
    volatile uintptr_t *const uses[] = {&used, &(uintptr_t){0}};
    for (unsigned i = 0; i < COUNT_OF(uses); i++) {
        uint64_t page = 0;
        ++*uses[i];
        if (os_read_at(file, &page, sizeof page,
                       (uintptr_t)uses[i] / os_page_size() * sizeof page) != sizeof page ||
            (page & (PRESENT | SWAPPED)) == 0)
            return false;
    }
    return true;
}

void touched_close(struct touched *touched)
{
    if (touched->file >= 0)
        os_close(touched->file);
}

static long scan_call(const struct touched *touched, struct scan_call *call, struct region *regions,
                      uintptr_t start, uintptr_t end, enum touched_kind kind)
{
    uint64_t never = kind == TOUCHED_PRIVATE ? SCAN_FILED | SCAN_ZERO : SCAN_ZERO;
    never |= touched->guards ? SCAN_GUARD : 0; /* they look as if they were swapped out */
    *call = (struct scan_call){.size = sizeof *call,
                               .start = start,
                               .end = end,
                               .regions = (uintptr_t)regions,
                               .regions_count = AT_ONCE,
                               .inverted = never,
                               .all_of = never,
                               .any_of = SCAN_PRESENT | SCAN_SWAPPED,
                               .told = SCAN_PRESENT};
    if (kind == TOUCHED_WRITTEN) {
        call->inverted = call->all_of = 0;
        call->any_of = call->told = SCAN_WRITTEN;
    }
    return os_control(touched->file, SCAN_REQUEST, call);
}

static void visit_part(touched_visitor *visit, void *context, uintptr_t start, uintptr_t end,
                       uintptr_t from, uintptr_t to)
{
    from = from > start ? from : start;
    to = to < end ? to : end;
    if (from < to)
        visit(context, from, to);
}

/* Returns where it could go no further. */
static uintptr_t each_quick(const struct touched *touched, uintptr_t start, uintptr_t end,
                            enum touched_kind kind, touched_visitor *visit, void *context)
{
    struct region regions[AT_ONCE];
    struct scan_call call;
    size_t page = os_page_size();
    uintptr_t at = start & ~(uintptr_t)(page - 1), last = (end + page - 1) & ~(uintptr_t)(page - 1);
    while (at < last) {
        long got = scan_call(touched, &call, regions, at, last, kind);
        if (got < 0 || call.walk_end <= at)
            return at;
        for (long i = 0; i < got; i++)
            visit_part(visit, context, start, end, regions[i].start, regions[i].end);
        at = call.walk_end;
    }
    return end;
}

static bool counts(uint64_t page, enum touched_kind kind)
{
    return (page & (PRESENT | SWAPPED)) != 0 && (page & GUARD) == 0 &&
           (kind == TOUCHED_ALL || (page & FILED) == 0);
}

static void each_slow(const struct touched *touched, uintptr_t start, uintptr_t end,
                      enum touched_kind kind, touched_visitor *visit, void *context)
{
    uint64_t words[AT_ONCE];
    size_t page = os_page_size();
    uintptr_t at = start & ~(uintptr_t)(page - 1);
    while (at < end) {
        size_t left = (end - at + page - 1) / page, count = left < AT_ONCE ? left : AT_ONCE;
        ssize_t got =
            os_read_at(touched->file, words, count * sizeof words[0], at / page * sizeof words[0]);
        for (size_t i = 0; got != (ssize_t)(count * sizeof words[0]) && i < count; i++)
            words[i] = PRESENT;
        for (size_t i = 0, k; i < count; i = k + 1) {
            for (k = i; k < count && counts(words[k], kind); k++)
                ;
            visit_part(visit, context, start, end, at + i * page, at + k * page);
        }
        at += count * page;
    }
}

void touched_each(const struct touched *touched, uintptr_t start, uintptr_t end,
                  enum touched_kind kind, touched_visitor *visit, void *context)
{
    if (touched->file < 0) {
        visit(context, start, end);
        return;
    }
    if (touched->quick)
        start = each_quick(touched, start, end, kind, visit, context);
    if (start < end)
        each_slow(touched, start, end, kind, visit, context);
}

bool touched_written(const struct touched *touched, uintptr_t start, uintptr_t end,
                     touched_visitor *visit, void *context)
{
    return touched->quick &&
           each_quick(touched, start, end, TOUCHED_WRITTEN, visit, context) == end;
}

static void sum_add(void *sum, uintptr_t start, uintptr_t end)
{
    *(uint64_t *)sum += end - start;
}

static uint64_t sum_of(const struct touched *touched, const void *start, size_t size,
                       enum touched_kind which)
{
    uint64_t sum = 0;
    if (touched->file >= 0)
        touched_each(touched, (uintptr_t)start, (uintptr_t)start + size, which, sum_add, &sum);
    return sum;
}

uint64_t touched_bytes(const struct touched *touched, const void *start, size_t size)
{
    return sum_of(touched, start, size, TOUCHED_PRIVATE);
}

uint64_t touched_present(const struct touched *touched, const void *start, size_t size)
{
    return sum_of(touched, start, size, TOUCHED_ALL);
}

uint64_t touched_alone(void)
{
    char text[2048];
    int file = os_open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC, 0);
    ssize_t got = file < 0 ? 0 : os_read(file, text, sizeof text - 1);
    if (file >= 0)
        os_close(file);
    text[got < 0 ? 0 : got] = '\0';
    return (kib_of(text, "\nPrivate_Clean:") + kib_of(text, "\nPrivate_Dirty:")) << 10;
}

static uint64_t kib_of(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    if (at == NULL)
        return 0;
    for (at += strlen(name); *at == ' '; at++)
        ;
    return text_number(at, 10);
}
