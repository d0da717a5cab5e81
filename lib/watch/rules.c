/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/rules.h. A rule that is learned while rules are forgotten is taken out again, since
 * its code may be gone.
 */
#include "lib/watch/rules.h"

#include "base/arch.h"
#include "lib/watch/code.h"

BULK uint64_t rules[RULES];
uint32_t rules_generation = 1;

/* A bit for each PART rules in a row, set after one of them was written. So `rules_forget`, a part
 * of every dlclose, does not read the whole cache. */
enum { PART = 64, PARTS = RULES / PART, WORD_BITS = 64 };
static uint64_t written[PARTS / WORD_BITS];

/* The rules for code without tables: the frame pointer register is taken for a frame pointer. */
enum {
    GUESS = CFI_RULE(ARCH_PUSHES_RETURN ? CFI_FP : CFI_GUESS, 16, 16),
    SIGNAL = CFI_RULE(CFI_SIGNAL, 0, 8),
    START = CFI_RULE(CFI_END, 0, 8), /* no call led to it: it is the first frame of its thread */
};

static uint32_t rule_find(uintptr_t pc, bool *lasting);
static void rule_note(const uint64_t *rule);

NOINLINE uint64_t rule_learn(uintptr_t pc)
{
    uint64_t *first = rule_at(pc), *other = rules + ((size_t)(first - rules) ^ RULES / 2);
    uint64_t tag = rule_tag(pc);
    if (pc >> ARCH_PC_BITS != 0 || tag >> RULES_LOW_BITS == 0)
        return CFI_NONE;
    uint32_t before = load_acquire(&rules_generation);
    uint64_t word = load_relaxed(other);
    if (word >> CFI_BITS != tag) {
        bool lasting;
        word = tag << CFI_BITS | rule_find(pc, &lasting);
        if (!lasting)
            return word;
    }
    uint64_t before_it = load_relaxed(first);
    if (before_it != 0 || load_relaxed(other) == word) /* or no page is touched for nothing */
        store_relaxed(other, before_it);
    store_relaxed(first, word);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    rule_note(first);
    rule_note(other);
    if (load_relaxed(&rules_generation) != before) {
        store_relaxed(first, 0);
        store_relaxed(other, 0);
    }
    return word;
}

/* `lasting`: the address is in a loaded object, so the rule may be cached. */
static uint32_t rule_find(uintptr_t pc, bool *lasting)
{
    struct code code;
    code_find(pc, false, &code);
    *lasting = code.object;
    if (code.signal)
        return SIGNAL;
    if (code.at == pc)
        return START;
    return code.known ? cfi_rule(&code.row, code.at) : GUESS;
}

/* After the rule is written: `rules_forget` takes the bit first, then clears the rules. */
static void rule_note(const uint64_t *rule)
{
    size_t part = (size_t)(rule - rules) / PART;
    uint64_t *word = &written[part / WORD_BITS], bit = (uint64_t)1 << part % WORD_BITS;
    if (!(load_relaxed(word) & bit))
        __atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

void rules_forget(void)
{
    __atomic_fetch_add(&rules_generation, 1, __ATOMIC_SEQ_CST);
    for (size_t i = 0; i < COUNT_OF(written); i++) {
        uint64_t parts = __atomic_exchange_n(&written[i], 0, __ATOMIC_SEQ_CST);
        for (; parts != 0; parts &= parts - 1) {
            size_t part = i * WORD_BITS + (size_t)__builtin_ctzll(parts);
            for (size_t at = part * PART; at < (part + 1) * PART; at++)
                store_relaxed(&rules[at], 0);
        }
    }
}
