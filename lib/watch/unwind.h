/* SPDX-License-Identifier: MIT */
/*
 * From a place in the program to the list of return addresses above it, by the tables that the
 * compiler left in .eh_frame (base/cfi.h), and by frame pointers where there are none.
 *
 * No lock, no allocation, no call of libc or the loader but `_dl_find_object`; every read of the
 * stack is checked; the depth is bounded. May run in a signal handler, with a `walk` of its own.
 */
#ifndef WATCH_UNWIND_H
#define WATCH_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/compiler.h"
#include "lib/watch/own_stack.h"

enum { WALK_MAX = 256 }; /* frames */

/* The registers after a function of ours has returned to its caller. Or those of code that a signal
 * interrupted, with its exact address plus one as the return address: readers look up one byte
 * before a return address, which is correct in both cases. Frames below a signal handler are
 * recorded in the same way. */
struct caller {
    uintptr_t pc; /* the return address */
    uintptr_t sp; /* the stack pointer after the return */
    uintptr_t fp; /* the frame pointer after the return */
    uint8_t family;
};

/* Which functions a block is allocated and freed by; they must not be mixed. mimalloc's functions
 * that free and resize take blocks of all. */
enum caller_family {
    FAMILY_MALLOC,
    FAMILY_NEW,
    FAMILY_NEW_ARRAY,
    FAMILY_COUNT,
    FAMILY_ANY = FAMILY_COUNT
};

INLINE bool families_fit(unsigned one, unsigned other)
{
    return one == other || one == FAMILY_ANY || other == FAMILY_ANY;
}

/* The caller of the function that this is used in, which must not be inlined. */
#define CALLER_HERE CALLER_OF(FAMILY_MALLOC)
#define CALLER_OF(family)                                          \
    {                                                              \
        (uintptr_t) __builtin_return_address(0), ARCH_CALLER_SP(), \
            *(uintptr_t *)__builtin_frame_address(0), family       \
    }

/*
 * A walk and what the next one can take over from it. Frames are in the order root to leaf, so that
 * the part of the stack that did not change since the last walk is a prefix.
 */
struct walk {
    uint32_t count;          /* frames */
    uint32_t same;           /* number of frames, from the root, that are the same as in the
                                walk before */
    bool cut;                /* the stack has more frames than `count` */
    uintptr_t pcs[WALK_MAX]; /* return addresses; pcs[count - 1] is the caller's pc */
    /* What the unwinder compares to know that a frame is the same (unwind.c). */
    uintptr_t slots[WALK_MAX];  /* the stack pointer, and where things were read from below it */
    uintptr_t frames[WALK_MAX]; /* the frame pointer, where a step depended on it */
    uint32_t nodes[WALK_MAX];   /* belongs to stacks.c: known for the first `same` */
    uintptr_t end;              /* how the walk ended */
    struct own_stack own;
    uint32_t generation; /* of the rules */
};

/* The next walk takes nothing over from this one. */
INLINE void walk_forget(struct walk *walk)
{
    walk->count = walk->same = 0;
    walk->generation = 0;
}

/* Fills `walk` with at most `max` frames (<= WALK_MAX). `walk` is zeroed memory, or what the same
 * thread's last call left there. */
void unwind(struct walk *walk, const struct caller *from, unsigned max);
/* The same in a signal handler, from what it interrupted; `context` is its third argument. The
 * leaf is recorded as the exact address plus one. */
void unwind_context(struct walk *walk, const void *context, unsigned max);
/* Whether calls alone lead from a place on the stack beyond `up_to` to `from`: no signal handler's
 * frame lies between them. False, too, if the walk ends earlier. May run in a signal handler. */
bool unwind_calls_only(const struct caller *from, uintptr_t up_to);
/* In a signal handler: the return address, or that of what it interrupted plus one, in the function
 * whose frame holds `address`, which is on the interrupted stack; 0: not known. */
uintptr_t unwind_holder(const void *context, uintptr_t address);
/* Code was unloaded: forgets the rules of its addresses. */
void unwind_forget(void);

#endif
