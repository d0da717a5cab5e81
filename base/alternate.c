/* SPDX-License-Identifier: MIT */
/* See base/alternate.h. */
#include "base/alternate.h"

#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"

/* The kernel's ids of threads have at most 22 bits (PID_MAX_LIMIT). With 1,024 places in 8 KiB few
 * of some hundred threads share one. */
enum { HANDLERS = 8, SIGNALS = 64, OWNER_BITS = 10, TID_BITS = 22 };
enum { FRAME_SIZE = 51 /* AT_MINSIGSTKSZ */, FRAME_OLD = 2048, OURS = 4096 /* a dump's */ };
enum { PROGRAMS = 8192 /* what a handler of the program's may use */ };

/* In the kernel's layout. */
struct action {
    const void *handler;
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static const void *handlers[HANDLERS];
static bool unfit; /* a stack that we can't use has been seen, */
static bool small; /* or one that has no room for two handlers */
/* Which thread has the stack at an address: the address, then the thread. Of two addresses with one
 * place the older one is forgotten. */
static BULK uint64_t owners[1 << OWNER_BITS];
static __thread struct {
    uintptr_t low;
    size_t size;
} here PACKED_LOCAL;

static bool is_ours(const void *handler);
static void leave_all(void);
static uint64_t *owner_at(uintptr_t low);
static uint64_t owner_make(uintptr_t low);

int alternate_flag(const void *handler)
{
    for (unsigned i = 0; i < HANDLERS && !is_ours(handler); i++) {
        const void *none = NULL;
        __atomic_compare_exchange_n(&handlers[i], &none, handler, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
    return load_relaxed(&unfit) ? 0 : SA_ONSTACK;
}

void alternate_look(uintptr_t low, size_t size)
{
    uint64_t mine = owner_make(here.low);
    if (here.size != 0)
        __atomic_compare_exchange_n(owner_at(here.low), &mine, 0, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    here.low = size == 0 ? 0 : low;
    here.size = size;
    if (size == 0)
        return;
    size_t told = getauxval(FRAME_SIZE), frame = told == 0 ? FRAME_OLD : told;
    if (size < 2 * frame + OURS + PROGRAMS)
        store_relaxed(&small, true);
    mine = owner_make(low);
    uint64_t last = __atomic_exchange_n(owner_at(low), mine, __ATOMIC_RELAXED);
    bool shared = last >> TID_BITS == mine >> TID_BITS &&
                  os_thread_of_alive(os_pid(), (pid_t)(last & ((1u << TID_BITS) - 1)));
    if (shared || size < frame + OURS)
        leave_all();
}

bool alternate_small(void)
{
    return load_relaxed(&small);
}

uintptr_t alternate_low(void)
{
    return here.size == 0 ? 0 : here.low;
}

void alternate_end(uintptr_t low)
{
    uint64_t last = load_relaxed(owner_at(low));
    if (last >> TID_BITS == owner_make(low) >> TID_BITS &&
        os_thread_of_alive(os_pid(), (pid_t)(last & ((1u << TID_BITS) - 1))))
        leave_all();
}

static uint64_t *owner_at(uintptr_t low)
{
    return &owners[hash_word(low) >> (64 - OWNER_BITS)];
}

static uint64_t owner_make(uintptr_t low)
{
    return (uint64_t)low >> 6 << TID_BITS | (uint32_t)os_tid();
}

/* From now on no handler of ours uses such stacks; where a seccomp filter kills on the change, none
 * that is installed later. */
static void leave_all(void)
{
    if (__atomic_exchange_n(&unfit, true, __ATOMIC_RELAXED) || confined(CONFINE_SIGNALS))
        return;
    for (int number = 1; number <= SIGNALS; number++) {
        struct action action = {0};
        size_t mask = sizeof action.mask;
        if (arch_syscall(SYS_rt_sigaction, number, 0, (long)&action, (long)mask, 0, 0) != 0 ||
            !is_ours(action.handler))
            continue;
        action.flags &= ~(unsigned long)SA_ONSTACK;
        arch_syscall(SYS_rt_sigaction, number, (long)&action, 0, (long)mask, 0, 0);
    }
}

size_t alternate_room(uintptr_t sp)
{
    stack_t stack = {0};
    if (sp - here.low < here.size) /* the kernel may have disarmed it while its handler runs */
        return sp - here.low;
    if (arch_syscall(SYS_sigaltstack, 0, (long)&stack, 0, 0, 0, 0) != 0 ||
        (stack.ss_flags & SS_DISABLE) != 0)
        return ALTERNATE_NONE;
    size_t at = sp - (uintptr_t)stack.ss_sp;
    return at < stack.ss_size ? at : ALTERNATE_NONE;
}

bool alternate_has(uintptr_t sp, size_t bytes)
{
    if (unlikely(os_static()))
        return alternate_room(sp) >= bytes;
    size_t room = sp - here.low;
    return room >= bytes || room >= here.size;
}

/* the calling thread's, if libmemoir wraps sigaltstack */

static bool is_ours(const void *handler)
{
    for (unsigned i = 0; i < HANDLERS; i++)
        if (handler != NULL && load_relaxed(&handlers[i]) == handler)
            return true;
    return false;
}
