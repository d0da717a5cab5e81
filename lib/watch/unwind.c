/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/unwind.h. A step from a frame to its caller needs the rule for the frame's code. A
 * cache of rules makes that a hash and a load; it is an array of words that are each complete in
 * themselves, so that it needs no lock: the code address is scrambled to 48 bits, 13 of which
 * choose a set of two words; the word holds the other 35 and the rule's 29.
 *
 * The code address of a frame is its return address less one: the call itself. The frame that a
 * signal interrupted has no call, so its exact address plus one stands in its place, here and in
 * what is recorded.
 *
 * Memory is read only where it is known to be readable: between the frame's stack pointer and the
 * end of what was tried before, which grows page by page.
 */
#include "lib/watch/unwind.h"

#include <string.h>

#include "base/arch.h"
#include "base/cfi.h"
#include "base/compiler.h"
#include "base/object.h"
#include "base/os.h"

enum { SET_BITS = 13, WAYS = 2, KEY_BITS = 48, ROWS_MOST = 16, OWN_MOST = 64 };
static const uint64_t SCRAMBLE = 0x9e3779b97f4a7c15u;

static uint64_t rules[1 << SET_BITS][WAYS];
static uint32_t generation;

/* Where a walk is. */
struct place {
    struct cfi_memory memory; /* first: rows read through it */
    uintptr_t pc, sp, fp;
    uintptr_t low, high; /* readable */
    unsigned rows;       /* steps by rows so far */
};

/* ---- rules ---------------------------------------------------------------------------- */

/* What stands for code without tables: a frame pointer is taken to be one. */
enum { GUESS = CFI_FP | 16 | 2 << (CFI_KIND_BITS + CFI_OFFSET_BITS) };

static bool is_signal_code(const struct object *object, uintptr_t pc)
{
    return pc >= object->start && object->end - pc >= ARCH_SIGNAL_CODE &&
           arch_signal_code((const void *)pc);
}

static NOINLINE uint32_t rule_find(uintptr_t code, bool *lasting)
{
    struct object object;
    struct cfi_row row;
    *lasting = object_find(code, &object);
    if (!*lasting)
        return GUESS;
    bool known = cfi_row(object.header, code, &row);
    /* The tables of a signal's return begin one byte early, for those who subtract one. */
    if ((!known || row.signal) && is_signal_code(&object, code + 1))
        return CFI_SIGNAL;
    return known ? cfi_rule(&row, code) : GUESS;
}

static NOINLINE uint32_t rule_learn(uintptr_t code, uint64_t hash)
{
    uint32_t before = load_acquire(&generation);
    bool lasting;
    uint32_t rule = rule_find(code, &lasting);
    if (!lasting || code >> KEY_BITS != 0)
        return rule;
    uint64_t *set = rules[hash >> (64 - SET_BITS)], word = hash << SET_BITS | rule;
    store_relaxed(&set[1], load_relaxed(&set[0]));
    store_relaxed(&set[0], word);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (load_relaxed(&generation) != before)
        store_relaxed(&set[0], 0);
    return rule;
}

INLINE uint32_t rule_of(uintptr_t pc)
{
    uintptr_t code = pc - 1;
    uint64_t hash = (code << (64 - KEY_BITS)) * SCRAMBLE;
    const uint64_t *set = rules[hash >> (64 - SET_BITS)];
    for (unsigned i = 0; i < WAYS; i++) {
        uint64_t rule = load_relaxed(&set[i]) ^ hash << SET_BITS;
        if (likely(rule < (uint64_t)1 << CFI_BITS && rule != 0))
            return (uint32_t)rule;
    }
    return rule_learn(code, hash);
}

void unwind_forget(void)
{
    __atomic_fetch_add(&generation, 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        for (unsigned way = 0; way < WAYS; way++)
            if (load_relaxed(&rules[i][way]) != 0) /* a page that nobody used stays so */
                store_relaxed(&rules[i][way], 0);
}

/* ---- memory ---------------------------------------------------------------------------- */

/* Makes [at, at + size) part of the readable range, which grows upward only. */
static NOINLINE bool reach(struct place *place, uintptr_t at, size_t size)
{
    uintptr_t page = os_page_size();
    if (at < place->low || at + size < at || at + size - place->high > 1u << 20)
        return false;
    while (place->high < at + size) {
        if (!os_readable((const void *)place->high, page))
            return false;
        place->high += page;
    }
    return true;
}

INLINE bool can_read(struct place *place, uintptr_t at, size_t size)
{
    return likely(at >= place->low && at + size <= place->high && at + size > at) ||
           reach(place, at, size);
}

static RACY bool word_read(struct place *place, uintptr_t at, uintptr_t *value)
{
    if (!can_read(place, at, sizeof *value))
        return false;
    memcpy(value, (const void *)at, sizeof *value);
    return true;
}

static bool memory_read(struct cfi_memory *memory, uintptr_t at, uintptr_t *value)
{
    return word_read((struct place *)memory, at, value);
}

/* Starts a readable range at another stack. */
static bool stack_enter(struct place *place, uintptr_t sp)
{
    uintptr_t page = os_page_size();
    place->low = sp & ~(page - 1);
    place->high = place->low + page;
    return place->high > page && os_readable((const void *)place->low, page);
}

/* ---- steps ---------------------------------------------------------------------------- */

static bool step_signal(struct place *place)
{
    uintptr_t pc, sp, fp, from = place->sp;
    if (!word_read(place, from + ARCH_SIGNAL_PC, &pc) ||
        !word_read(place, from + ARCH_SIGNAL_SP, &sp) ||
        !word_read(place, from + ARCH_SIGNAL_FP, &fp))
        return false;
    place->pc = pc + 1;
    place->sp = sp;
    place->fp = fp;
    if (sp < place->low || sp >= place->high)
        return stack_enter(place, sp);
    return true;
}

/* All registers one frame up. */
static bool step_row(struct place *place, struct cfi_registers *registers)
{
    struct object object;
    struct cfi_row row;
    uintptr_t code = place->pc - 1, sp = place->sp;
    if (!object_find(code, &object))
        return false;
    bool known = cfi_row(object.header, code, &row);
    if ((!known || row.signal) && is_signal_code(&object, code + 1)) {
        registers->known = ((uint64_t)1 << ARCH_REGISTERS) - 1;
        for (unsigned i = 0; i < ARCH_REGISTERS; i++)
            if (!word_read(place, sp + arch_signal_slot(i), &registers->values[i]))
                return false;
        return step_signal(place);
    }
    registers->values[ARCH_RETURN] = ARCH_PUSHES_RETURN ? code : registers->values[ARCH_RETURN];
    if (!known || !cfi_step(&row, &place->memory, registers))
        return false;
    place->pc = arch_plain(registers->values[ARCH_RETURN]) + row.signal;
    place->sp = registers->values[ARCH_SP];
    place->fp = registers->values[ARCH_FP];
    if (row.signal && (place->sp < place->low || place->sp >= place->high))
        return stack_enter(place, place->sp);
    return place->sp > sp || (place->sp == sp && !ARCH_PUSHES_RETURN);
}

/* A frame whose rule needs registers that the walk does not carry. They can be had by walking again
 * from here, where all are known, to that frame. */
static NOINLINE bool step_far(struct place *place)
{
    struct cfi_registers registers;
    struct place own = {.memory.read = memory_read};
    if (place->rows++ == ROWS_MOST)
        return false;
    memset(registers.values, 0, sizeof registers.values);
    arch_registers(registers.values);
    registers.known = ARCH_KEPT | (uint64_t)1 << ARCH_SP | (uint64_t)1 << ARCH_RETURN;
    own.pc = registers.values[ARCH_RETURN] + 1;
    own.sp = registers.values[ARCH_SP];
    if (!stack_enter(&own, own.sp))
        return false;
    for (unsigned i = 0; i < WALK_MOST + OWN_MOST; i++) {
        bool found = own.pc == place->pc && own.sp == place->sp;
        if (!step_row(&own, &registers))
            return false;
        if (found) {
            unsigned rows = place->rows;
            *place = own;
            place->rows = rows;
            return true;
        }
    }
    return false;
}

static RACY bool step_plain(struct place *place, uint32_t rule)
{
    unsigned kind = CFI_KIND(rule);
    uintptr_t cfa = (kind == CFI_FP ? place->fp : place->sp) + CFI_OFFSET(rule);
    uintptr_t slot = CFI_SLOT(rule), back = 8, fp = place->fp;
    if (kind == CFI_MEMORY) {
        if (fp < place->sp || !word_read(place, fp - CFI_OFFSET(rule), &cfa))
            return false;
        slot = cfa - fp;
    }
    if (!ARCH_PUSHES_RETURN)
        back = kind == CFI_LONE ? slot : slot - 8;
    if (cfa < place->sp || cfa - place->sp < back || cfa - place->sp < slot || cfa % 8 != 0)
        return false;
    uintptr_t pc;
    if (!word_read(place, cfa - back, &pc))
        return false;
    if (slot != 0 && kind != CFI_LONE && !word_read(place, cfa - slot, &fp))
        return false;
    place->pc = arch_plain(pc);
    place->sp = cfa;
    place->fp = fp;
    return true;
}

static bool step(struct place *place)
{
    uint32_t rule = rule_of(place->pc);
    switch (CFI_KIND(rule)) {
    case CFI_END:
        return false;
    case CFI_SIGNAL:
        return step_signal(place);
    case CFI_ROW:
        return step_far(place);
    default:
        return step_plain(place, rule);
    }
}

void unwind(struct walk *walk, const struct caller *from, unsigned most)
{
    struct place place = {{memory_read}, from->pc, from->sp, from->fp, 0, 0, 0};
    unsigned count = 0;
    walk->cut = false;
    walk->same = 0;
    bool more = stack_enter(&place, place.sp);
    do {
        if (count == most) {
            walk->cut = true;
            break;
        }
        walk->pcs[WALK_MOST - ++count] = place.pc;
        more = more && step(&place);
    } while (more && place.pc != 0);
    memmove(walk->pcs, walk->pcs + WALK_MOST - count, count * sizeof walk->pcs[0]);
    walk->count = count;
}
