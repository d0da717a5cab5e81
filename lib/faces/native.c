/* SPDX-License-Identifier: MIT */
/* The calls of include/memoir/memoir.h. */
#include "include/memoir/memoir.h"

#include <string.h>

#include "base/compiler.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/dump/dump.h"
#include "lib/faces/notice.h"
#include "lib/heap/observer.h"

EXPORT const char *memoir_version(void)
{
    return MEMOIR_VERSION;
}

static void totals(struct memoir_totals *out, const struct account_sum *sum)
{
    *out = (struct memoir_totals){sum->allocs, sum->frees, sum->alloc_bytes, sum->free_bytes};
}

EXPORT bool memoir_stats(struct memoir_stats *out, size_t size)
{
    if (!init_done())
        return false;
    struct account account;
    struct track_seen profile = {0};
    account_take(&account);
    if (size > offsetof(struct memoir_stats, metadata_bytes)) {
        account_ask_kernel(&account, false);
        track_seen(&profile);
    }
    struct memoir_stats stats = {
        .live_blocks = account.live_blocks,
        .live_bytes = account.live_bytes,
        .cached_bytes = account.cached_bytes,
        .fragmented_bytes = account.fragmented_bytes,
        .metadata_bytes = account.metadata_bytes,
        .mapped_bytes = account.mapped_bytes,
        .resident_bytes = account.resident_bytes,
        .returned_bytes = account.returned_bytes,
        .heaps = account.heaps,
        .samples_taken = profile.allocated,
        .samples_live = profile.live,
        .dirty_bytes = account.dirty_bytes,
        .wrong_deletes = mismatch_count(),
        .guard_errors = guarding_errors(),
    };
    totals(&stats.total, &account.total);
    if (size > sizeof stats)
        memset((char *)out + sizeof stats, 0, size - sizeof stats);
    memcpy(out, &stats, size < sizeof stats ? size : sizeof stats);
    return true;
}

EXPORT bool memoir_thread_totals(struct memoir_totals *out)
{
    if (!init_done())
        return false;
    struct account_sum sum;
    young_thread_sums(&sum);
    totals(out, &sum);
    return true;
}

EXPORT bool memoir_class_totals(size_t size, struct memoir_totals *out)
{
    if (!init_done() || size > BLOCK_MAX)
        return false;
    struct account_sum sum;
    account_class(class_of(size == 0 ? 1 : size), &sum);
    totals(out, &sum);
    return true;
}

EXPORT size_t memoir_purge(void)
{
    return cold_trim();
}

EXPORT void memoir_start(int64_t rate)
{
    static bool told;
    notice_call("memoir_start", &told);
    control_start(rate);
}

EXPORT void memoir_stop(void)
{
    control_stop();
}

EXPORT void memoir_set_rate(int64_t bytes)
{
    if (bytes < 0)
        control_stop();
    else
        control_start(bytes);
}

EXPORT int64_t memoir_rate(void)
{
    return init_done() ? sampler_rate() : SAMPLER_OFF;
}

EXPORT int memoir_snapshot(const char *words)
{
    static bool told;
    notice_call("memoir_snapshot", &told);
    return control_snapshot(DUMP_CALL, words);
}

EXPORT int memoir_mark(const char *name)
{
    return control_mark(name);
}

EXPORT int memoir_dump(const char *path)
{
    static bool told;
    notice_call("memoir_dump", &told);
    return control_dump(DUMP_CALL, path, NULL);
}

EXPORT int memoir_cpu_start(unsigned rate)
{
    return control_cpu_start(rate);
}

EXPORT void memoir_cpu_stop(void)
{
    control_cpu_stop();
}

EXPORT int memoir_cpu_dump(const char *path)
{
    return control_cpu_dump(DUMP_CALL, path, NULL);
}
