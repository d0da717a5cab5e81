/* SPDX-License-Identifier: MIT */
/* See lib/watch/own_stack.h. */
#include "lib/watch/own_stack.h"

#include <sys/auxv.h>

#include "base/arch.h"
#include "base/os.h"

static uintptr_t stack_end(void);

bool own_stack_look(struct own_stack *own, uintptr_t sp)
{
    /* FAR: a stack pointer further away is another stack's. PAGES_MAX: system calls a call. */
    enum { FAR = 64 << 20, PAGES_MAX = 64 };
    uintptr_t page = os_page_size();
    if (own->high == 0) {
        own->low = stack_end() & ~(page - 1);
        own->high = own->low + page;
    }
    if (sp >= own->high || sp < own->floor || own->high - sp > FAR)
        return false;
    for (unsigned i = 0; own->low > sp; i++) {
        if (i == PAGES_MAX)
            return false;
        if (!os_readable((const void *)(own->low - page), sizeof(uintptr_t))) {
            own->floor = own->low;
            return false;
        }
        own->low -= page;
    }
    return true;
}

/* The C libraries keep a thread's descriptor above its stack; the kernel puts some random bytes
 * above the stack of the first thread. */
static uintptr_t stack_end(void)
{
    return os_tid() == os_pid() ? getauxval(AT_RANDOM) : arch_thread();
}
