/* SPDX-License-Identifier: MIT */
/*
 * See lib/process/signal_stack.h. A block with a class would be freed on the hot path, which does
 * not look here: while it is a stack its sign (lib/window/arena.h) is one that goes cold, that of
 * hardened blocks, and with harden:on that of watched ones. Only the block's start is known: a
 * stack further inside of a block is not noticed, nor is one that finds its places in the table
 * taken.
 */
#include "lib/process/signal_stack.h"

#include <sys/syscall.h>

#include "base/alternate.h"
#include "base/arch.h"
#include "base/confine.h"
#include "base/os.h"
#include "lib/guard/guard.h"
#include "lib/window/window.h"

/* 256 threads with such a stack find a place; one that finds none is not kept. */
enum { BITS = 8, PROBES = 4 };

unsigned signal_stacks;
/* Where they begin, inverted: for a scan for lost blocks these are no pointers. 0: none */
static BULK uintptr_t stacks[(1 << BITS) + PROBES];

static void remember(uintptr_t low);
static bool leave(const void *p, const stack_t *now);
static uintptr_t *find(uintptr_t low, uintptr_t wanted);
static bool forget(uintptr_t low);
static void sign_change(void *p, bool stack);

void signal_stack_set(const stack_t *stack)
{
    uintptr_t low = (uintptr_t)stack->ss_sp, before = alternate_low();
    size_t size = stack->ss_flags & SS_DISABLE ? 0 : stack->ss_size;
    if (before != 0 && (before != low || size == 0))
        forget(before);
    if (before != low && size != 0)
        remember(low);
    alternate_look(low, size);
}

/* Only blocks of the heap: no others are freed by us. */
static void remember(uintptr_t low)
{
    uintptr_t none = 0;
    if (!(window_has((void *)low) || cells_own((void *)low)) || find(low, ~low) != NULL)
        return;
    uintptr_t *place = find(low, 0);
    if (place == NULL ||
        !__atomic_compare_exchange_n(place, &none, ~low, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    __atomic_add_fetch(&signal_stacks, 1, __ATOMIC_RELEASE);
    sign_change((void *)low, true);
}

bool signal_stack_leave_slow(void *p, stack_t *was)
{
    uint64_t mask;
    bool own = alternate_low() == (uintptr_t)p, left = false;
    if (!forget((uintptr_t)p) || confined(CONFINE_SIGNALS))
        return false;
    os_signals_set(~(uint64_t)0, &mask);
    if (!own)
        alternate_end((uintptr_t)p);
    else if (arch_syscall(SYS_sigaltstack, 0, (long)was, 0, 0, 0, 0) == 0)
        left = leave(p, was);
    os_signals_set(mask, NULL);
    return left;
}

void signal_stack_back(const stack_t *was)
{
    uint64_t mask;
    os_signals_set(~(uint64_t)0, &mask);
    if (arch_syscall(SYS_sigaltstack, (long)was, 0, 0, 0, 0, 0) == 0)
        signal_stack_set(was);
    os_signals_set(mask, NULL);
}

/* `now` is what the kernel has: another one than p if it was set by a system call that passed us
 * by, and that stays. */
static bool leave(const void *p, const stack_t *now)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    bool set = (now->ss_flags & SS_DISABLE) == 0;
    if (!set || now->ss_sp != p) {
        alternate_look((uintptr_t)now->ss_sp, set ? now->ss_size : 0);
        return false;
    }
    if (arch_syscall(SYS_sigaltstack, (long)&none, 0, 0, 0, 0, 0) != 0)
        return false;
    alternate_look(0, 0);
    return true;
}

/* A place that holds `wanted`, of those where a stack at `low` can be; NULL: there is none. */
static uintptr_t *find(uintptr_t low, uintptr_t wanted)
{
    uintptr_t *first = &stacks[hash_word(low) >> (64 - BITS)];
    for (unsigned i = 0; i < PROBES; i++)
        if (load_relaxed(&first[i]) == wanted)
            return &first[i];
    return NULL;
}

/* False if it was not known, or another thread was first. */
static bool forget(uintptr_t low)
{
    uintptr_t known = ~low, *place = find(low, known);
    if (place == NULL ||
        !__atomic_compare_exchange_n(place, &known, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return false;
    sign_change((void *)low, false);
    __atomic_sub_fetch(&signal_stacks, 1, __ATOMIC_RELEASE);
    return true;
}

/* Of a block with a class that begins at p; others are freed on the slow path anyway. */
static void sign_change(void *p, bool stack)
{
    if (!window_has(p) || (uintptr_t)p % GRANULE != 0)
        return;
    unsigned kind = window.kinds[unit_of(p)];
    if (kind == MARK_FREE || kind == MARK_LARGE || kind == MARK_WATCHED)
        return;
    uint8_t plain = harden_on ? live_sign_hardened(p) : live_sign(p);
    uint8_t cold = harden_on ? live_sign_watched(p) : live_sign_hardened(p);
    uint8_t from = stack ? plain : cold;
    __atomic_compare_exchange_n(live_in(window.live[kind], p), &from, stack ? cold : plain, false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
