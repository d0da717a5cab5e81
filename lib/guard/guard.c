/* SPDX-License-Identifier: MIT */
/* See lib/guard/guard.h. */
#include "lib/guard/guard.h"

#include "base/config.h"
#include "base/message.h"
#include "base/os.h"
#include "lib/watch/watch.h"

bool guard_all;

void guard_init(void)
{
    static const char none[] =
        "memoir: guard: off: the system gives no addresses for it; raise ulimit -v\n";
    if (config.guard == CONFIG_GUARD_OFF)
        return;
    size_t half = os_memory_size() / 2;
    struct cells_limits limits = {config.guard_memory < half ? config.guard_memory : half,
                                  config.guard_quarantine, config.guard_tight};
    if (!cells_init(&limits))
        message_write(none, sizeof none - 1);
    else
        guard_all = config.guard == CONFIG_GUARD_FULL;
}

void guard_faults(void)
{
    if (guard_all)
        fault_init();
}

void guard_complain(enum guard_error error, uintptr_t address, const struct cell *cell,
                    const char *call, const struct caller *caller, size_t size)
{
    static const struct own_stack nothing;
    struct guard_report report = {.error = error,
                                  .address = address,
                                  .wrote = error == GUARD_DAMAGE ? 1 : -1,
                                  .cell = cell,
                                  .call = call,
                                  .family = caller == NULL ? FAMILY_MALLOC : caller->family,
                                  .size = size,
                                  .thread = (uint32_t)os_tid()};
    struct walk *walk = caller == NULL ? NULL : walks_take(WALKS_NOBODY, &nothing);
    if (walk != NULL)
        unwind(walk, caller, config.heap_depth);
    report.now = walk;
    report_make(&report);
    if (walk != NULL)
        walks_give(walk);
    if (config.guard_action != CONFIG_GUARD_IGNORE)
        os_abort();
}

/* Claimed meanwhile, so that no other thread takes the pages away. */
static void exit_look(void *context, struct cell *cell)
{
    (void)context;
    if (!cells_claim(cell))
        return;
    const uint8_t *damage = cells_damage(cell);
    if (damage != NULL)
        guard_complain(GUARD_DAMAGE, (uintptr_t)damage, cell, "exit", NULL, 0);
    store_release(&cell->state, CELL_LIVE);
}

void guard_exit(void)
{
    if (guard_all)
        cells_each(exit_look, NULL);
}
