/* SPDX-License-Identifier: MIT */ /* static-too */
/* Each name of mallctl that can only be read: its size, that a buffer of another size is EINVAL,
 * that writing is EPERM, and that its parts are found by mallctlnametomib. Each name that can be
 * written reads back what was written. Free runs by length add up to the sums of all. */
#include "memoir/compat/jemalloc/jemalloc.h"

#include "tests/api/check.h"

#pragma weak mallctl
#pragma weak mallctlnametomib
#pragma weak mallctlbymib
#pragma weak nallocx

/* By the size of their values. */
static const char of_1[] =
    "config.cache_oblivious config.debug config.fill config.lazy_lock config.opt_safety_checks "
    "config.prof config.prof_libgcc config.prof_libunwind config.prof_frameptr config.stats "
    "config.utrace config.xmalloc arena.0.initialized opt.abort opt.abort_conf "
    "opt.cache_oblivious opt.trust_madvise opt.experimental_hpa_start_huge_if_thp_always "
    "opt.experimental_hpa_enforce_hugify opt.confirm_conf opt.hpa opt.hpa_hugify_sync "
    "opt.huge_arena_pac_thp opt.retain opt.background_thread opt.stats_print opt.zero "
    "opt.utrace opt.xmalloc opt.experimental_infallible_new opt.experimental_tcache_gc "
    "opt.tcache opt.prof opt.prof_active opt.prof_thread_active_init opt.prof_gdump "
    "opt.prof_final opt.prof_leak opt.prof_leak_error opt.prof_accum opt.prof_pid_namespace "
    "opt.prof_stats opt.prof_sys_thread_name opt.disable_large_size_classes ";
static const char of_4[] =
    "arenas.narenas arenas.nbins arenas.nhbins arenas.bin.0.nregs arenas.bin.0.nshards "
    "arenas.nlextents stats.arenas.0.nthreads stats.arenas.0.bins.0.mutex.max_num_thds "
    "opt.hpa_dirty_mult opt.narenas opt.tcache_nslots_small_min opt.tcache_nslots_small_max "
    "opt.tcache_nslots_large opt.lg_tcache_flush_small_div opt.lg_tcache_flush_large_div "
    "opt.prof_bt_max opt.debug_double_free_max_scan ";
static const char of_8[] =
    "version thread.allocated thread.allocatedp thread.deallocated thread.deallocatedp "
    "thread.peak.read config.malloc_conf arenas.quantum arenas.page arenas.hugepage "
    "arenas.tcache_max arenas.bin.0.size arenas.bin.0.slab_size arenas.lextent.0.size "
    "prof.interval prof.lg_sample stats.allocated stats.active stats.metadata "
    "stats.metadata_edata stats.metadata_rtree stats.metadata_thp stats.resident stats.mapped "
    "stats.retained stats.pinned stats.background_thread.num_threads "
    "stats.background_thread.num_runs stats.background_thread.run_interval "
    "stats.arenas.0.uptime stats.arenas.0.dss stats.arenas.0.dirty_decay_ms "
    "stats.arenas.0.muzzy_decay_ms stats.arenas.0.pactive stats.arenas.0.pdirty "
    "stats.arenas.0.pmuzzy stats.arenas.0.mapped stats.arenas.0.retained stats.arenas.0.pinned "
    "stats.arenas.0.extent_avail stats.arenas.0.dirty_npurge stats.arenas.0.dirty_nmadvise "
    "stats.arenas.0.dirty_purged stats.arenas.0.muzzy_npurge stats.arenas.0.muzzy_nmadvise "
    "stats.arenas.0.muzzy_purged stats.arenas.0.base stats.arenas.0.internal "
    "stats.arenas.0.metadata_edata stats.arenas.0.metadata_rtree stats.arenas.0.metadata_thp "
    "stats.arenas.0.tcache_bytes stats.arenas.0.tcache_stashed_bytes stats.arenas.0.resident "
    "stats.arenas.0.abandoned_vm stats.arenas.0.small.allocated stats.arenas.0.small.nmalloc "
    "stats.arenas.0.small.ndalloc stats.arenas.0.small.nrequests stats.arenas.0.small.nfills "
    "stats.arenas.0.small.nflushes stats.arenas.0.large.allocated stats.arenas.0.large.nmalloc "
    "stats.arenas.0.large.ndalloc stats.arenas.0.large.nrequests stats.arenas.0.large.nfills "
    "stats.arenas.0.large.nflushes stats.arenas.0.bins.0.nmalloc stats.arenas.0.bins.0.ndalloc "
    "stats.arenas.0.bins.0.nrequests stats.arenas.0.bins.0.curregs stats.arenas.0.bins.0.nfills "
    "stats.arenas.0.bins.0.nflushes stats.arenas.0.bins.0.nslabs stats.arenas.0.bins.0.nreslabs "
    "stats.arenas.0.bins.0.curslabs stats.arenas.0.bins.0.nonfull_slabs "
    "stats.arenas.0.bins.0.mutex.num_ops stats.arenas.0.bins.0.mutex.num_wait "
    "stats.arenas.0.bins.0.mutex.num_spin_acq stats.arenas.0.bins.0.mutex.num_owner_switch "
    "stats.arenas.0.bins.0.mutex.total_wait_time stats.arenas.0.bins.0.mutex.max_wait_time "
    "stats.arenas.0.lextents.0.nmalloc stats.arenas.0.lextents.0.ndalloc "
    "stats.arenas.0.lextents.0.nrequests stats.arenas.0.lextents.0.curlextents "
    "stats.arenas.0.extents.0.ndirty stats.arenas.0.extents.0.nmuzzy "
    "stats.arenas.0.extents.0.nretained stats.arenas.0.extents.0.npinned "
    "stats.arenas.0.extents.0.dirty_bytes stats.arenas.0.extents.0.muzzy_bytes "
    "stats.arenas.0.extents.0.retained_bytes stats.arenas.0.extents.0.pinned_bytes "
    "stats.zero_reallocs approximate_stats.active opt.hpa_slab_max_alloc "
    "opt.hpa_hugification_threshold opt.hpa_hugify_delay_ms opt.hpa_min_purge_interval_ms "
    "opt.experimental_hpa_max_purge_nhp opt.hpa_purge_threshold opt.hpa_min_purge_delay_ms "
    "opt.hpa_hugify_style opt.metadata_thp opt.dss opt.percpu_arena opt.oversize_threshold "
    "opt.mutex_max_spin opt.max_background_threads opt.dirty_decay_ms opt.muzzy_decay_ms "
    "opt.stats_print_opts opt.stats_interval opt.stats_interval_opts opt.junk opt.tcache_max "
    "opt.lg_tcache_nslots_mul opt.tcache_gc_incr_bytes opt.tcache_gc_delay_bytes opt.thp "
    "opt.lg_extent_max_active_fit opt.prof_prefix opt.lg_prof_sample opt.lg_prof_interval "
    "opt.prof_recent_alloc_max opt.prof_time_resolution opt.lg_san_uaf_align opt.zero_realloc "
    "opt.process_madvise_max_batch opt.malloc_conf.symlink opt.malloc_conf.env_var "
    "opt.malloc_conf.global_var opt.malloc_conf.global_var_2_conf_harder "
    "stats.arenas.0.hpa_shard.full_slabs.npageslabs_huge "
    "stats.arenas.0.hpa_shard.full_slabs.npageslabs_nonhuge "
    "stats.arenas.0.hpa_shard.full_slabs.nactive_huge "
    "stats.arenas.0.hpa_shard.full_slabs.nactive_nonhuge "
    "stats.arenas.0.hpa_shard.full_slabs.ndirty_huge "
    "stats.arenas.0.hpa_shard.full_slabs.ndirty_nonhuge "
    "stats.arenas.0.hpa_shard.empty_slabs.npageslabs_huge "
    "stats.arenas.0.hpa_shard.empty_slabs.npageslabs_nonhuge "
    "stats.arenas.0.hpa_shard.empty_slabs.nactive_huge "
    "stats.arenas.0.hpa_shard.empty_slabs.nactive_nonhuge "
    "stats.arenas.0.hpa_shard.empty_slabs.ndirty_huge "
    "stats.arenas.0.hpa_shard.empty_slabs.ndirty_nonhuge "
    "stats.arenas.0.hpa_shard.nonfull_slabs.3.npageslabs_huge "
    "stats.arenas.0.hpa_shard.nonfull_slabs.3.npageslabs_nonhuge "
    "stats.arenas.0.hpa_shard.nonfull_slabs.3.nactive_huge "
    "stats.arenas.0.hpa_shard.nonfull_slabs.3.nactive_nonhuge "
    "stats.arenas.0.hpa_shard.nonfull_slabs.3.ndirty_huge "
    "stats.arenas.0.hpa_shard.nonfull_slabs.3.ndirty_nonhuge "
    "stats.arenas.0.hpa_shard.npageslabs stats.arenas.0.hpa_shard.nactive "
    "stats.arenas.0.hpa_shard.ndirty stats.arenas.0.hpa_shard.npurge_passes "
    "stats.arenas.0.hpa_shard.npurges stats.arenas.0.hpa_shard.nhugifies "
    "stats.arenas.0.hpa_shard.nhugify_failures stats.arenas.0.hpa_shard.ndehugifies "
    "stats.arenas.0.hpa_sec_bytes stats.arenas.0.hpa_sec_hits stats.arenas.0.hpa_sec_misses "
    "stats.arenas.0.hpa_sec_dalloc_noflush stats.arenas.0.hpa_sec_dalloc_flush "
    "stats.arenas.0.hpa_sec_overfills ";

static void is_read_only(const char *name, size_t size)
{
    char value[32], other[32] = {0};
    size_t length = size, mib[8], parts = 8, dots = 1;
    int read = mallctl(name, value, &length, NULL, 0);
    CHECK_AT(read == 0 && length == size, "name is %s: %d, %zu", name, read, length);
    length = size + 1;
    CHECK_AT(mallctl(name, value, &length, NULL, 0) == EINVAL && length == size, "name is %s",
             name);
    CHECK_AT(mallctl(name, NULL, NULL, other, size) == EPERM, "name is %s", name);
    CHECK_AT(mallctl(name, NULL, NULL, NULL, 0) == 0, "name is %s", name);
    for (const char *at = name; *at != '\0'; at++)
        dots += *at == '.';
    CHECK_AT(mallctlnametomib(name, mib, &parts) == 0 && parts == dots, "name is %s", name);
    length = size;
    CHECK_AT(mallctlbymib(mib, parts, value, &length, NULL, 0) == 0, "name is %s", name);
}

static void all_are_read_only(const char *names, size_t size)
{
    char name[96];
    for (int used; sscanf(names, "%95s%n", name, &used) == 1; names += used)
        is_read_only(name, size);
}

static int size_get(const char *name, size_t *value)
{
    size_t length = sizeof *value;
    return mallctl(name, value, &length, NULL, 0);
}

static int size_set(const char *name, size_t value)
{
    return mallctl(name, NULL, NULL, &value, sizeof value);
}

static void what_is_written_is_read(void)
{
    size_t now = 0, before = 0;
    CHECK_EQ(size_get("arena.0.oversize_threshold", &before), 0);
    CHECK_EQ(before, 8 << 20);
    CHECK_EQ(size_set("arena.0.oversize_threshold", 1 << 20), 0);
    CHECK_EQ(size_get("arena.0.oversize_threshold", &now), 0);
    CHECK_EQ(now, 1 << 20);
    CHECK_EQ(size_set("arena.0.oversize_threshold", before), 0);
    CHECK_EQ(size_get("arena.0.retain_grow_limit", &before), 0);
    CHECK_EQ(before, (size_t)7 << 60); /* none */
    CHECK_EQ(size_set("arena.0.retain_grow_limit", before), 0);
    CHECK_EQ(size_set("arena.0.retain_grow_limit", 100), EFAULT);
    CHECK_EQ(size_get("arena.4000.oversize_threshold", &before), EFAULT);
}

static void cache_sizes_are_read(void)
{
    size_t now = 0;
    CHECK_EQ(size_get("thread.tcache.max", &now), 0);
    CHECK_EQ(now, 32768);
    CHECK_EQ(size_set("thread.tcache.max", 1000), 0);
    CHECK_EQ(size_get("thread.tcache.max", &now), 0);
    CHECK_EQ(now, nallocx(1000, 0));
    CHECK_EQ(size_set("thread.tcache.max", (size_t)1 << 40), 0);
    CHECK_EQ(size_get("thread.tcache.max", &now), 0);
    CHECK_EQ(now, 8 << 20);
    CHECK_EQ(size_set("max_background_threads", 2), 0);
    CHECK_EQ(size_get("max_background_threads", &now), 0);
    CHECK_EQ(now, 2);
    CHECK_EQ(size_set("max_background_threads", 5), EINVAL);
    CHECK_EQ(size_set("max_background_threads", 0), EINVAL);
    CHECK_EQ(size_get("max_background_threads", &now), 0);
    CHECK_EQ(now, 2);
}

static void free_runs_have_lengths(void)
{
    size_t bytes, runs, dirty = 0, retained = 0;
    free(opaque_ptr(malloc(1 << 20)));
    for (int i = 0; i < 199; i++) {
        char name[96];
        snprintf(name, sizeof name, "stats.arenas.0.extents.%d.dirty_bytes", i);
        CHECK_EQ(size_get(name, &bytes), 0);
        snprintf(name, sizeof name, "stats.arenas.0.extents.%d.ndirty", i);
        CHECK_EQ(size_get(name, &runs), 0);
        CHECK_AT((bytes > 0) == (runs > 0), "length %d: %zu runs, %zu bytes", i, runs, bytes);
        dirty += bytes;
        snprintf(name, sizeof name, "stats.arenas.0.extents.%d.retained_bytes", i);
        CHECK_EQ(size_get(name, &bytes), 0);
        retained += bytes;
    }
    CHECK_AT(dirty >= 1 << 20, "%zu bytes are dirty", dirty);
    CHECK(retained > 0);
    CHECK_EQ(size_get("stats.arenas.0.extents.199.ndirty", &runs), ENOENT);
    CHECK_EQ(size_get("stats.arenas.0.hpa_shard.nonfull_slabs.64.nactive_huge", &runs), ENOENT);
}

int main(void)
{
    if (!CHECK(mallctl != NULL && mallctlnametomib != NULL && mallctlbymib != NULL))
        return check_result();
    all_are_read_only(of_1, 1);
    all_are_read_only(of_4, 4);
    all_are_read_only(of_8, 8);
    what_is_written_is_read();
    cache_sizes_are_read();
    free_runs_have_lengths();
    return check_result();
}
