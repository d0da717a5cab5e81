/* SPDX-License-Identifier: MIT */
/* See tool/symbol/answers.h. */
#include "tool/symbol/answers.h"

#include <stdlib.h>
#include <string.h>

void answers_start(struct answers *answers)
{
    memset(answers, 0, sizeof *answers);
    answers_text(answers, "");
}

void answers_free(struct answers *answers)
{
    free(answers->items);
    free(answers->frames);
    free(answers->text);
    free(answers->slots);
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

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 14695981039346656037U;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211U;
    return hash ^ hash >> 29;
}

static bool slots_grow(struct answers *answers)
{
    size_t size = answers->slots_size == 0 ? 256 : 2 * answers->slots_size;
    uint32_t *slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < answers->slots_size; i++) {
        if (answers->slots[i] == 0)
            continue;
        size_t at = text_hash(answers->text + answers->slots[i]) & (size - 1);
        while (slots[at] != 0)
            at = (at + 1) & (size - 1);
        slots[at] = answers->slots[i];
    }
    free(answers->slots);
    answers->slots = slots;
    answers->slots_size = size;
    return true;
}

uint32_t answers_text(struct answers *answers, const char *text)
{
    size_t length = text ? strlen(text) : 0;
    if (answers->failed || (length == 0 && answers->text_size > 0))
        return 0;
    if (answers->slots_count * 2 >= answers->slots_size && !slots_grow(answers)) {
        answers->failed = true;
        return 0;
    }
    size_t at = text_hash(text ? text : "") & (answers->slots_size - 1);
    for (; answers->slots[at] != 0; at = (at + 1) & (answers->slots_size - 1))
        if (strcmp(answers->text + answers->slots[at], text) == 0)
            return answers->slots[at];
    if (answers->text_size + length + 1 > answers->text_room) {
        size_t room = 2 * answers->text_room + length + 4096;
        char *more = room < UINT32_MAX ? realloc(answers->text, room) : NULL;
        if (!more) {
            answers->failed = true;
            return 0;
        }
        answers->text = more;
        answers->text_room = room;
    }
    uint32_t place = (uint32_t)answers->text_size;
    memcpy(answers->text + place, text ? text : "", length + 1);
    answers->text_size += length + 1;
    if (place > 0) {
        answers->slots[at] = place;
        answers->slots_count++;
    }
    return place;
}

void answers_add(struct answers *answers, struct answer *answer, const struct answer_frame *frame)
{
    if (answers->frames_count == answers->frames_room) {
        size_t room = 2 * answers->frames_room + 256;
        void *more =
            room < UINT32_MAX ? realloc(answers->frames, room * sizeof *answers->frames) : NULL;
        if (!more) {
            answers->failed = true;
            return;
        }
        answers->frames = more;
        answers->frames_room = room;
    }
    if (answer->frames == 0)
        answer->first = (uint32_t)answers->frames_count;
    answers->frames[answers->frames_count++] = *frame;
    answer->frames++;
}
