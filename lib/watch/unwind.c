/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/unwind.h. A step from a frame to its caller needs the rule for the frame's code
 * (lib/watch/rules.h).
 *
 * Memory is read only above the frame's stack pointer and only where it is known to be readable.
 * For the thread's own stack, which stays as long as the thread, that is remembered from one walk
 * to the next; on any other (coroutines, handlers with a stack of their own) each walk tries anew,
 * page by page.
 *
 * A walk on the thread's own stack keeps the unchanged part of the one before. From the root on,
 * every word that led from one frame to the next is compared with what it was; then the walk needs
 * to come from the leaf only to the first frame in that part whose registers are the same. That is
 * all a walk would have read there, so the result is what it would have been; but rules may change
 * when code is unloaded, hence `rules_generation`.
 */
#include "lib/watch/unwind.h"

#include <string.h>

#include "base/alternate.h"
#include "base/arch.h"
#include "base/cfi.h"
#include "base/compiler.h"
#include "base/object.h"
#include "base/os.h"
#include "lib/watch/code.h"
#include "lib/watch/rules.h"

/* A step_far walks again from the start: ROWS_MAX bounds how often a walk does that, OWN_MAX is
 * the number of our own frames that may come on top. */
enum { ROWS_MAX = 16, OWN_MAX = 64 };
/* Bytes of stack, from the caller of malloc down, that the longest walk needs. */
enum { ROOM = 4096 };

/*
 * An element of walk->slots:   | slot, in words: 16 bits | stack pointer: 45 bits | flags: 3 bits |
 *
 * The slot is that of the rule that led here. USED: the frame pointer here decided how the walk
 * went on. BARRIER: a step by other means led here. LONE: one by a rule of that kind.
 */
enum { USED = 1, BARRIER = 2, LONE = 4 };
enum { SP_BITS = 48 };
static const uint64_t SP_MASK = (((uint64_t)1 << SP_BITS) - 1) & ~(uint64_t)7;

/* walk->end: END_FINAL: nothing can change the end of the walk. Otherwise the address of the word
 * that was zero and ended it. */
enum { END_FINAL = 0 };
static const uintptr_t END_UNSURE = UINTPTR_MAX;

/* The state of a walk. The registers are not next to each other, because compilers would keep two
 * neighbours in one wide register, which doubles the time of a step. */
struct place {
    struct cfi_memory memory; /* first member: rows read memory through it */
    uintptr_t pc;
    uintptr_t interrupted; /* the last pc that belongs to interrupted code */
    uintptr_t low;         /* [low, high) is readable */
    uintptr_t sp;
    uintptr_t high;
    uintptr_t fp;
    bool grows;    /* pages above `high` may be tested */
    bool strayed;  /* the walk has left the thread's own stack */
    unsigned rows; /* steps by rows so far */
    uint64_t mark; /* of the frame, for walk->slots */
    uintptr_t end;
    uintptr_t meeting; /* from this stack pointer on `meets` is asked */
    int old;           /* index of the last frame of the previous walk that may be met; -1: none */
    bool met;
};

void unwind_forget(void)
{
    cfi_forget();
    rules_forget();
}

/* ---- memory ---------------------------------------------------------------------------- */

static bool page_readable(uintptr_t at)
{
    return os_readable((const void *)at, sizeof(uintptr_t));
}

/* Extends the readable range to [at, at + size). It grows upward only. */
static NOINLINE bool reach(struct place *place, uintptr_t at, size_t size)
{
    enum { FAR = 1 << 20 }; /* bytes; no frame is larger, but a wrong rule may say so */
    uintptr_t end = at + size;
    if (!place->grows || at < place->low || end < at || end > place->high + FAR)
        return false;
    while (place->high < end) {
        if (!page_readable(place->high))
            return false;
        place->high += os_page_size();
    }
    return true;
}

static bool within(struct place *place, uintptr_t start, uintptr_t end)
{
    return end <= place->high || reach(place, start, end - start);
}

static FOREIGN bool word_read(struct place *place, uintptr_t at, uintptr_t *value)
{
    bool inside = at >= place->low && at + sizeof *value <= place->high && at < place->high;
    if (at % sizeof *value != 0 || (!inside && !reach(place, at, sizeof *value)))
        return false;
    *value = *(const uintptr_t *)at;
    return true;
}

static bool memory_read(struct cfi_memory *memory, uintptr_t at, uintptr_t *value)
{
    return word_read((struct place *)memory, at, value);
}

/* Starts a readable range on any stack; it is empty if `sp` can't be read. */
static bool stack_enter(struct place *place, uintptr_t sp)
{
    uintptr_t page = os_page_size();
    place->low = sp & ~(page - 1);
    place->high = place->low + page;
    place->grows = sp % sizeof sp == 0 && sp >> SP_BITS == 0 && page_readable(place->low);
    place->strayed = true;
    if (!place->grows)
        place->low = place->high = 0;
    return place->grows;
}

/* ---- steps ---------------------------------------------------------------------------- */

static bool step_signal(struct place *place)
{
    uintptr_t pc, sp, fp, from = place->sp;
    if (!word_read(place, from + ARCH_SIGNAL_PC, &pc) ||
        !word_read(place, from + ARCH_SIGNAL_SP, &sp) ||
        !word_read(place, from + ARCH_SIGNAL_FP, &fp))
        return false;
    place->pc = place->interrupted = pc + 1;
    place->sp = sp;
    place->fp = fp;
    if (sp <= from || sp >= place->high || sp % sizeof sp != 0)
        return stack_enter(place, sp);
    return true;
}

/* All registers one frame up. */
static bool step_row(struct place *place, struct cfi_registers *registers)
{
    struct code code;
    uintptr_t sp = place->sp;
    code_find(place->pc, place->pc == place->interrupted, &code);
    if (code.signal) {
        registers->known = ((uint64_t)1 << ARCH_REGISTERS) - 1;
        for (unsigned i = 0; i < ARCH_REGISTERS; i++)
            if (!word_read(place, sp + arch_signal_slot(i), &registers->values[i]))
                return false;
        return step_signal(place);
    }
    if (ARCH_PUSHES_RETURN)
        registers->values[ARCH_RETURN] = code.at;
    if (code.at == place->pc || !code.known || !cfi_step(&code.row, &place->memory, registers))
        return false;
    place->pc = arch_plain(registers->values[ARCH_RETURN]) + code.row.signal;
    if (code.row.signal)
        place->interrupted = place->pc;
    place->sp = registers->values[ARCH_SP];
    place->fp = registers->values[ARCH_FP];
    if (code.row.signal && (place->sp < sp || place->sp >= place->high))
        return stack_enter(place, place->sp);
    return place->sp % sizeof sp == 0 && place->sp >= sp + ARCH_PUSHES_RETURN &&
           within(place, sp, place->sp);
}

/* A step by a rule that needs registers that the walk does not carry: walks again to that frame
 * from the start of this walk, where all registers are known. */
static NOINLINE bool step_far(struct place *place)
{
    struct cfi_registers registers;
    struct place own = {.memory.read = memory_read};
    if (place->rows++ == ROWS_MAX)
        return false;
    memset(registers.values, 0, sizeof registers.values);
    arch_registers(registers.values);
    registers.known = ARCH_KEPT | (uint64_t)1 << ARCH_SP | (uint64_t)1 << ARCH_RETURN;
    own.pc = registers.values[ARCH_RETURN] + 1;
    own.sp = registers.values[ARCH_SP];
    if (!stack_enter(&own, own.sp))
        return false;
    for (unsigned i = 0; i < WALK_MAX + OWN_MAX; i++) {
        bool found = own.pc == place->pc && own.sp == place->sp;
        if (!step_row(&own, &registers))
            return false;
        if (found) {
            uintptr_t sp = place->sp;
            place->pc = own.pc;
            place->sp = own.sp;
            place->fp = own.fp;
            return own.sp >= sp && within(place, sp, own.sp);
        }
    }
    return false;
}

/* A realigned frame: the CFA is in memory. */
static bool step_memory(struct place *place, uint64_t rule)
{
    uintptr_t cfa, pc, fp;
    if (place->fp < place->sp || !word_read(place, place->fp - CFI_OFFSET(rule), &cfa) ||
        cfa <= place->fp || !word_read(place, cfa - 8, &pc) || !word_read(place, place->fp, &fp))
        return false;
    place->pc = pc;
    place->sp = cfa;
    place->fp = fp;
    return true;
}

/* On aarch64 a frame pointer does not tell where the frame ends, which the caller's rule may need;
 * but the new frame pointer points at the caller's pair of saved registers. */
static bool step_guess(struct place *place)
{
    uintptr_t pc, fp, sp = place->fp + 16;
    if (place->fp < place->sp || !word_read(place, place->fp, &fp) ||
        !word_read(place, place->fp + 8, &pc))
        return false;
    place->pc = arch_plain(pc);
    uint64_t rule = rule_of(place->pc);
    if (CFI_KIND(rule) == CFI_SP && fp + CFI_SLOT(rule) >= sp + CFI_OFFSET(rule))
        sp = fp + CFI_SLOT(rule) - CFI_OFFSET(rule);
    place->sp = sp;
    place->fp = fp;
    return sp % sizeof sp == 0 && within(place, place->low, sp);
}

static bool step_lone(struct place *place, uint64_t rule)
{
    uintptr_t cfa = place->sp + CFI_OFFSET(rule), pc;
    if (!word_read(place, cfa - CFI_SLOT(rule), &pc))
        return false;
    place->pc = arch_plain(pc);
    place->sp = cfa;
    return true;
}

/* Steps that are rare. */
static NOINLINE bool step_other(struct place *place, uint64_t rule)
{
    bool done = false;
    place->mark = BARRIER;
    place->end = END_UNSURE;
    switch (CFI_KIND(rule)) {
    case CFI_END:
        if (place->pc == place->interrupted && (rule & RULE_EXACT)) {
            done = step_far(place);
            break;
        }
        place->end = END_FINAL;
        return false;
    case CFI_SIGNAL:
        done = step_signal(place);
        break;
    case CFI_ROW:
        done = step_far(place);
        break;
    case CFI_MEMORY:
        done = ARCH_PUSHES_RETURN ? step_memory(place, rule) : step_guess(place);
        break;
    case CFI_LONE:
        done = step_lone(place, rule);
        place->mark = LONE | CFI_SLOT(rule) << (SP_BITS - 3);
        break;
    default:
        break;
    }
    place->mark |= place->sp;
    return done;
}

/* ---- the walk -------------------------------------------------------------------------- */

/* Where the return address of a frame was read. */
INLINE uintptr_t return_slot(uint64_t slot)
{
    uintptr_t sp = slot & SP_MASK;
    return ARCH_PUSHES_RETURN ? sp - 8 : sp - (slot >> SP_BITS << 3) + (slot & LONE ? 0 : 8);
}

/* The last frame of the previous walk, from the root, up to which nothing has changed: all words
 * that led from one frame to the next are the same. Cost: three loads a frame. */
static FOREIGN int unchanged(const struct walk *walk, int count)
{
    if (walk->end != END_FINAL && *(const uintptr_t *)walk->end != 0)
        return -1;
    for (int i = 0; i < count; i++) {
        uint64_t slot = walk->slots[i];
        uintptr_t sp = slot & SP_MASK, below = slot >> SP_BITS << 3;
        if (unlikely(slot & (USED | BARRIER))) {
            if (slot & BARRIER)
                return i;
            bool loaded = ARCH_PUSHES_RETURN ? below != 8 : !(slot & LONE);
            if (loaded && *(const uintptr_t *)(sp - below) != walk->frames[i])
                return i;
        }
        if (arch_plain(*(const uintptr_t *)return_slot(slot)) != walk->pcs[i])
            return i;
    }
    return count - 1;
}

/* Records that the frame pointer of frame `at` decided on a step, for this frame and for those
 * below it that passed it on. */
INLINE void use_frame_pointer(struct walk *walk, unsigned at, uintptr_t fp)
{
    for (;; at++) {
        uint64_t slot = walk->slots[at];
        walk->slots[at] = slot | USED;
        walk->frames[at] = fp;
        bool loaded = ARCH_PUSHES_RETURN ? slot >> SP_BITS != 1 : !(slot & LONE);
        if (likely(loaded || (slot & BARRIER)) || at == WALK_MAX - 1)
            return;
    }
}

/* Frame `at` has an exact return address: as readers look one byte before the recorded address, one
 * is added. The word on the stack differs then, so the next walk does not compare it. */
static void record_exact(struct walk *walk, unsigned at, uintptr_t pc)
{
    walk->pcs[at] = pc + 1;
    walk->slots[at] |= BARRIER;
}

/* Whether the walk, now at frame `at` of the new record, has reached a frame that the previous walk
 * had in the same state. */
static FOREIGN bool meets(struct walk *walk, struct place *place, unsigned at, uintptr_t fp)
{
    uintptr_t sp = walk->slots[at] & SP_MASK;
    int old = place->old < (int)at ? place->old : (int)at - 1;
    while (old >= 0 && (walk->slots[old] & SP_MASK) < sp)
        old--;
    if (old >= 0 && (walk->slots[old] & SP_MASK) == sp) {
        bool used = walk->slots[old] & USED;
        if (walk->pcs[old] == walk->pcs[at] && (!used || walk->frames[old] == fp)) {
            if (used)
                use_frame_pointer(walk, at, fp);
            place->old = old;
            place->met = true;
            return true;
        }
        old--;
    }
    place->old = old;
    place->meeting = old < 0 ? UINTPTR_MAX : walk->slots[old] & SP_MASK;
    return false;
}

/* The walk stopped at `pc` before the end of the stack. If `pc` is in no object, it was not a
 * return address but some other word in its place. Returns the number of frames to drop, 0 or 1. */
static NOINLINE unsigned is_stray(struct place *place, uintptr_t pc, unsigned at)
{
    struct object object;
    if (at == WALK_MAX - 1 || object_find(pc - 1, &object))
        return 0;
    place->end = END_UNSURE;
    return 1;
}

/* Walks from `place` and records frames from the end of the arrays down, until the stack ends, the
 * walk meets the previous one, or `last` is reached. Returns the index of the frame nearest to the
 * root. Cost: two loads from one return address to the next. */
static FOREIGN __attribute__((noinline)) unsigned climb(struct walk *walk, struct place *place,
                                                        unsigned last)
{
    uintptr_t pc = place->pc, sp = place->sp, fp = place->fp, high = place->high, cfa;
    uint64_t mark = sp | (uint64_t)1 << SP_BITS | BARRIER;
    unsigned at = WALK_MAX;
    for (;;) {
        walk->pcs[--at] = pc;
        walk->slots[at] = mark;
        if (unlikely(sp >= place->meeting) && meets(walk, place, at, fp))
            return at;
        uint64_t rule = rule_of(pc);
        uintptr_t slot = CFI_SLOT(rule);
        cfa = sp + CFI_OFFSET(rule);
        if (unlikely(CFI_KIND(rule) != CFI_SP)) {
            if (unlikely(CFI_KIND(rule) != CFI_FP)) {
                place->pc = pc, place->sp = sp, place->fp = fp;
                bool special = CFI_KIND(rule) == CFI_END || CFI_KIND(rule) == CFI_SIGNAL;
                if (special && (rule & RULE_EXACT) && pc != place->interrupted)
                    record_exact(walk, at, pc);
                if (pc == 0 || !step_other(place, rule))
                    break;
                pc = place->pc, sp = place->sp, fp = place->fp, high = place->high;
                mark = place->mark;
                goto next;
            }
            cfa = fp + CFI_OFFSET(rule);
            use_frame_pointer(walk, at, fp);
            place->end = END_FINAL;
            if (cfa < sp || cfa - sp < slot || cfa % 8 != 0)
                return at + is_stray(place, pc, at);
        }
        if (unlikely(cfa > high)) {
            place->end = END_FINAL;
            if (!within(place, sp, cfa))
                return at + is_stray(place, pc, at);
            high = place->high;
        }
        pc = arch_plain(*(const uintptr_t *)(ARCH_PUSHES_RETURN ? cfa - 8 : cfa - slot + 8));
        uintptr_t saved = *(const uintptr_t *)(cfa - slot);
        /* Without a branch: branch prediction fails here, as functions that save it alternate with
         * others. */
        fp ^= (fp ^ saved) & ((uintptr_t)(ARCH_PUSHES_RETURN && slot == 8) - 1);
        sp = cfa;
        mark = sp | slot << (SP_BITS - 3);
    next:
        if (unlikely(at == last)) {
            walk->cut = pc != 0;
            place->end = END_UNSURE;
            return at;
        }
    }
    if (pc == 0 && at < WALK_MAX - 1) { /* no frame: the zero word that was just read marks the
                                            end */
        uint64_t slot = walk->slots[at++];
        place->end = slot & BARRIER ? END_UNSURE : return_slot(slot);
    } else if (place->end != END_FINAL) {
        at += is_stray(place, pc, at);
    }
    return at;
}

enum { FEW = 8 };
_Static_assert(sizeof(struct walk) - offsetof(struct walk, frames) >=
                   (WALK_MAX + FEW) * sizeof(uintptr_t),
               "words behind the last array belong to the walk");

/* Moves the last words of an array of a walk towards its start. Mostly that is one, in a loop that
 * allocates, or a few. As a call of memmove would take longer, FEW are copied then: those too many
 * come from behind the array, and land where nothing is yet. */
INLINE void words_move(uintptr_t *to, const uintptr_t *from, size_t count)
{
    if (likely(count == 1))
        *to = *from;
    else if (likely(count <= FEW && from - to >= FEW))
        memcpy(to, from, FEW * sizeof *to);
    else
        memmove(to, from, count * sizeof *to);
}

/* Puts the new frames, from `at` on, above the frames that were kept. If there are more than
 * `max`, drops those nearest to the root. */
static void record(struct walk *walk, const struct place *place, unsigned at, unsigned max)
{
    unsigned fresh = WALK_MAX - at, kept = place->met ? (unsigned)place->old : 0;
    walk->same = place->met ? kept + 1 : 0;
    if (!place->met)
        walk->end = place->end;
    if (kept + fresh > max) {
        unsigned less = kept + fresh - max;
        memmove(walk->pcs, walk->pcs + less, (kept - less) * sizeof walk->pcs[0]);
        kept -= less;
        walk->same = 0, walk->cut = true, walk->end = END_UNSURE;
    }
    words_move(walk->pcs + kept, walk->pcs + at, fresh);
    words_move(walk->slots + kept, walk->slots + at, fresh);
    words_move(walk->frames + kept, walk->frames + at, fresh);
    walk->count = kept + fresh;
}

/* Field by field: compilers clear a whole struct with an instruction that is slow to start. */
static void place_set(struct place *place, const struct caller *from)
{
    place->memory.read = memory_read;
    place->pc = from->pc, place->sp = from->sp, place->fp = from->fp;
    place->interrupted = place->low = place->high = 0;
    place->grows = place->strayed = place->met = false;
    place->rows = 0, place->mark = 0, place->end = END_FINAL;
    place->meeting = UINTPTR_MAX, place->old = -1;
}

/* `interrupted`: from->pc is an exact address plus one. */
INLINE void walk_from(struct walk *walk, const struct caller *from, bool interrupted, unsigned max)
{
    struct place place;
    uint32_t now = load_acquire(&rules_generation);
    place_set(&place, from);
    if (interrupted)
        place.interrupted = from->pc;
    bool own = place.sp % sizeof place.sp == 0 && own_stack_has(&walk->own, place.sp);
    walk->cut = false;
    if (likely(own)) {
        place.low = place.sp, place.high = walk->own.high;
        if (walk->generation == now && walk->end != END_UNSURE)
            place.old = unchanged(walk, (int)walk->count);
        if (place.old >= 0)
            place.meeting = walk->slots[place.old] & SP_MASK;
    } else if (!alternate_has(place.sp, ROOM) || !stack_enter(&place, place.sp)) {
        walk->pcs[0] = from->pc;
        walk->count = 1, walk->same = 0, walk->end = END_UNSURE;
        return;
    }
    unsigned at = climb(walk, &place, WALK_MAX - max);
    record(walk, &place, at, max);
    if (place.strayed)
        walk->end = END_UNSURE;
    walk->generation = now;
}

void unwind(struct walk *walk, const struct caller *from, unsigned max)
{
    walk_from(walk, from, false, max);
}

static FOREIGN struct caller from_context(const char *frame)
{
    return (struct caller){
        *(const uintptr_t *)(frame + ARCH_SIGNAL_PC) + 1,
        *(const uintptr_t *)(frame + ARCH_SIGNAL_SP),
        *(const uintptr_t *)(frame + ARCH_SIGNAL_FP),
        FAMILY_MALLOC,
    };
}

FOREIGN void unwind_context(struct walk *walk, const void *context, unsigned max)
{
    struct caller from = from_context((const char *)context - ARCH_SIGNAL_CONTEXT);
    walk_from(walk, &from, true, max);
}

/* The registers that a signal interrupted. */
static FOREIGN void interrupted(const char *frame, struct cfi_registers *registers)
{
    registers->known = ((uint64_t)1 << ARCH_REGISTERS) - 1;
    for (unsigned i = 0; i < ARCH_REGISTERS; i++)
        registers->values[i] = *(const uintptr_t *)(frame + arch_signal_slot(i));
}

FOREIGN uintptr_t unwind_holder(const void *context, uintptr_t address)
{
    const char *frame = (const char *)context - ARCH_SIGNAL_CONTEXT;
    struct place place;
    struct cfi_registers registers;
    struct caller from = from_context(frame);
    uintptr_t pc = 0;
    place_set(&place, &from);
    place.interrupted = from.pc;
    interrupted(frame, &registers);
    if (!alternate_has(place.sp, ROOM) || !stack_enter(&place, place.sp))
        return 0;
    for (unsigned i = 0; i < WALK_MAX && place.sp <= address; i++) {
        pc = place.pc;
        if (!step_row(&place, &registers))
            return 0;
    }
    return place.sp > address ? pc : 0;
}

bool unwind_calls_only(const struct caller *from, uintptr_t up_to)
{
    struct place place;
    struct cfi_registers registers = {.known = (uint64_t)1 << ARCH_SP | (uint64_t)1 << ARCH_FP};
    place_set(&place, from);
    registers.values[ARCH_SP] = from->sp;
    registers.values[ARCH_FP] = from->fp;
    if (!alternate_has(place.sp, ROOM) || !stack_enter(&place, place.sp))
        return false;
    for (unsigned i = 0; i < WALK_MAX && place.sp <= up_to; i++)
        if (!step_row(&place, &registers) || place.interrupted != 0)
            return false;
    return place.sp > up_to;
}
