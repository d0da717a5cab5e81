/* SPDX-License-Identifier: MIT */
/* What decides on a dump: when each trigger is due, when it is not, and when it is looked at. */
#include "lib/dump/triggers.h"

#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "lib/dump/memory_limit.h"

enum { M = 1 << 20 };

static const struct dump_style style;

static struct trigger make(enum dump_reason kind, uint64_t step)
{
    struct trigger trigger = {.style = &style, .kind = kind, .step = step};
    trigger_wait(&trigger, &(struct totals_now){0, 0, 0}, 1000);
    return trigger;
}

static bool due_at(struct trigger *trigger, uint64_t allocated, uint64_t freed)
{
    return trigger_due(trigger, &(struct totals_now){allocated, freed, allocated - freed}, 1000);
}

static struct totals_limits limits_of(const struct trigger *trigger, uint64_t allocated,
                                      uint64_t freed)
{
    struct totals_limits limits = {0};
    trigger_limit(trigger, &(struct totals_now){allocated, freed, allocated - freed}, &limits);
    return limits;
}

/* gperftools: a dump of its style resets what was allocated and freed; the heap must be above the
 * largest that was dumped, by more than the step. */
static void one_dump_resets_all_marks(void)
{
    static const struct dump_style theirs = {.names = DUMP_NAMES_GPERFTOOLS};
    struct totals_now start = {0, 0, 0}, grown = {10 * M, 0, 10 * M};
    struct totals_now shrunk = {14 * M, 8 * M, 6 * M};
    struct trigger allocated = {.style = &theirs, .kind = DUMP_ALLOCATED, .step = 8 * M};
    struct trigger in_use = {.style = &theirs, .kind = DUMP_IN_USE, .step = 4 * M};
    trigger_wait(&allocated, &start, 1000);
    trigger_wait(&in_use, &start, 1000);
    assert(!due_at(&in_use, 4 * M, 0));
    assert(trigger_due(&allocated, &grown, 1000));
    trigger_dumped(&in_use, &theirs, &grown);
    assert(!due_at(&in_use, 14 * M, 0) && !due_at(&in_use, 10 * M, 0));
    trigger_dumped(&in_use, &theirs, &shrunk);
    assert(!due_at(&in_use, 20 * M, 6 * M) && due_at(&in_use, 20 * M + 1, 6 * M));
    trigger_dumped(&allocated, &style, &shrunk);
    assert(due_at(&allocated, 18 * M, 0));
}

static void every_so_many_bytes(void)
{
    struct trigger trigger = make(DUMP_ALLOCATED, 10 * M);
    assert(limits_of(&trigger, 0, 0).allocated == 10 * M);
    assert(!due_at(&trigger, 10 * M - 1, 0) && due_at(&trigger, 10 * M, 0));
    assert(!due_at(&trigger, 10 * M, 0));
    assert(due_at(&trigger, 55 * M, 50 * M)); /* one dump, however many steps it was */
    assert(limits_of(&trigger, 55 * M, 50 * M).allocated == 60 * M); /* and no step gets lost */
    assert(due_at(&trigger, 60 * M, 50 * M));
    assert(limits_of(&trigger, 60 * M, 50 * M).allocated == 70 * M);
    trigger = make(DUMP_FREED, 10 * M);
    assert(!due_at(&trigger, 90 * M, 9 * M) && due_at(&trigger, 90 * M, 11 * M));
    assert(limits_of(&trigger, 90 * M, 11 * M).freed == 20 * M);
}

static void growth_looks_at_the_high_water_mark(void)
{
    struct trigger trigger = make(DUMP_IN_USE, 10 * M);
    assert(due_at(&trigger, 12 * M, 0));
    assert(!due_at(&trigger, 40 * M, 20 * M)); /* 20 M live: the mark is at 12 M */
    assert(due_at(&trigger, 42 * M, 20 * M));
    assert(limits_of(&trigger, 42 * M, 20 * M).live == 32 * M);
}

static void peaks_come_in_growing_steps(void)
{
    struct trigger trigger = make(DUMP_PEAK, M);
    unsigned dumps = 0;
    for (uint64_t live = 0; live <= (uint64_t)1 << 30; live += 64 << 10)
        dumps += due_at(&trigger, live, 0);
    assert(dumps > 30 && dumps < 60); /* 8 by 1 M, then 8 * ln(128) */
    for (uint64_t live = 0; live <= (uint64_t)1 << 30; live += M)
        assert(!due_at(&trigger, live, 0));
}

static void time_passes(void)
{
    struct trigger trigger = make(DUMP_TIME, 500);
    struct totals_now now = {0, 0, 0};
    assert(!trigger_due(&trigger, &now, 1499) && trigger_due(&trigger, &now, 1700));
    assert(!trigger_due(&trigger, &now, 2199) && trigger_due(&trigger, &now, 2200));
    assert(limits_of(&trigger, 0, 0).time_ms == 2700);
}

/* A dump that takes longer than the interval leaves the program as much time as it took. */
static void long_dumps_leave_time(void)
{
    struct trigger trigger = make(DUMP_TIME, 500);
    struct totals_now now = {0, 0, 0};
    assert(trigger_due(&trigger, &now, 2000));
    trigger_took(&trigger, 2000, 2100);
    assert(limits_of(&trigger, 0, 0).time_ms == 2500);
    trigger_took(&trigger, 2000, 2900);
    assert(limits_of(&trigger, 0, 0).time_ms == 3800);
    struct trigger bytes = make(DUMP_ALLOCATED, M);
    trigger_took(&bytes, 2000, 2900);
    assert(limits_of(&bytes, 0, 0).allocated == M);
}

static void snapshots_come_soon_at_first(void)
{
    static const struct dump_style capture = {.names = DUMP_NAMES_CAPTURE};
    static const uint64_t waits_ms[] = {500, 1000, 2000, 4000, 5000, 5000};
    struct trigger trigger = {.style = &capture, .kind = DUMP_TIME, .step = 5000};
    struct totals_now now = {0, 0, 0};
    uint64_t now_ms = 1000;
    trigger_wait(&trigger, &now, now_ms);
    for (unsigned i = 0; i < COUNT_OF(waits_ms); i++) {
        now_ms += waits_ms[i];
        assert(!trigger_due(&trigger, &now, now_ms - 1) && trigger_due(&trigger, &now, now_ms));
    }
}

static void a_threshold_counts_once_a_crossing(void)
{
    struct trigger trigger = make(DUMP_ABOVE, 80 * M);
    assert(limits_of(&trigger, 0, 0).live == 80 * M && limits_of(&trigger, 0, 0).freed == 0);
    assert(!due_at(&trigger, 79 * M, 0) && due_at(&trigger, 81 * M, 0));
    assert(!due_at(&trigger, 100 * M, 0) && !due_at(&trigger, 100 * M, 25 * M)); /* 75 M */
    assert(!due_at(&trigger, 106 * M, 25 * M));
    /* 81 M live: below 70 M not before 11 M more are freed. */
    struct totals_limits limits = limits_of(&trigger, 106 * M, 25 * M);
    assert(limits.live == 0 && limits.freed == 36 * M);
    assert(!due_at(&trigger, 106 * M, 37 * M)); /* 69 M: ready again */
    assert(limits_of(&trigger, 106 * M, 37 * M).live == 80 * M);
    assert(due_at(&trigger, 120 * M, 37 * M));
}

static void the_nearest_limit_counts(void)
{
    struct trigger far = make(DUMP_ALLOCATED, 10 * M), near = make(DUMP_ALLOCATED, 3 * M);
    struct totals_limits limits = {0};
    struct totals_now now = {0, 0, 0};
    trigger_limit(&far, &now, &limits);
    trigger_limit(&near, &now, &limits);
    trigger_limit(&far, &now, &limits);
    assert(limits.allocated == 3 * M && limits.live == 0 && limits.freed == 0);
}

static void triggers_arm_and_disarm(void)
{
    static const struct dump_style other;
    assert(trigger_set(&style, DUMP_ALLOCATED, 0) && totals_limits.allocated == 0);
    assert(trigger_set(&style, DUMP_ALLOCATED, 5 * M) && totals_limits.allocated == 5 * M);
    assert(trigger_set(&other, DUMP_ALLOCATED, 2 * M) && totals_limits.allocated == 2 * M);
    assert(trigger_set(&style, DUMP_ALLOCATED, M) && totals_limits.allocated == M);
    assert(trigger_set(&style, DUMP_ALLOCATED, 0) && totals_limits.allocated == 2 * M);
    assert(trigger_set(&other, DUMP_ALLOCATED, 0) && totals_limits.allocated == 0);
}

static void handler(int number)
{
    (void)number;
}

static void handlers_of_the_program_stay(void)
{
    signal(SIGUSR2, handler);
    assert(!trigger_set(&style, DUMP_SIGNAL, SIGUSR2));
    assert(!trigger_set(&style, DUMP_SIGNAL, SIGKILL) && !trigger_set(&style, DUMP_SIGNAL, 65));
    assert(signal(SIGUSR2, SIG_DFL) == handler);
}

/* ---- memory limits ----------------------------------------------------------------------------
 */

static void put(const char *path, const char *text)
{
    char command[300];
    snprintf(command, sizeof command, "mkdir -p $(dirname box/%s)", path);
    assert(system(command) == 0);
    snprintf(command, sizeof command, "box/%s", path);
    FILE *file = fopen(command, "w");
    assert(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void the_least_limit_of_all_groups_counts(void)
{
    assert(system("rm -rf box") == 0);
    assert(memory_limit("box/proc", "box") == UINT64_MAX);
    put("proc/cgroup", "12:cpuset:/other\n0::/slice/app\n");
    put("proc/mountinfo", "22 1 0:20 / /sys rw - sysfs sysfs rw\n"
                          "30 22 0:26 / /cg rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    put("cg/slice/app/memory.max", "max\n");
    assert(memory_limit("box/proc", "box") == UINT64_MAX);
    put("cg/slice/app/memory.max", "200000000\n");
    assert(memory_limit("box/proc", "box") == 200000000);
    put("cg/slice/memory.max", "100000000\n");
    assert(memory_limit("box/proc", "box") == 100000000);
    struct rlimit before, small;
    getrlimit(RLIMIT_AS, &before);
    small = (struct rlimit){(rlim_t)1 << 46, before.rlim_max};
    put("cg/slice/memory.max", "99999999999999\n");
    put("cg/slice/app/memory.max", "max\n");
    setrlimit(RLIMIT_AS, &small);
    assert(memory_limit("box/proc", "box") == (uint64_t)1 << 46 || unit_emulated());
    setrlimit(RLIMIT_AS, &before);
}

/* A container that sees its own group as the root of the mount; and the first version's "none". */
static void a_container_finds_its_group(void)
{
    assert(system("rm -rf box") == 0);
    put("proc/cgroup", "5:cpu,memory:/docker/abc\n1:name=systemd:/docker/abc\n");
    put("proc/mountinfo", "40 22 0:30 /docker/abc /cg/memory ro - cgroup cgroup rw,cpu,memory\n"
                          "41 22 0:31 /docker/abc /cg/pids ro - cgroup cgroup rw,pids\n");
    put("cg/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("cg/pids/memory.limit_in_bytes", "7\n");
    assert(memory_limit("box/proc", "box") == UINT64_MAX);
    put("cg/memory/memory.limit_in_bytes", "536870912\n");
    assert(memory_limit("box/proc", "box") == 536870912);
}

int main(void)
{
    unit_start();
    unit_scratch();
    one_dump_resets_all_marks();
    every_so_many_bytes();
    growth_looks_at_the_high_water_mark();
    peaks_come_in_growing_steps();
    time_passes();
    long_dumps_leave_time();
    snapshots_come_soon_at_first();
    a_threshold_counts_once_a_crossing();
    the_nearest_limit_counts();
    triggers_arm_and_disarm();
    handlers_of_the_program_stay();
    the_least_limit_of_all_groups_counts();
    a_container_finds_its_group();
    return 0;
}
