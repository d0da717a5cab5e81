/* SPDX-License-Identifier: MIT */
/* See lib/dump/capture_leaks.h. */
#include "lib/dump/capture_leaks.h"

#include "base/file/capture_format.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_record.h"
#include "lib/heap/observer.h"
#include "lib/leak/leak.h"
#include "lib/watch/watch.h"

static void write_scan(struct capture *capture, const struct leak_scan *scan);
static void put_sums(struct capture *capture, const struct scan_sum *sums, unsigned count);
static void put_row(struct capture *capture, const struct scan_row *row);
static void put_looks(struct capture *capture, const struct scan_result *result);
static bool grows(const struct scan_age *age);
static void put_age(struct capture *capture, const struct scan_ages *ages,
                    const struct scan_age *age);

void capture_leaks(struct capture *capture)
{
    const struct leak_scan *scan = leak_last();
    if (scan != NULL && scan->time_ms > capture->leaks_ms)
        write_scan(capture, scan);
    leak_last_end();
}

static void write_scan(struct capture *capture, const struct leak_scan *scan)
{
    const struct scan_result *result = &scan->result;
    const struct scan_sum sums[] = {result->reachable, result->possible, result->indirect,
                                    result->definite};
    capture->leaks_ms = scan->time_ms;
    capture_record_begin(capture, RECORD_LEAKS, CAPTURE_ENTRY_MAX);
    capture_put(capture, scan->time_ms);
    capture_put(capture, scan->took_us);
    capture_put(capture, scan->stood_us);
    capture_put(capture, result->root_bytes);
    put_sums(capture, sums, COUNT_OF(sums));
    capture_put(capture, scan->threads);
    capture_put(capture, scan->silent);
    capture_put(capture, scan->own_bytes);
    capture_put(capture, scan->copied_bytes);
    capture_put(capture, scan->in_place);
    capture_put(capture, scan->watched_ms);
    capture_record_end(capture);
    for (unsigned i = 0; i < result->used_count; i++)
        put_row(capture, &result->rows[result->used[i]]);
    capture_record_end(capture);
    put_looks(capture, result);
    for (unsigned i = 0; i < result->ages.used_count; i++) {
        const struct scan_age *age = &result->ages.rows[result->ages.used[i]];
        if (grows(age))
            put_age(capture, &result->ages, age);
    }
    capture_record_end(capture);
}

static void put_sums(struct capture *capture, const struct scan_sum *sums, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        capture_put(capture, sums[i].blocks);
        capture_put(capture, sums[i].bytes);
    }
}

static void put_site(struct capture *capture, uint32_t word)
{
    uint32_t stack = STACK_NONE, thread = THREAD_OTHER;
    if (word != 0 && site_era(word) == load_relaxed(&sites_era)) {
        const struct site *site = site_at(site_id(word));
        stack = site_stack(site);
        thread = site_thread(site);
    }
    if (stack >= capture->nodes) /* a block of after this snapshot's beginning */
        stack = STACK_OTHER;
    capture_put(capture, stack);
    capture_put(capture, thread == THREAD_OTHER ? 0 : (uint64_t)thread + 1);
}

static void put_row(struct capture *capture, const struct scan_row *row)
{
    const struct scan_sum sums[] = {row->possible, row->indirect, row->definite, row->owned};
    capture_record_begin(capture, RECORD_LEAK_ROWS, CAPTURE_ENTRY_MAX);
    put_site(capture, row->site);
    capture_put(capture, row->size);
    capture_put(capture, row->requested_bytes);
    put_sums(capture, sums, COUNT_OF(sums));
    capture_put(capture, row->cycles);
    capture_put(capture, row->example);
    capture_put(capture, row->example_word);
}

static void put_looks(struct capture *capture, const struct scan_result *result)
{
    static const struct scan_looks none;
    for (unsigned i = 0; i < result->used_count; i++) {
        const struct scan_row *row = &result->rows[result->used[i]];
        const struct scan_looks *looks = i < SCAN_LOOKS_MAX ? &result->looks[i] : &none;
        capture_record_begin(capture, RECORD_LEAK_LOOKS, CAPTURE_ENTRY_MAX);
        capture_put(capture, i);
        capture_put(capture, track_us(row->oldest));
        capture_put(capture, track_us(row->youngest));
        capture_put(capture, row->from_row);
        capture_put(capture, row->from);
        capture_put_text(capture, looks->class);
        capture_put_bytes(capture, looks->bytes, looks->bytes_count);
    }
    capture_record_end(capture);
}

/* Whether live blocks of the site came at all times: others are no news. */
static bool grows(const struct scan_age *age)
{
    /* With fewer blocks chance fills or empties a quarter; a cache that was filled at the start has
     * nearly all in the oldest one, a steady leak a quarter in each: 1/16 is in between. */
    enum { BLOCKS = 8, SHARE = 16 };
    bool evenly = age->site != 0 && age->blocks >= BLOCKS;
    for (unsigned i = 0; i < SCAN_QUARTERS; i++)
        evenly &= age->quarters[i] * SHARE >= age->blocks;
    return evenly;
}

static void put_age(struct capture *capture, const struct scan_ages *ages,
                    const struct scan_age *age)
{
    capture_record_begin(capture, RECORD_LEAK_AGES, CAPTURE_ENTRY_MAX);
    put_site(capture, age->site);
    capture_put(capture, age->size);
    capture_put(capture, ages_weight(ages, age));
    capture_put(capture, track_us(age->oldest));
    capture_put(capture, age->untouched);
    for (unsigned i = 0; i < SCAN_QUARTERS; i++)
        capture_put(capture, age->quarters[i]);
}
