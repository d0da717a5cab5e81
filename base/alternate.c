/* SPDX-License-Identifier: MIT */
/* See base/alternate.h. */
#include "base/alternate.h"

#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "base/os.h"

enum { HANDLERS = 4, SIGNALS = 64 };
enum { FRAME_SIZE = 51 /* AT_MINSIGSTKSZ */, FRAME_OLD = 2048, OURS = 4096 /* a dump's */ };

/* In the kernel's layout. */
struct action {
    const void *handler;
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static const void *handlers[HANDLERS];
static bool small;
static __thread struct {
    uintptr_t low;
    size_t size;
} here PACKED_LOCAL;
static bool is_ours(const void *handler);

int alternate_flag(const void *handler)
{
    for (unsigned i = 0; i < HANDLERS && !is_ours(handler); i++) {
        const void *none = NULL;
        __atomic_compare_exchange_n(&handlers[i], &none, handler, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
    return load_relaxed(&small) ? 0 : SA_ONSTACK;
}

void alternate_look(uintptr_t low, size_t size)
{
    here.low = low;
    here.size = size;
    if (size == 0)
        return;
    size_t frame = getauxval(FRAME_SIZE);
    if (size >= (frame == 0 ? FRAME_OLD : frame) + OURS ||
        __atomic_exchange_n(&small, true, __ATOMIC_RELAXED))
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
