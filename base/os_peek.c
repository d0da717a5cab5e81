/* SPDX-License-Identifier: MIT */
/* Looking at memory that may be unreadable by the time it is looked at. */
#include "base/arch.h"
#include "base/os.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>

bool os_word_is_set(const uint32_t *word)
{
    /* Moves none of the threads that wait there, provided that the word is 0. The kernel compares;
     * programs that have forbidden themselves most calls need this one for their locks. */
    enum { NONE = 0, ZERO = 0 };
    return arch_syscall(SYS_futex, (long)word, FUTEX_CMP_REQUEUE_PRIVATE, NONE, NONE, (long)word,
                        ZERO) == -EAGAIN;
}
