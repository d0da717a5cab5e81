/* SPDX-License-Identifier: MIT */
/* See lib/dump/capture_leaks.h. */
#include "lib/dump/capture_leaks.h"

#include "base/file/format.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_record.h"
#include "lib/heap/observer.h"
#include "lib/leak/leak.h"
#include "lib/watch/watch.h"

static void write_scan(struct capture *capture, const struct leak_scan *scan);
static void put_sums(struct capture *capture, const struct scan_sum *sums, unsigned count);
static void put_row(struct capture *capture, const struct scan_row *row);

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
    capture_record_end(capture);
    for (unsigned i = 0; i < SCAN_ROWS; i++)
        if (result->rows[i].used)
            put_row(capture, &result->rows[i]);
    capture_record_end(capture);
}

static void put_sums(struct capture *capture, const struct scan_sum *sums, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        capture_put(capture, sums[i].blocks);
        capture_put(capture, sums[i].bytes);
    }
}

static void put_row(struct capture *capture, const struct scan_row *row)
{
    const struct scan_sum sums[] = {row->possible, row->indirect, row->definite, row->owned};
    uint32_t stack = STACK_NONE, thread = THREAD_OTHER;
    if (row->site != 0 && site_era(row->site) == load_relaxed(&sites_era)) {
        const struct site *site = site_at(site_id(row->site));
        stack = site_stack(site);
        thread = site_thread(site);
    }
    if (stack >= capture->nodes) /* a block of after this snapshot's beginning */
        stack = STACK_OTHER;
    capture_record_begin(capture, RECORD_LEAK_ROWS, CAPTURE_ENTRY_MAX);
    capture_put(capture, stack);
    capture_put(capture, thread == THREAD_OTHER ? 0 : (uint64_t)thread + 1);
    capture_put(capture, row->size);
    capture_put(capture, row->requested_bytes);
    put_sums(capture, sums, COUNT_OF(sums));
    capture_put(capture, row->cycles);
    capture_put(capture, row->example);
    capture_put(capture, row->example_word);
}
