/* SPDX-License-Identifier: MIT */
/*
 * See lib/control/leaks.h. The work is done by a thread of ours, which interrupts all others, and
 * which the calling thread waits for: it has a stack of its own, all signals blocked, and a table
 * of files that is not the program's. One scan at a time.
 */
#include "lib/control/leaks.h"

#include "base/arch.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/confine.h"
#include "base/message.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "lib/guard/guard.h"
#include "lib/heap/observer.h"

enum {
    STACK_SIZE = 256 << 10, /* of the thread that scans; tables are mapped apart */
    ASKED_MS = 1000,  /* for the caller, which blocks all signals while it starts that thread */
    WAIT_MS = 400000, /* for the scan, which has a time limit of its own; watching comes first */
};

/* Of the scan that is being made. */
static uint32_t turn; /* the process that a thread makes one of; another one's: left by fork */
static uint32_t done;
static uint32_t asked; /* the calling thread hears signals again */
static struct leak_request request_now;
static struct scan_others others_now;
static const struct leak_scan *found;
static const struct roots_thread *exiting; /* the thread that ends the program */

static const struct leak_scan *find(const struct leak_request *request);
static void tags_set(struct leak_request *request);
static bool guarded_blocks(struct scan_others *others);
static void helper_run(void);
static void complain(const char *why);

struct leak_request leaks_request(void)
{
    /* A debugged block begins behind the start of the allocator's. */
    return (struct leak_request){.inside = guard_debug ? SCAN_INSIDE_ANY : SCAN_INSIDE_KNOWN,
                                 .mappings = config.leak_mappings,
                                 .kept = track_kept(),
                                 .ages = true};
}

const struct leak_scan *leaks_find(const struct leak_request *request)
{
    uint32_t self = (uint32_t)os_pid(), before;
    uint64_t since_ms = os_now_ms();
    while ((before = load_relaxed(&turn)) == self ||
           !__atomic_compare_exchange_n(&turn, &before, self, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        if (os_now_ms() - since_ms > WAIT_MS)
            return NULL;
        os_wait(&turn, self, WAIT_MS);
    }
    const struct leak_scan *scan = find(request);
    store_release(&turn, 0);
    os_wake(&turn, 1);
    return scan;
}

static const struct leak_scan *find(const struct leak_request *request)
{
    uint64_t since_ms = os_now_ms(), before;
    unsigned wait_ms = WAIT_MS + request->watch_ms;
    if (confined(CONFINE_LEAKS))
        return NULL;
    store_relaxed(&done, 0);
    store_relaxed(&asked, 0);
    request_now = *request;
    tags_set(&request_now);
    if (request_now.here == NULL)
        request_now.here = exiting;
    if (guarded_blocks(&others_now))
        request_now.others = &others_now;
    os_signals_set(UINT64_MAX, &before); /* the helper inherits it */
    bool started = os_thread_prepare() && os_thread_start(helper_run, STACK_SIZE) == 0;
    os_signals_set(before, NULL);
    store_release(&asked, 1);
    os_wake(&asked, 1);
    if (!started)
        return NULL;
    while (load_acquire(&done) == 0 && os_now_ms() - since_ms < wait_ms)
        os_wait(&done, 0, wait_ms);
    return load_acquire(&done) == 1 ? found : NULL;
}

/* The option leak.tags, for scans of all faces. */
static void tags_set(struct leak_request *request)
{
    enum { HIGH = 16 }; /* no process has memory above 2 to the 48 unless it asks for that */
    unsigned tags = config.leak_tags;
    request->tags_high = ARCH_TAG_BITS;
    if (tags == CONFIG_TAGS_OFF)
        request->tags_high = 0;
    if (tags == CONFIG_TAGS_HIGH || tags == CONFIG_TAGS_ALL)
        request->tags_high = HIGH;
    if (tags == CONFIG_TAGS_LOW || tags == CONFIG_TAGS_ALL)
        request->tags_low = GRANULE_SHIFT;
}

void leaks_exit(const struct roots_thread *here)
{
    exiting = here;
    if (!config.leak_at_exit || os_secure())
        return;
    struct leak_request request = leaks_request();
    if (leaks_find(&request) != NULL)
        leak_last_end();
    else
        complain(leaks_refusal());
}

const char *leaks_refusal(void)
{
    if (confined(CONFINE_LEAKS))
        return "the program's seccomp filter would end it for that (docs/CONTROL.md lists the "
               "system calls)";
    switch (leak_failure()) {
    case LEAK_TOO_BUSY:
        return "more threads are ready to run than the processors had time for, and they did not "
               "stand still within 10 s; try again when fewer are";
    case LEAK_TOO_LONG:
        return "the copy of the process was not done after 5 min; try again on a less busy machine";
    case LEAK_COPY_ENDED:
        return "the copy of the process was killed; the kernel's log may tell why (memory?)";
    case LEAK_NO_MEANS:
        break;
    }
    if (os_thread_count() == 0)
        return "/proc, which tells of threads and mappings, can't be read here; mount it, or allow "
               "more descriptors";
    return "the system gave no thread for it, no memory, or no way to read this process; try again";
}

void leaks_tell_silent(const struct leak_scan *scan)
{
    static bool told;
    if (scan->silent > 0 && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED))
        message_format(
            "memoir: %u of %u threads did not answer the scan: blocks that only their registers "
            "point to may count as lost (docs/LEAKS.md)\n",
            scan->silent, scan->threads);
}

static bool guarded_at(uint32_t number, struct found *block, const struct record **record)
{
    const struct cell *cell = cells_live(number);
    if (cell == NULL)
        return false;
    *block = (struct found){cell->start, cell->size, number};
    *record = cell->recorded && cell->record.site != 0 ? &cell->record : NULL;
    return true;
}

/* In C++, a pointer to an array of no elements points behind the word with their number, which is
 * all that the block has. */
static uint32_t guarded_find(uintptr_t address)
{
    enum { NUMBER = sizeof(size_t) };
    uint32_t number = cells_inside(address);
    if (number != 0)
        return number;
    number = cells_inside(address - NUMBER);
    const struct cell *cell = cells_at(number);
    return cell != NULL && cell->size == NUMBER && cell->start + NUMBER == address ? number : 0;
}

static bool guarded_blocks(struct scan_others *others)
{
    *others = (struct scan_others){.count = cells_count, .at = guarded_at, .find = guarded_find};
    cells_table(&others->table.start, &others->table.end);
    return cells_range(&others->memory.start, &others->memory.end);
}

static void helper_run(void)
{
    os_thread_rename("memoir");
    os_thread_own_files();
    for (unsigned i = 0; load_acquire(&asked) == 0 && i < ASKED_MS; i++)
        os_wait(&asked, 0, 1);
    found = leak_find(&request_now);
    store_release(&done, 1);
    os_wake(&done, 1);
}

static void complain(const char *why)
{
    message_format("memoir: no scan for lost blocks: %s\n", why);
}
