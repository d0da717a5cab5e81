/* SPDX-License-Identifier: MIT */
/* The bytes before and behind a guarded block, on its own pages: all have one value until something
 * is written there. */
#ifndef GUARD_MARGIN_H
#define GUARD_MARGIN_H

#include <stdint.h>

void margin_fill(uint8_t *from, uint8_t *end);
/* The first one that was written to, or NULL. */
const uint8_t *margin_damage(const uint8_t *from, const uint8_t *end);

#endif
