/* SPDX-License-Identifier: MIT */
/* See tool/symbol/answers.h. */
#include "tool/symbol/answers.h"

#include <stdlib.h>
#include <string.h>

#include "tool/memory/memory.h"

void answers_start(struct answers *answers)
{
    memset(answers, 0, sizeof *answers);
    answers->texts.sparse = true;
    answers_text(answers, "");
}

void answers_free(struct answers *answers)
{
    free(answers->items);
    free(answers->frames);
    free(answers->text);
    map_free(&answers->texts);
    memset(answers, 0, sizeof *answers);
}

static int address_order(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

bool answers_want(struct answers *answers, const uint64_t *addresses, size_t count)
{
    uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
    answers->items = calloc(count + 1, sizeof *answers->items);
    if (!sorted || !answers->items) {
        free(sorted);
        answers->failed = true;
        return false;
    }
    if (count > 0)
        memcpy(sorted, addresses, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, address_order);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            answers->items[answers->count++].address = sorted[i];
    free(sorted);
    return true;
}

size_t answers_at(const struct answers *answers, uint64_t address)
{
    size_t low = 0, high = answers->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (answers->items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct answer *answers_find(const struct answers *answers, uint64_t address)
{
    size_t at = answers_at(answers, address);
    return at < answers->count && answers->items[at].address == address ? &answers->items[at]
                                                                        : NULL;
}

static const void *text_bytes(const void *context, uint32_t place, size_t *size)
{
    const char *text = ((const struct answers *)context)->text + place;
    *size = strlen(text);
    return text;
}

uint32_t answers_text(struct answers *answers, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (answers->failed || (length == 0 && answers->text_size > 0))
        return 0;
    uint32_t there;
    if (!map_find(&answers->texts, answers, text_bytes, text ? text : "", length, &there) ||
        answers->text_size + length + 1 >= UINT32_MAX ||
        !list_reserve(&answers->text, &answers->text_room, answers->text_size + length + 1, 1)) {
        answers->failed = true;
        return 0;
    }
    if (there != MAP_NONE)
        return there;
    uint32_t place = (uint32_t)answers->text_size;
    memcpy(answers->text + place, text ? text : "", length + 1);
    answers->text_size += length + 1;
    if (place > 0)
        map_add(&answers->texts, place);
    return place;
}

void answers_add(struct answers *answers, struct answer *answer, const struct answer_frame *frame)
{
    if (answers->frames_count >= UINT32_MAX ||
        !list_reserve(&answers->frames, &answers->frames_room, answers->frames_count + 1,
                      sizeof *answers->frames)) {
        answers->failed = true;
        return;
    }
    if (answer->frames == 0)
        answer->first = (uint32_t)answers->frames_count;
    answers->frames[answers->frames_count++] = *frame;
    answer->frames++;
}
