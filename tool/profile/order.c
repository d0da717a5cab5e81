/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/order.h. A range of stacks that begin alike is sorted by its next frame, and so
 * is each part of it, until a part is so small that all its frames fit in a buffer: that is sorted
 * at once. A range that does not get smaller (a deep recursion, seen at each of its depths) is
 * sorted by comparing whole stacks instead.
 */
#include "tool/profile/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_FRAMES = 1 << 18, /* 1 MiB of frames is sorted at once, */
    BUFFER_STACKS = 1 << 14, /* of at most this many stacks */
    ROUNDS_MAX = 40,         /* frames that a range is split by before it counts as a recursion */
};

struct tail {
    uint32_t at, count; /* in sorter->buffer */
    uint32_t stack;
};

struct sorter {
    uint64_t *places;
    order_path *path;
    const void *context;
    bool from_end;
    uint32_t *buffer; /* the frames of `tails` */
    struct tail *tails;
    uint32_t *head; /* the first stack of a range */
    size_t head_room;
    bool failed;
};

/* What a look at each stack of a range says. */
struct look {
    size_t buffered; /* stacks whose frames are in the buffer: all, or they did not fit */
    uint32_t common; /* frames that all share from the depth on */
};

static void sort_range(struct sorter *it, size_t first, size_t count, uint32_t depth,
                       uint32_t shared);
static struct look look(struct sorter *it, size_t first, size_t count, uint32_t depth);
static uint32_t frame_at(const struct sorter *it, const uint32_t *path, uint32_t count,
                         uint32_t depth);
static bool head_keep(struct sorter *it, const uint32_t *path, uint32_t count);
static void sort_tails(struct sorter *it, size_t first, size_t count, uint32_t depth);
static int by_tail(const void *left, const void *right, void *context);
static uint32_t tails_share(const struct sorter *it, const struct tail *a, const struct tail *b);
static void sort_whole(struct sorter *it, size_t first, size_t count);
static int by_stack(const void *left, const void *right, void *context);
static int compare(struct sorter *it, uint32_t a, uint32_t b, uint32_t *shared);
static void sort_numbers(uint64_t *items, size_t count, unsigned bit);
static size_t ended_skip(uint64_t *places, size_t first, size_t end, uint32_t depth,
                         uint32_t shared);
static uint64_t place_of(uint32_t shared, uint64_t stack);
static size_t keys_end(const uint64_t *places, size_t at, size_t end);

bool order_make(struct order *order, size_t count, order_path *path, const void *context,
                bool from_end)
{
    struct sorter it = {.path = path, .context = context, .from_end = from_end};
    *order = (struct order){malloc((count + 1) * sizeof *order->places), count};
    it.places = order->places;
    it.buffer = malloc(BUFFER_FRAMES * sizeof *it.buffer);
    it.tails = malloc(BUFFER_STACKS * sizeof *it.tails);
    it.failed = !it.places || !it.buffer || !it.tails || count >= UINT32_MAX;
    for (size_t i = 0; i < count && !it.failed; i++)
        it.places[i] = i;
    if (!it.failed && count > 0)
        sort_range(&it, 0, count, 0, 0);
    free(it.buffer);
    free(it.tails);
    free(it.head);
    return !it.failed;
}

/* Sorts stacks that share `depth` frames; the first will share `shared` with what is before it. The
 * largest part is done last, in the loop: calls are nested a few deep only. */
static void sort_range(struct sorter *it, size_t first, size_t count, uint32_t depth,
                       uint32_t shared)
{
    uint64_t *places = it->places;
    for (unsigned round = 0; count > 1 && !it->failed; round++) {
        struct look seen = look(it, first, count, depth);
        if (seen.buffered == count)
            sort_tails(it, first, count, depth);
        else if (round == ROUNDS_MAX)
            sort_whole(it, first, count);
        if (seen.buffered == count || round == ROUNDS_MAX)
            break;
        depth += seen.common;
        if (seen.common > 0)
            continue;
        size_t end = first + count;
        sort_numbers(places + first, count, 63);
        size_t begin = ended_skip(places, first, end, depth, shared);
        size_t max = begin, max_end = begin;
        for (size_t i = begin, next; i < end; i = next) {
            next = keys_end(places, i, end);
            if (next - i > max_end - max) {
                max = i;
                max_end = next;
            }
        }
        for (size_t i = begin, next; i < end; i = next) {
            next = i == max ? max_end : keys_end(places, i, end);
            if (i != max)
                sort_range(it, i, next - i, depth + 1, i == first ? shared : depth);
        }
        if (max == end)
            return;
        shared = max == first ? shared : depth;
        first = max;
        count = max_end - max;
        depth++;
    }
    places[first] = place_of(shared, places[first]);
}

/* Puts the frame at `depth` above each stack's number, counted from 1; 0 where it ends. */
static struct look look(struct sorter *it, size_t first, size_t count, uint32_t depth)
{
    struct look look = {0, UINT32_MAX};
    uint32_t used = 0, head_count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t stack = (uint32_t)it->places[first + i], frames;
        const uint32_t *path = it->path(it->context, stack, &frames);
        uint32_t left = frames > depth ? frames - depth : 0;
        uint64_t key = left > 0 ? (uint64_t)frame_at(it, path, frames, depth) + 1 : 0;
        it->places[first + i] = key << 32 | stack;
        if (i == 0 && !head_keep(it, path, head_count = frames))
            return look;
        uint32_t same = 0;
        look.common = left < look.common ? left : look.common;
        while (i > 0 && same < look.common &&
               frame_at(it, path, frames, depth + same) ==
                   frame_at(it, it->head, head_count, depth + same))
            same++;
        look.common = i > 0 ? same : look.common;
        if (look.buffered < i || i == BUFFER_STACKS || left > BUFFER_FRAMES - used)
            continue;
        it->tails[look.buffered++] = (struct tail){used, left, stack};
        for (uint32_t k = 0; k < left; k++)
            it->buffer[used++] = frame_at(it, path, frames, depth + k);
    }
    return look;
}

static uint32_t frame_at(const struct sorter *it, const uint32_t *path, uint32_t count,
                         uint32_t depth)
{
    return path[it->from_end ? count - 1 - depth : depth];
}

static bool head_keep(struct sorter *it, const uint32_t *path, uint32_t count)
{
    if (count > it->head_room) {
        free(it->head);
        it->head = malloc(2 * (size_t)count * sizeof *it->head);
        it->head_room = it->head ? 2 * (size_t)count : 0;
    }
    if (count > 0 && it->head)
        memcpy(it->head, path, count * sizeof *path);
    it->failed |= count > 0 && !it->head;
    return !it->failed;
}

/* All frames from `depth` on are in the buffer. */
static void sort_tails(struct sorter *it, size_t first, size_t count, uint32_t depth)
{
    qsort_r(it->tails, count, sizeof *it->tails, by_tail, it);
    for (size_t i = 0; i < count; i++) {
        uint64_t shared = i > 0 ? depth + tails_share(it, &it->tails[i - 1], &it->tails[i]) : 0;
        it->places[first + i] = shared << 32 | it->tails[i].stack;
    }
}

static int by_tail(const void *left, const void *right, void *context)
{
    const struct sorter *it = context;
    const struct tail *a = left, *b = right;
    uint32_t shared = tails_share(it, a, b);
    if (shared < a->count && shared < b->count)
        return it->buffer[a->at + shared] < it->buffer[b->at + shared] ? -1 : 1;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

static uint32_t tails_share(const struct sorter *it, const struct tail *a, const struct tail *b)
{
    const uint32_t *left = it->buffer + a->at, *right = it->buffer + b->at;
    uint32_t shared = 0;
    while (shared < a->count && shared < b->count && left[shared] == right[shared])
        shared++;
    return shared;
}

static void sort_whole(struct sorter *it, size_t first, size_t count)
{
    uint64_t *places = it->places + first;
    qsort_r(places, count, sizeof *places, by_stack, it);
    for (size_t i = 1; i < count; i++) {
        uint32_t shared, stack = (uint32_t)places[i];
        compare(it, (uint32_t)places[i - 1], stack, &shared);
        places[i] = (uint64_t)shared << 32 | stack;
    }
}

static int by_stack(const void *left, const void *right, void *context)
{
    uint32_t a = (uint32_t) * (const uint64_t *)left, b = (uint32_t) * (const uint64_t *)right;
    uint32_t shared;
    int order = compare(context, a, b, &shared);
    return order != 0 ? order : a < b ? -1 : a > b;
}

/* Whole stacks, one against the other; *shared is how many first frames are the same. */
static int compare(struct sorter *it, uint32_t a, uint32_t b, uint32_t *shared)
{
    uint32_t count_a, count_b, depth = 0;
    const uint32_t *path_a = it->path(it->context, a, &count_a);
    const uint32_t *path_b = it->path(it->context, b, &count_b);
    while (depth < count_a && depth < count_b) {
        uint32_t left = frame_at(it, path_a, count_a, depth);
        uint32_t right = frame_at(it, path_b, count_b, depth);
        if (left != right) {
            *shared = depth;
            return left < right ? -1 : 1;
        }
        depth++;
    }
    *shared = depth;
    return count_a != count_b ? (count_a < count_b ? -1 : 1) : 0;
}

/* By bits, the highest first, in its place: qsort would need as much memory again. */
static void sort_numbers(uint64_t *items, size_t count, unsigned bit)
{
    /* Sorted by comparing: splitting so few by bits takes as many steps as they have bits. */
    enum { FEW = 12 };
    while (count > FEW) {
        size_t low = 0, high = count;
        while (low < high)
            if (items[low] >> bit & 1) {
                uint64_t kept = items[--high];
                items[high] = items[low];
                items[low] = kept;
            } else {
                low++;
            }
        if (bit == 0)
            return;
        bit--;
        sort_numbers(items, low, bit);
        items += low;
        count -= low;
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && items[k] < items[k - 1]; k--) {
            uint64_t kept = items[k];
            items[k] = items[k - 1];
            items[k - 1] = kept;
        }
}

/* Stacks that have no more frames are the same, and in their order already. */
static size_t ended_skip(uint64_t *places, size_t first, size_t end, uint32_t depth,
                         uint32_t shared)
{
    size_t at = first;
    for (; at < end && places[at] >> 32 == 0; at++)
        places[at] = place_of(at == first ? shared : depth, places[at]);
    return at;
}

static uint64_t place_of(uint32_t shared, uint64_t stack)
{
    return shared * (UINT64_C(1) << 32) | (uint32_t)stack;
}

/* The end of the places from `at` on with the same key. */
static size_t keys_end(const uint64_t *places, size_t at, size_t end)
{
    uint64_t key = places[at] >> 32;
    while (at < end && places[at] >> 32 == key)
        at++;
    return at;
}

void order_free(struct order *order)
{
    free(order->places);
    *order = (struct order){NULL, 0};
}
