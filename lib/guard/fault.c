/* SPDX-License-Identifier: MIT */
/* See lib/guard/fault.h. The handler may interrupt anything, on any stack. */
#include "lib/guard/fault.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alternate.h"
#include "base/arch.h"
#include "base/compiler.h"
#include "base/config.h"
#include "base/lock.h"
#include "base/os.h"
#include "lib/guard/cells.h"
#include "lib/guard/report.h"
#include "lib/guard/suppress.h"
#include "lib/watch/watch.h"

static bool installed;
static struct lock program_lock = {.rank = LOCK_GUARD};
static struct sigaction program;        /* what the program has set; at first what there was */
static uintptr_t last_pc, last_address; /* of the last report: a handler may let it happen again */

static void handler(int number, siginfo_t *info, void *context);
static bool fault_is_allowed(uintptr_t address, void *context);
static bool fault_report(uintptr_t address, void *context);
static void pass(int number, siginfo_t *info, void *context);
static void by_default(int number, const siginfo_t *info);

void fault_init(void)
{
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | alternate_flag((const void *)handler);
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    if (sigaction(SIGSEGV, &action, &program) == 0)
        store_release(&installed, true);
}

bool fault_is_ours(int number)
{
    return number == SIGSEGV && load_acquire(&installed);
}

void fault_get(struct sigaction *action)
{
    lock_take(&program_lock);
    *action = program;
    lock_give(&program_lock);
}

void fault_set(const struct sigaction *action)
{
    lock_take(&program_lock);
    program = *action;
    lock_give(&program_lock);
}

static void handler(int number, siginfo_t *info, void *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    bool guarded = info->si_code > 0 && cells_own((void *)address);
    if (guarded && config.guard_readable && fault_is_allowed(address, context))
        return;
    if (guarded && fault_report(address, context))
        return;
    pass(number, info, context);
}

/* A read of the page behind a live block, with the option guard.readable. Pages further away may
 * become those of a block, which the program writes to. */
static bool fault_is_allowed(uintptr_t address, void *context)
{
    const struct cell *cell = cells_near(address);
    return cell != NULL && cell->state == CELL_LIVE && address >= cell->start + cell->size &&
           cells_touched(cell, address) && arch_fault_wrote(context) == 0 &&
           cells_open_for_reads(address);
}

/* True: the program may go on. */
static bool fault_report(uintptr_t address, void *context)
{
    static const struct own_stack nothing;
    struct cell *cell = cells_near(address);
    uintptr_t pc = *(uintptr_t *)((char *)context - ARCH_SIGNAL_CONTEXT + ARCH_SIGNAL_PC);
    struct guard_report report = {
        .address = address,
        .wrote = arch_fault_wrote(context),
        .cell = cell,
        .thread = (uint32_t)os_tid(),
        .error = cell == NULL || cell->born.thread == 0                  ? GUARD_WILD
                 : cell->state == CELL_FREED || cell->state == CELL_FREE ? GUARD_USE_AFTER_FREE
                 : address < cell->start                                 ? GUARD_UNDERFLOW
                                                                         : GUARD_OVERFLOW,
    };
    bool suppressed = false;
    report.ends = cell == NULL || !cells_touched(cell, address);
    report.again = load_relaxed(&last_pc) == pc && load_relaxed(&last_address) == address;
    if (!report.again || suppress_any()) {
        store_relaxed(&last_pc, pc);
        store_relaxed(&last_address, address);
        struct walk *walk = walks_take(WALKS_UNOWNED, &nothing);
        if (walk != NULL)
            unwind_context(walk, context, config.heap_depth);
        report.now = walk;
        suppressed = !report_make(&report);
        if (walk != NULL)
            walks_give(walk);
    }
    if (config.guard_action == CONFIG_GUARD_ABORT && !suppressed)
        os_abort();
    return (suppressed || config.guard_action == CONFIG_GUARD_IGNORE) && !report.ends &&
           cells_open(cell, address);
}

/* To the program's handler, called as the kernel would have; or to the kernel's default. */
static void pass(int number, siginfo_t *info, void *context)
{
    struct sigaction action = program; /* not by the lock, which the interrupted code may hold */
    bool sent = info->si_code <= 0;    /* by kill: nothing happens again */
    if (!(action.sa_flags & SA_SIGINFO) &&
        (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
        if (action.sa_handler == SIG_DFL || !sent)
            by_default(number, info);
        return;
    }
    if (action.sa_flags & (int)SA_RESETHAND)
        program.sa_handler = SIG_DFL;
    interrupt_call(&action, number, info, context);
}

/* The instruction is executed again, and the kernel ends the program in it. */
static void by_default(int number, const siginfo_t *info)
{
    struct {
        const void *handler;
        unsigned long flags;
        void (*restorer)(void);
        unsigned long mask;
    } action = {0};
    arch_syscall(SYS_rt_sigaction, number, (long)&action, 0, sizeof action.mask, 0, 0);
    if (info->si_code <= 0)
        os_signal_thread(number);
}
