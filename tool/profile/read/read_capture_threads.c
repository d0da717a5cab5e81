/* SPDX-License-Identifier: MIT */
/*
 * See tool/profile/read/read_capture_threads.h. A thread has three numbers: that of its row in a
 * snapshot, which another one may have later; its id, by which it is known from one snapshot to the
 * next; and the kernel's tid, by which people and clocks know it.
 */
#include "tool/profile/read/read_capture_threads.h"

#include <stdlib.h>

#include "tool/profile/read/read_capture.h"
#include "tool/profile/read/read_capture_clock.h"

void capture_threads_start(struct capture_threads *threads, struct profile *profile)
{
    threads->profile = profile;
    threads->words.thread = profile_string_of(profile, "thread");
    threads->words.tid = profile_string_of(profile, "tid");
    threads->words.bytes = profile_string_of(profile, LABEL_BLOCK_BYTES);
    threads->words.other = profile_string_of(profile, PROFILE_OTHER_THREADS);
    threads->words.lock = profile_string_of(profile, "lock");
    threads->words.holder = profile_string_of(profile, "holder");
}

void capture_threads_anew(struct capture_threads *threads)
{
    keys_free(&threads->numbers);
    threads->numbered.count = 0;
}

void capture_threads_take(struct capture_threads *threads, const struct capture_thread *thread,
                          bool numbered)
{
    struct profile *profile = threads->profile;
    bool fresh;
    uint32_t index = keys_add(&threads->ids, (struct key){{thread->id, 0, 0}}, &fresh);
    if (fresh) {
        struct capture_named *kept = profile_list_add(profile, &threads->named, sizeof *kept);
        struct profile_thread *listed =
            profile_list_add(profile, &profile->threads, sizeof *listed);
        if (!kept || !listed)
            return;
        *kept = (struct capture_named){
            .id = thread->id, .tid = thread->tid, .unnamed = thread->name.length == 0};
        kept->name = capture_thread_name(profile, &thread->name, thread->id);
        *listed = (struct profile_thread){.id = thread->tid, .name = kept->name};
    }
    if (!numbered)
        return;
    keys_add(&threads->numbers, (struct key){{thread->number, 0, 0}}, &fresh);
    uint32_t *place = fresh ? profile_list_add(profile, &threads->numbered, sizeof *place) : NULL;
    if (place)
        *place = index;
}

void capture_threads_counts(struct capture_threads *threads, const struct capture_part *whole)
{
    struct capture_part part = *whole;
    struct profile *profile = threads->profile;
    while (part.at < part.end) {
        uint64_t entry = capture_next(&part);
        int64_t objects = capture_value(capture_next(&part));
        int64_t bytes = capture_value(capture_next(&part));
        const struct capture_named *named =
            entry > 0 && entry <= UINT32_MAX ? capture_threads_find(threads, (uint32_t)(entry - 1))
                                             : NULL;
        /* Both lists have the same order. */
        size_t index =
            named ? (size_t)(named - (struct capture_named *)threads->named.items) : SIZE_MAX;
        struct profile_thread *thread =
            entry == 0 ? &profile->other_threads
            : index < profile->threads.count
                ? (struct profile_thread *)profile->threads.items + index
                : NULL;
        if (thread) {
            thread->counted = true;
            thread->alloc_objects = objects;
            thread->alloc_bytes = bytes;
        }
    }
}

const struct capture_named *capture_threads_find(const struct capture_threads *threads,
                                                 uint32_t number)
{
    uint32_t found = keys_find(&threads->numbers, (struct key){{number, 0, 0}});
    if (number == CAPTURE_THREAD_OTHER || found >= threads->numbered.count)
        return NULL;
    uint32_t index = ((const uint32_t *)threads->numbered.items)[found];
    return index < threads->named.count ? (const struct capture_named *)threads->named.items + index
                                        : NULL;
}

uint32_t capture_threads_labels(struct capture_threads *threads, const struct capture_named *thread,
                                uint64_t size)
{
    struct profile_label labels[3];
    uint32_t count = 0;
    labels[count++] = (struct profile_label){.key = threads->words.thread,
                                             .text = thread ? thread->name : threads->words.other};
    if (thread)
        labels[count++] = (struct profile_label){.key = threads->words.tid, .number = thread->tid};
    if (size > 0 && size <= INT64_MAX)
        labels[count++] = (struct profile_label){
            .key = threads->words.bytes, .unit = threads->words.bytes, .number = (int64_t)size};
    return profile_label_set(threads->profile, labels, count);
}

/* The clock knows the name of a thread that the heap does not: rows of the heap get it, too. */
static void rename_all(struct capture_threads *threads, struct capture_named *thread, uint32_t name)
{
    struct profile_label *labels = threads->profile->labels.items;
    for (size_t i = 0; i < threads->profile->labels.count; i++)
        if (labels[i].key == threads->words.thread && labels[i].text == thread->name)
            labels[i].text = name;
    thread->name = name;
    thread->unnamed = false;
}

void capture_threads_join(struct capture_threads *threads, struct clock_rows *clock)
{
    struct keys tids = {0};
    struct list *known = &threads->named;
    struct clock_thread *of = clock->threads.items;
    bool fresh;
    for (size_t i = 0; i < known->count; i++) {
        const struct capture_named *thread = (struct capture_named *)known->items + i;
        if (keys_add(&tids, (struct key){{thread->tid, 0, 0}}, &fresh) == KEYS_NONE)
            threads->profile->failed = true;
        if (!fresh) /* so that numbers are those of the list */
            keys_add(&tids, (struct key){{thread->tid, i, 1}}, &fresh);
    }
    for (size_t i = 0; i < clock->threads.count; i++) {
        uint32_t found = keys_find(&tids, (struct key){{of[i].tid, 0, 0}});
        struct capture_named thread = {.tid = of[i].tid, .name = of[i].name};
        struct capture_named *same =
            found < known->count ? (struct capture_named *)known->items + found : NULL;
        if (same && same->unnamed && of[i].named)
            rename_all(threads, same, of[i].name);
        if (same)
            thread = *same;
        of[i].name = thread.name;
        of[i].labels = capture_threads_labels(threads, &thread, 0);
    }
    keys_free(&tids);
}

uint32_t capture_threads_waits(struct capture_threads *threads, const struct clock_thread *thread,
                               const struct clock_thread *holder, const char *kind)
{
    struct profile_label labels[4];
    uint32_t count = 0;
    labels[count++] = (struct profile_label){.key = threads->words.thread,
                                             .text = thread ? thread->name : threads->words.other};
    if (thread)
        labels[count++] = (struct profile_label){.key = threads->words.tid, .number = thread->tid};
    labels[count++] = (struct profile_label){.key = threads->words.lock,
                                             .text = profile_string_of(threads->profile, kind)};
    if (holder)
        labels[count++] =
            (struct profile_label){.key = threads->words.holder, .text = holder->name};
    return profile_label_set(threads->profile, labels, count);
}

void capture_threads_free(struct capture_threads *threads)
{
    keys_free(&threads->numbers);
    keys_free(&threads->ids);
    free(threads->numbered.items);
    free(threads->named.items);
}
