/* SPDX-License-Identifier: MIT */
/* See lib/guard/margin.h. */
#include "lib/guard/margin.h"

#include <stddef.h>
#include <string.h>

enum { FILL = 0xa9 };

void margin_fill(uint8_t *from, uint8_t *end)
{
    memset(from, FILL, (size_t)(end - from));
}

const uint8_t *margin_damage(const uint8_t *from, const uint8_t *end)
{
    uint64_t word;
    for (; end - from >= (ptrdiff_t)sizeof word; from += sizeof word) {
        memcpy(&word, from, sizeof word);
        if (word != FILL * UINT64_C(0x0101010101010101))
            break;
    }
    while (from < end && *from == FILL)
        from++;
    return from < end ? from : NULL;
}
