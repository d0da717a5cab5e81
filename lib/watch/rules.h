/* SPDX-License-Identifier: MIT */
/*
 * The rules by which the unwinder steps from a frame to its caller, in a cache that makes that one
 * load: the table's index is some bits of the code's address, so that code of one page has its
 * rules in one page; a word holds all other bits (so that the whole is compared) and the rule, and
 * is complete in itself, so that no lock is needed. The second place for a rule is half the table
 * away.
 */
#ifndef WATCH_RULES_H
#define WATCH_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cfi.h"
#include "base/compiler.h"

/* 32,768 entries of 8 bytes, of which programs touch the pages that they need. An index leaves out
 * the low bits, as few return addresses are within 8 bytes of each other. */
enum { RULES_LOW_BITS = 3, RULES_INDEX_BITS = 15, RULES = 1 << RULES_INDEX_BITS };
extern uint64_t rules[RULES];
/* Goes up when rules were forgotten. */
extern uint32_t rules_generation;

/* With CFI_END and CFI_SIGNAL: see lib/watch/code.h. */
enum { RULE_EXACT = CFI_RULE(0, 0, 8) };

/* Written so that the compiler needs one shift less. */
INLINE uint64_t *rule_at(uintptr_t pc)
{
    uintptr_t mask = (uintptr_t)(RULES - 1) << RULES_LOW_BITS;
    return (uint64_t *)((char *)rules + (pc & mask) * (sizeof rules[0] >> RULES_LOW_BITS));
}

/* The address without the bits of the index, except its top bit: a rule may be in either of its two
 * places. */
INLINE uint64_t rule_tag(uintptr_t pc)
{
    uint64_t low = ((uint64_t)1 << RULES_LOW_BITS) - 1;
    return pc >> (RULES_INDEX_BITS - 1 + RULES_LOW_BITS) << RULES_LOW_BITS | (pc & low);
}

uint64_t rule_learn(uintptr_t pc);
/* Code was unloaded. */
void rules_forget(void);

/* A rule, and bits of the address above it. Cost: one load. */
INLINE uint64_t rule_of(uintptr_t pc)
{
    uint64_t word = load_relaxed(rule_at(pc));
    return likely(word >> CFI_BITS == rule_tag(pc)) ? word : rule_learn(pc);
}

#endif
