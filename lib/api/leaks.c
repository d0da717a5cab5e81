/* SPDX-License-Identifier: MIT */
/* See lib/api/leaks.h. The work is done by a thread of ours, which interrupts all others. */
#include "lib/api/leaks.h"

#include "base/compiler.h"
#include "base/config.h"
#include "base/message.h"
#include "base/os.h"
#include "base/os_thread.h"
#include "base/print.h"
#include "lib/leak/leak.h"

enum {
    STACK_SIZE = 256 << 10,
    WAIT_MS = 400000, /* for the scan, which has a time limit of its own */
};

static uint32_t done;
static bool found;

static void helper_run(void);
static void complain(const char *why);

bool leaks_scan(void)
{
    uint64_t since_ms = os_now_ms(), before;
    store_relaxed(&done, 0);
    os_signals_set(UINT64_MAX, &before); /* the helper inherits it */
    bool started = os_thread_prepare() && os_thread_start(helper_run, STACK_SIZE) == 0;
    os_signals_set(before, NULL);
    if (!started)
        return false;
    while (load_acquire(&done) == 0 && os_now_ms() - since_ms < WAIT_MS)
        os_wait(&done, 0, WAIT_MS);
    return load_acquire(&done) == 1 && found;
}

void leaks_exit(void)
{
    if (config.leak_at_exit && !os_secure() && !leaks_scan())
        complain("the system gave no thread for it, no memory, or no list of mappings");
}

static void helper_run(void)
{
    static const struct leak_request request = {.inside = SCAN_INSIDE_KNOWN, .mappings = true};
    os_thread_rename("memoir");
    os_thread_own_files();
    found = leak_find(&request) != NULL;
    store_release(&done, 1);
    os_wake(&done, 1);
}

static void complain(const char *why)
{
    char buffer[200];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "memoir: no scan for lost blocks: %s\n", why);
    message_flush(&line);
}
