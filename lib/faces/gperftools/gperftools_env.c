/* SPDX-License-Identifier: MIT */
/*
 * The variables of gperftools' heap profiler. HEAPPROFILE starts it; the rest says when to dump. As
 * in gperftools, numbers are read like strtoll with base 10, and a text that is no number is 0.
 */
#include <string.h>

#include "base/config.h"
#include "lib/api/api.h"
#include "lib/faces/gperftools/gperftools.h"

enum { VERBOSE_FROM = 10 }; /* of PERFTOOLS_VERBOSE: the leak checker tells when it starts */

struct gperftools_settings gperftools_settings;

static uint64_t positive(const char *name, int64_t initial);
static uint64_t delay_ms(void);

void gperftools_settings_read(void)
{
    struct gperftools_settings *settings = &gperftools_settings;
    settings->prefix = environment_get("HEAPPROFILE");
    if (settings->prefix != NULL && settings->prefix[0] == '\0')
        settings->prefix = NULL;
    settings->allocated_bytes = positive("HEAP_PROFILE_ALLOCATION_INTERVAL", 1 << 30);
    settings->freed_bytes = positive("HEAP_PROFILE_DEALLOCATION_INTERVAL", 0);
    settings->in_use_bytes = positive("HEAP_PROFILE_INUSE_INTERVAL", 100 << 20);
    settings->time_s = positive("HEAP_PROFILE_TIME_INTERVAL", 0);
    settings->sample_bytes = positive("TCMALLOC_SAMPLE_PARAMETER", 0);
    int64_t cache = gperftools_number("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", -1);
    settings->cache_bytes = cache < 0 ? 0 : gperftools_cache_bytes((uint64_t)cache);
    settings->limit_bytes = positive("TCMALLOC_HEAP_LIMIT_MB", 0) << 20;
    settings->large_bytes = positive("TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", 0);
    settings->delay_ms = delay_ms();
    uint64_t signal = positive("HEAPPROFILESIGNAL", 0);
    settings->signal = signal > 64 ? 0 : (unsigned)signal;
    const char *given = environment_get("HEAPPROFILESIGNAL");
    settings->signal_wrong = settings->signal == 0 && given != NULL && *given != '\0';
    settings->use_pid = gperftools_flag("HEAPPROFILE_USE_PID", false);
    settings->cleanup = gperftools_flag("HEAP_PROFILE_CLEANUP", true);
    settings->only_mmap = gperftools_flag("HEAP_PROFILE_ONLY_MMAP", false);
    settings->mmap = settings->only_mmap || gperftools_flag("HEAP_PROFILE_MMAP", false);
    settings->mmap_log = gperftools_flag("HEAP_PROFILE_MMAP_LOG", false);
    int64_t verbose = gperftools_number("PERFTOOLS_VERBOSE", 0);
    settings->quiet = verbose < 0;
    settings->verbose = verbose >= VERBOSE_FROM;
    if (environment_get("MALLOCSTATS") != NULL) {
        uint64_t level = positive("MALLOCSTATS", 1);
        settings->stats_level = level < 1 ? 1 : level > 2 ? 2 : (unsigned)level;
    }
}

uint64_t gperftools_cache_bytes(uint64_t wanted)
{
    enum { LIMIT_MIN = 512 << 10, LIMIT_MAX = 1 << 30 }; /* the limits of gperftools */
    return wanted < LIMIT_MIN ? LIMIT_MIN : wanted > LIMIT_MAX ? LIMIT_MAX : wanted;
}

/* Set to an empty value counts as yes. */
bool gperftools_flag(const char *name, bool initial)
{
    const char *value = environment_get(name);
    return value == NULL ? initial : *value == '\0' || strchr("tTyY1", *value) != NULL;
}

int64_t gperftools_number(const char *name, int64_t initial)
{
    const char *value = environment_get(name);
    if (value == NULL)
        return initial;
    while (*value == ' ' || *value == '\t')
        value++;
    bool negative = *value == '-';
    if (*value == '-' || *value == '+')
        value++;
    int64_t result = 0;
    for (; *value >= '0' && *value <= '9'; value++)
        if (__builtin_mul_overflow(result, 10, &result) ||
            __builtin_add_overflow(result, *value - '0', &result))
            return INT64_MAX;
    return negative ? -result : result;
}

static uint64_t positive(const char *name, int64_t initial)
{
    int64_t value = gperftools_number(name, initial);
    return value < 0 ? 0 : (uint64_t)value;
}

/* Thousandths of a number such as "2.5". */
static uint64_t thousandths(const char *text)
{
    uint64_t value = 0, place = 0;
    for (; *text == ' ' || *text == '+'; text++)
        ;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && place == 0); text++) {
        if (*text == '.')
            place = 1000;
        else if (place == 0)
            value = value < 10000 ? value * 10 + (uint64_t)(*text - '0') * 1000 : value;
        else
            value += (uint64_t)(*text - '0') * (place /= 10);
    }
    return value;
}

uint64_t gperftools_delay_ms(uint64_t rate)
{
    enum { OURS_MS = 5000 /* at their rate of 1 */, RATE_MAX = 10000 }; /* thousandths */
    rate = rate > RATE_MAX ? RATE_MAX : rate;
    return rate == 0 ? config_never : (uint64_t)OURS_MS * 1000 / rate;
}

static uint64_t delay_ms(void)
{
    const char *rate = environment_get("TCMALLOC_RELEASE_RATE");
    if (gperftools_flag("TCMALLOC_DISABLE_MEMORY_RELEASE", false))
        return config_never;
    if (gperftools_flag("TCMALLOC_AGGRESSIVE_DECOMMIT", false))
        return 0;
    return rate == NULL ? config.return_delay_ms : gperftools_delay_ms(thousandths(rate));
}
