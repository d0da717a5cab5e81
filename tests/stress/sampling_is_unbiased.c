/* SPDX-License-Identifier: MIT */
/* timeout=900 */
/* A block of usable size s is picked with probability 1 - exp(-s / rate): for every class, however
 * the blocks are allocated (in pairs, in batches, kept, by every entry point, by threads long and
 * short lived, freed elsewhere, by realloc, mixed sizes, with the rate changed in between).
 *
 * Each row is a fixed number of trials, so the count of samples is binomial; it must lie within 4
 * sigma. With some hundred rows one in a few runs of an honest sampler would miss that once, so a
 * row that misses is run again with four times the trials and must then hold: an honest sampler
 * fails once in a million runs, a bias stays. The sum over all rows of a pattern must hold too, at
 * the second time at the latest; it sees what is too small for one row. The gaps between samples
 * must be geometric, which a sampler with the right mean and a fixed period fails.
 *
 * The statistic itself is proven on simulated samplers first: the honest one passes, each biased
 * one fails. */
#define _GNU_SOURCE
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memoir/memoir.h"

#pragma weak memoir_stats
#pragma weak memoir_set_rate

enum {
    CLASSES_MAX = 256,
    TRIALS = 12000,
    TRIALS_AGAIN = 4, /* times as many when a row is run again */
    BATCH = 64,
    HANDED_OVER = 600, /* blocks at a time to a thread that frees them */
    KEPT = 2000,
    THREADS = 4,
    SHORT_THREADS = 60,
    GAP_BINS = 12,
    SMALL_RATE = 4, /* rates of a row in multiples of the block size */
    LARGE_RATE = 48,
};
static const double sigmas = 4.0;
/* Chi-square with 11 degrees of freedom exceeds this with the probability of 4 sigma. */
static const double gap_limit = 41.0;

/* Simulated samplers, one of them honest. */
enum sampler {
    LIBRARY,
    HONEST,
    BY_REQUESTED_SIZE, /* takes the size asked for, not the block's */
    FIXED_PERIOD,      /* counts bytes up to the rate: right mean, no randomness */
    UNIFORM_INTERVAL,  /* intervals spread evenly around the rate */
    FORGETS_REALLOC,   /* blocks from realloc are never picked */
    LATE_IN_THREADS,   /* a new thread is not sampled before it allocated a whole rate */
    TWICE_THE_RATE,
    SAMPLERS
};
static const char *const sampler_names[SAMPLERS] = {
    "library",          "honest",          "by requested size", "fixed period",
    "uniform interval", "forgets realloc", "late in threads",   "twice the rate"};

static enum sampler sampler;
static int64_t rate_now;
static uint64_t simulated_samples;
static _Thread_local double clock_bytes;
static _Thread_local bool clock_started;
static _Thread_local uint64_t random_state;
static size_t class_usable[CLASSES_MAX], class_min[CLASSES_MAX];
static unsigned classes;
static int failures;
static bool quiet;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *format, ...)
{
    if (!quiet) {
        va_list arguments;
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        fflush(stdout);
    }
}

static uint64_t random_next(void)
{
    static uint64_t streams = 1;
    if (random_state == 0) {
        random_state = __atomic_add_fetch(&streams, 1, __ATOMIC_RELAXED) * 0xD1342543DE82EF95u;
    }
    uint64_t z = (random_state += 0x9E3779B97F4A7C15u);
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static double interval(bool first)
{
    double uniform = ((double)(random_next() >> 11) + 0.5) / 9007199254740992.0;
    double rate = (double)rate_now * (sampler == TWICE_THE_RATE ? 2 : 1);
    if (sampler == FIXED_PERIOD) {
        return first ? rate * uniform : rate;
    }
    if (sampler == UNIFORM_INTERVAL) {
        return rate * 2 * uniform;
    }
    return -log(uniform) * rate + (sampler == LATE_IN_THREADS && first ? rate : 0);
}

/* What a sampler inside malloc would do. */
static void simulate(size_t requested, size_t usable, bool by_realloc)
{
    if (sampler == LIBRARY || rate_now <= 0 || (by_realloc && sampler == FORGETS_REALLOC)) {
        return;
    }
    if (!clock_started) {
        clock_started = true;
        clock_bytes = interval(true);
    }
    clock_bytes -= (double)(sampler == BY_REQUESTED_SIZE ? requested : usable);
    if (clock_bytes < 0) {
        __atomic_add_fetch(&simulated_samples, 1, __ATOMIC_RELAXED);
        clock_bytes = interval(false);
    }
}

static void set_rate(int64_t rate)
{
    rate_now = rate;
    if (sampler == LIBRARY) {
        memoir_set_rate(rate);
    } else {
        clock_started = false;
    }
}

static uint64_t samples_taken(void)
{
    struct memoir_stats stats;
    if (sampler != LIBRARY) {
        return __atomic_load_n(&simulated_samples, __ATOMIC_RELAXED);
    }
    if (!memoir_stats(&stats, sizeof stats)) {
        abort();
    }
    return stats.samples_taken;
}

static uint64_t samples_live(void)
{
    struct memoir_stats stats;
    return sampler == LIBRARY && memoir_stats(&stats, sizeof stats) ? stats.samples_live : 0;
}

static void *take(size_t requested, size_t usable)
{
    simulate(requested, usable, false);
    void *block = malloc(requested);
    if (block == NULL) {
        abort();
    }
    return block;
}

/* A pattern makes `trials` allocations of a class and frees them all. */
typedef void (*pattern)(size_t requested, size_t usable, unsigned trials);

static void pairs(size_t requested, size_t usable, unsigned trials)
{
    for (unsigned i = 0; i < trials; i++) {
        free(take(requested, usable));
    }
}

static void batches(size_t requested, size_t usable, unsigned trials)
{
    void *blocks[BATCH];
    for (unsigned done = 0; done < trials;) {
        unsigned count = trials - done < BATCH ? trials - done : BATCH;
        for (unsigned i = 0; i < count; i++) {
            blocks[i] = take(requested, usable);
        }
        for (unsigned i = 0; i < count; i++) {
            free(blocks[i]);
        }
        done += count;
    }
}

static void kept(size_t requested, size_t usable, unsigned trials)
{
    static void *blocks[KEPT];
    unsigned room = usable > 20000 ? 100 : KEPT;
    for (unsigned i = 0; i < trials; i++) {
        unsigned place = (unsigned)(random_next() % room);
        free(blocks[place]);
        blocks[place] = take(requested, usable);
    }
    for (unsigned i = 0; i < room; i++) {
        free(blocks[i]);
        blocks[i] = NULL;
    }
}

static void entry_points(size_t requested, size_t usable, unsigned trials)
{
    for (unsigned i = 0; i < trials; i++) {
        void *block = NULL;
        simulate(requested, usable, false);
        switch (i % 4) {
        case 0:
            block = calloc(1, requested);
            break;
        case 1:
            block = realloc(NULL, requested);
            break;
        case 2:
            block = aligned_alloc(16, requested);
            break;
        default:
            if (posix_memalign(&block, 16, requested) != 0) {
                abort();
            }
        }
        free(block);
    }
}

/* From a small block by realloc: half of the blocks are small ones, whose share is counted in. */
enum { REALLOC_FROM = 16 };

static void by_realloc(size_t requested, size_t usable, unsigned trials)
{
    for (unsigned i = 0; i < trials; i++) {
        void *block = take(1, REALLOC_FROM);
        simulate(requested, usable, true);
        block = realloc(block, requested);
        free(block);
    }
}

struct share {
    size_t requested, usable;
    unsigned trials;
};

static void *thread_pairs(void *argument)
{
    struct share *share = argument;
    batches(share->requested, share->usable, share->trials);
    return NULL;
}

static void in_threads(size_t requested, size_t usable, unsigned trials, unsigned count,
                       bool at_once)
{
    pthread_t threads[THREADS];
    struct share share = {requested, usable, trials / count};
    for (unsigned done = 0; done < count;) {
        unsigned together = at_once ? THREADS : 1;
        for (unsigned i = 0; i < together; i++) {
            if (pthread_create(&threads[i], NULL, thread_pairs, &share) != 0) {
                abort();
            }
        }
        for (unsigned i = 0; i < together; i++) {
            pthread_join(threads[i], NULL);
        }
        done += together;
    }
}

static void long_threads(size_t requested, size_t usable, unsigned trials)
{
    in_threads(requested, usable, trials, THREADS, true);
}

static void short_threads(size_t requested, size_t usable, unsigned trials)
{
    in_threads(requested, usable, trials, SHORT_THREADS, false);
}

static void *free_all(void *blocks)
{
    for (unsigned i = 0; i < HANDED_OVER; i++) {
        free(((void **)blocks)[i]);
    }
    return NULL;
}

static void freed_elsewhere(size_t requested, size_t usable, unsigned trials)
{
    void *blocks[HANDED_OVER];
    for (unsigned done = 0; done < trials; done += HANDED_OVER) {
        pthread_t thread;
        for (unsigned i = 0; i < HANDED_OVER; i++) {
            blocks[i] = take(requested, usable);
        }
        if (pthread_create(&thread, NULL, free_all, blocks) != 0) {
            abort();
        }
        pthread_join(thread, NULL);
    }
}

static void rate_changes(size_t requested, size_t usable, unsigned trials)
{
    int64_t rate = rate_now;
    for (unsigned done = 0; done < trials; done += 500) {
        pairs(requested, usable, 500);
        set_rate(done % 1000 ? -1 : rate * 100);
        set_rate(rate);
    }
}

static double odds(size_t usable, int64_t rate)
{
    return 1 - exp(-(double)usable / (double)rate);
}

struct sum {
    double expected, variance, got;
};

/* The samples that the small block under a realloc brings along. */
static double expected_at(pattern run, unsigned trials, int64_t rate)
{
    return run == by_realloc ? trials * odds(REALLOC_FROM, rate) : 0;
}

static struct sum row_run(pattern run, unsigned class, int64_t rate, unsigned trials, bool min)
{
    struct sum sum;
    size_t usable = class_usable[class];
    double p = odds(usable, rate), extra = expected_at(run, trials, rate);
    set_rate(rate);
    uint64_t before = samples_taken();
    run(min ? class_min[class] : usable, usable, trials);
    sum.got = (double)(samples_taken() - before);
    sum.expected = trials * p + extra;
    sum.variance = trials * p * (1 - p) + extra;
    return sum;
}

static bool beyond(const struct sum *sum, double slack)
{
    return fabs(sum->got - sum->expected) > sigmas * sqrt(sum->variance) + slack;
}

/* The C library allocates some 300 bytes for a new thread: samples that may come on top. */
static double slack_of(pattern run, int64_t rate)
{
    double threads = run == short_threads     ? SHORT_THREADS
                     : run == long_threads    ? THREADS
                     : run == freed_elsewhere ? TRIALS / HANDED_OVER
                                              : 0;
    return threads * odds(400, rate);
}

/* False: the sum over all rows is off, which a second time would be no accident. */
static bool pattern_holds(const char *name, pattern run)
{
    struct sum all = {0, 0, 0};
    double slack_all = 0;
    unsigned again = 0, rows = 0;
    uint64_t live = samples_live();
    /* The simulated samplers know no classes: some will do. */
    for (unsigned class = 0; class < classes; class += sampler == LIBRARY ? 1 : 3) {
        if (run == by_realloc && class_usable[class] == REALLOC_FROM) {
            continue; /* realloc within a class makes no new block */
        }
        for (int which = 0; which < 2; which++) {
            int64_t rate = (int64_t)class_usable[class] * (which ? LARGE_RATE : SMALL_RATE);
            double slack = slack_of(run, rate);
            struct sum row = row_run(run, class, rate, TRIALS, class % 2 == (unsigned)which);
            rows++;
            all.got += row.got;
            all.expected += row.expected;
            all.variance += row.variance;
            slack_all += slack;
            if (!beyond(&row, slack)) {
                continue;
            }
            again++;
            row = row_run(run, class, rate, TRIALS * TRIALS_AGAIN, class % 2 == (unsigned)which);
            if (beyond(&row, slack * TRIALS_AGAIN)) {
                failures++;
                say("  %s, blocks of %zu, rate %lld: %.0f samples, expected %.0f, sigma %.1f\n",
                    name, class_usable[class], (long long)rate, row.got, row.expected,
                    sqrt(row.variance));
            }
        }
    }
    set_rate(-1);
    /* Threads leave something allocated: the C library keeps what it made for their stacks. */
    if (samples_live() != live && slack_all == 0) {
        failures++;
        say("  %s: %llu samples stayed live\n", name, (unsigned long long)(samples_live() - live));
    }
    say("%-16s %u rows, %u run again, in all %.0f samples, expected %.0f, %+.2f sigma\n", name,
        rows, again, all.got, all.expected, (all.got - all.expected) / sqrt(all.variance));
    return !beyond(&all, slack_all);
}

static void pattern_judge(const char *name, pattern run)
{
    if (!pattern_holds(name, run) && !pattern_holds(name, run)) {
        failures++;
        say("  %s: the sum over all classes is off twice\n", name);
    }
}

/* Random sizes in one sequence, at one rate. */
static struct sum mixed_run(unsigned trials)
{
    struct sum sum = {0, 0, 0};
    const int64_t rate = 16384;
    void *blocks[BATCH] = {NULL};
    set_rate(rate);
    uint64_t before = samples_taken();
    for (unsigned i = 0; i < trials; i++) {
        unsigned class = (unsigned)(random_next() % classes * (random_next() % 1024) / 1024);
        double p = odds(class_usable[class], rate);
        free(blocks[i % BATCH]);
        blocks[i % BATCH] = take(class_min[class], class_usable[class]);
        sum.expected += p;
        sum.variance += p * (1 - p);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        free(blocks[i]);
    }
    sum.got = (double)(samples_taken() - before);
    return sum;
}

static void mixed_judge(void)
{
    struct sum row = mixed_run(TRIALS * 20);
    if (beyond(&row, 0)) {
        row = mixed_run(TRIALS * 20 * TRIALS_AGAIN);
    }
    failures += beyond(&row, 0);
    say("%-16s %.0f samples, expected %.0f, %+.2f sigma\n", "mixed sizes", row.got, row.expected,
        (row.got - row.expected) / sqrt(row.variance));
}

/* How many blocks lie between two samples: bins of equal probability under the geometric law. */
static double gaps_chi_square(size_t usable, int64_t rate, unsigned gaps)
{
    double p = odds(usable, rate), bins[GAP_BINS] = {0}, expected[GAP_BINS] = {0}, chi = 0;
    unsigned gap = 0, seen = 0;
    set_rate(rate);
    uint64_t last = samples_taken();
    while (seen < gaps) {
        free(take(usable, usable));
        gap++;
        uint64_t now = samples_taken();
        if (now != last) {
            double below = 1 - pow(1 - p, gap - 0.5);
            bins[(int)(below * GAP_BINS)]++;
            seen++;
            gap = 0;
            last = now;
        }
    }
    for (unsigned length = 1; length < 10000; length++) {
        double chance = pow(1 - p, length - 1) * p;
        expected[(int)((1 - pow(1 - p, length - 0.5)) * GAP_BINS)] += chance * gaps;
    }
    for (int i = 0; i < GAP_BINS; i++) {
        chi += (bins[i] - expected[i]) * (bins[i] - expected[i]) / expected[i];
    }
    return chi;
}

static void gaps_judge(void)
{
    const size_t sizes[] = {16, 64, 1024, 32768};
    for (int i = 0; i < 4; i++) {
        size_t usable = sampler == LIBRARY ? malloc_usable_size(malloc(sizes[i])) : sizes[i];
        double chi = gaps_chi_square(usable, (int64_t)usable * 25, 2000);
        if (chi > gap_limit) {
            chi = gaps_chi_square(usable, (int64_t)usable * 25, 4000);
        }
        failures += chi > gap_limit;
        say("%-16s blocks of %zu: chi-square %.1f, limit %.1f\n", "gaps", usable, chi, gap_limit);
    }
    set_rate(-1);
}

static void find_classes(void)
{
    size_t before = 0;
    for (size_t size = 1; size <= 32768; size++) {
        size_t usable = size <= 1024 ? (size + 15) / 16 * 16 : (size + 1023) / 1024 * 1024;
        if (sampler == LIBRARY) {
            void *block = malloc(size);
            usable = malloc_usable_size(block);
            free(block);
        }
        if (usable != before && classes < CLASSES_MAX) {
            class_usable[classes] = before = usable;
            class_min[classes++] = size;
        }
    }
    const size_t large[] = {50000, 200000, 1000000, 5000000};
    for (int i = 0; i < 4 && classes < CLASSES_MAX; i++) {
        void *block = malloc(large[i]);
        class_usable[classes] =
            sampler == LIBRARY ? malloc_usable_size(block) : large[i] / 4096 * 4096 + 4096;
        class_min[classes++] = large[i];
        free(block);
    }
}

static int judge(void)
{
    set_rate(-1);
    find_classes();
    say("%u classes, %d trials a row\n", classes, TRIALS);
    gaps_judge();
    pattern_judge("pairs", pairs);
    pattern_judge("batches", batches);
    pattern_judge("kept", kept);
    pattern_judge("entry points", entry_points);
    pattern_judge("realloc", by_realloc);
    pattern_judge("threads", long_threads);
    pattern_judge("short threads", short_threads);
    pattern_judge("freed elsewhere", freed_elsewhere);
    pattern_judge("rate changes", rate_changes);
    mixed_judge();
    return failures;
}

/* A simulated sampler goes through the same judgement, in a child. */
static bool control_passes(enum sampler which)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        sampler = which;
        quiet = true;
        _exit(judge() > 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status)) {
        printf("control %s: the child died\n", sampler_names[which]);
        exit(2);
    }
    return WEXITSTATUS(status) == 0;
}

int main(void)
{
    for (enum sampler which = HONEST; which < SAMPLERS; which++) {
        bool passes = control_passes(which);
        printf("control: a sampler that is %s %s\n", sampler_names[which],
               passes ? "passes" : "is caught");
        if (passes != (which == HONEST)) {
            printf("the statistic does not tell an honest sampler from a biased one\n");
            return 1;
        }
    }
    if (memoir_stats == NULL || memoir_set_rate == NULL) {
        printf("no memoir in this process\n");
        return 77;
    }
    int failed = judge();
    printf("%s\n", failed ? "FAILED" : "passed");
    return failed ? 1 : 0;
}
