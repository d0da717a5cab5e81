/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables (.eh_frame): for a code address, how to get from the registers there to those of
 * the caller. The answer comes in two sizes. A *rule* is one 29-bit number that serves nearly all
 * code; a *row* says it of every register.
 *
 * The *frame* of a call is named by an address, the CFA: the stack pointer before the call. All
 * else is relative to it. Nothing here allocates or locks, and all of it may run in a signal
 * handler. Tables may be damaged: they are read with bounds, and only where memory can be read.
 */
#ifndef BASE_CFI_H
#define BASE_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"

/*
 * A rule:   | slot: 12 bits | offset: 14 bits | kind: 3 bits |
 *
 * CFA = a register + 8 * offset. On x86-64 the return address is in the word below the CFA and the
 * frame pointer is saved 8 * slot below it; slot 1 says that it is unchanged. On aarch64 the frame
 * pointer is saved 8 * slot below it and the return address in the next word. With CFI_SP both are
 * above the stack pointer.
 */
enum cfi_kind {
    CFI_NONE,               /* never a rule of anything */
    CFI_SP,                 /* CFA from the stack pointer */
    CFI_FP,                 /* CFA from the frame pointer */
    CFI_MEMORY,             /* x86-64: realigned frame, CFA = *(fp - 8 * offset), fp saved at fp */
    CFI_GUESS = CFI_MEMORY, /* aarch64: no tables, but fp points at the pair; no row says so */
    CFI_LONE,   /* aarch64: CFA from sp, only the return address is saved, 8 * slot below */
    CFI_END,    /* nothing called this */
    CFI_SIGNAL, /* the kernel did, to run a signal handler */
    CFI_ROW,    /* it takes a row */
};
enum {
    CFI_KIND_BITS = 3,
    CFI_OFFSET_BITS = 14,
    CFI_SLOT_BITS = 12,
    CFI_BITS = CFI_KIND_BITS + CFI_OFFSET_BITS + CFI_SLOT_BITS,
};
/* Slot and offset in bytes, which are multiples of eight. */
#define CFI_RULE(kind, slot, offset) \
    ((uint32_t)(slot) << CFI_OFFSET_BITS | (uint32_t)(offset) | (uint32_t)(kind))
#define CFI_KIND(rule)   ((rule) & ((1u << CFI_KIND_BITS) - 1))
#define CFI_OFFSET(rule) ((rule) & ((1u << CFI_OFFSET_BITS) - 1) << 3)
#define CFI_SLOT(rule)   ((rule) >> CFI_OFFSET_BITS & ((1u << CFI_SLOT_BITS) - 1) << 3)

/* Where a register of the caller is. */
enum cfi_where {
    CFI_SAME,             /* unchanged */
    CFI_UNDEFINED,        /* lost */
    CFI_SAVED,            /* in memory at CFA + number */
    CFI_OFFSET_OF,        /* it is CFA + number */
    CFI_REGISTER,         /* in the register `number` */
    CFI_SAVED_EXPRESSION, /* in memory at what an expression says */
    CFI_EXPRESSION,       /* it is what an expression says */
};
/* An expression is at `tables` + number, its length before it. */
struct cfi_place {
    uint8_t where;
    uint8_t base; /* of the CFA alone: the register */
    int32_t number;
};
struct cfi_row {
    const uint8_t *tables; /* expressions are relative to this */
    bool signal;           /* the exact pc counts in the frame above */
    struct cfi_place cfa;  /* CFI_OFFSET_OF `base`, or CFI_EXPRESSION */
    struct cfi_place places[ARCH_REGISTERS];
};

/* The row for the code at `pc`. `header` is the .eh_frame_hdr of the object that `pc` is in. False:
 * no tables for this address. */
bool cfi_row(const void *header, uintptr_t pc, struct cfi_row *row);
/* Whether the code of an entry begins at `pc`: it is the first byte of a function. */
bool cfi_begins(const void *header, uintptr_t pc);
/* Objects were unloaded: forgets what is known about their memory. */
void cfi_forget(void);
/* Makes a sorted header for tables that have none, in memory that is never given back. NULL if
 * memory is out, or the tables are empty. */
const void *cfi_header_make(const uint8_t *tables, size_t size);
/* The row as a rule; of kind CFI_ROW if it does not fit. */
uint32_t cfi_rule(const struct cfi_row *row, uintptr_t pc);

/* Registers of one frame; those without their bit in `known` are lost. */
struct cfi_registers {
    uintptr_t values[ARCH_REGISTERS];
    uint64_t known;
};
/* Reads a word of the stack, if it can be read. */
struct cfi_memory {
    bool (*read)(struct cfi_memory *memory, uintptr_t at, uintptr_t *value);
};
/* From the registers of a frame to those of its caller; the return address is in ARCH_RETURN. False
 * if they can't be found. */
bool cfi_step(const struct cfi_row *row, struct cfi_memory *memory,
              struct cfi_registers *registers);

#endif
