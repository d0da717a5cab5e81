/* SPDX-License-Identifier: MIT */
/*
 * `memoir stats`: from the resident memory of a process down to what the program asked for, in
 * lines that add up. The kernel says what is resident and what is mapped there, the library what
 * its heap consists of: both now, of a process, or as a capture has them, at one of its moments.
 * Blocks whose pages were never touched are no resident memory, so the heap's parts may be larger
 * than what of it is in memory: the difference is a line of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/command/command.h"
#include "tool/process/process.h"
#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"
#include "tool/verb_ctl.h"

enum { NAME_WIDTH = 34, BYTES_WIDTH = 11, ROWS_MAX = 16 };

/* A line: what it is, how much, and what would change it. Sums begin anew below them. */
struct row {
    const char *key, *name;
    int64_t bytes;
    bool sum;
    char advice[128];
};

/* What the lines are made of, in bytes. */
struct facts {
    int64_t resident, files, stacks, shared, plain; /* of the process; stacks -1: in `plain` */
    int64_t ours, tables;                           /* of `plain`, the allocator's */
    int64_t own; /* beside them: what the recorder and scans for leaks keep */
    int64_t live, dirty, cached, holes;
    int64_t recorded, asked; /* of the blocks in the profile: their size, what was requested */
    bool counted;            /* all blocks were recorded */
};

struct stats {
    int64_t pid;
    const char *name; /* the command, or the file */
    bool running;     /* it is a process */
    struct facts facts;
    struct row rows[ROWS_MAX];
    size_t count;
};

static bool process_show(const struct arguments *arguments, const char *word, struct error *error);
static bool file_show(const struct arguments *arguments, const char *word, struct error *error);
static void show(struct stats *stats, const struct arguments *arguments);
static void rows_make(struct stats *stats);
static void rows_print(const struct stats *stats);
static void rows_print_json(const struct stats *stats);

bool verb_stats(const struct arguments *arguments, struct error *error)
{
    const char *word = arguments->operands[0];
    if (word && arguments->operands[1])
        return error_set(error, ERROR_USAGE, "stats does not take '%s'", arguments->operands[1]);
    if (word && input_kind_of(word) == INPUT_PROCESS)
        return process_show(arguments, word, error);
    char *newest = word ? NULL : input_newest();
    if (!word && !newest) {
        error_set(error, ERROR_USAGE, "stats needs a process, or a capture");
        return error_hint(error, "memoir ps");
    }
    bool done = file_show(arguments, word ? word : newest, error);
    free(newest);
    return done;
}

/* The number of a line "KEY:NUMBER" of the answer; 0 if there is none. */
static int64_t answered(const char *answer, const char *key)
{
    const char *fact = attach_fact(answer, key);
    return fact == NULL ? 0 : strtoll(fact, NULL, 10);
}

static bool process_ask(struct stats *stats, const struct process *process, struct error *error)
{
    char *answer = NULL;
    struct smaps smaps;
    if (!attach_ask(process, "stats", -1, &answer, error)) {
        free(answer);
        return false;
    }
    if (!smaps_read(&smaps, process->pid, answer)) {
        error_set(error, ERROR_TARGET, "process %d: /proc/%d/smaps can't be read: %s", process->pid,
                  process->pid, strerror(errno == 0 ? ESRCH : errno));
        free(answer);
        return false;
    }
    stats->facts = (struct facts){
        .resident = (int64_t)smaps.all,
        .files = (int64_t)smaps.bytes[SMAPS_FILES],
        .stacks = (int64_t)smaps.bytes[SMAPS_STACKS],
        .shared = (int64_t)smaps.bytes[SMAPS_SHARED],
        .plain = (int64_t)smaps.bytes[SMAPS_PLAIN],
        .own = (int64_t)smaps.bytes[SMAPS_OWN],
        .ours = answered(answer, "resident_bytes"),
        .tables = answered(answer, "metadata_bytes"),
        .live = answered(answer, "live_bytes"),
        .dirty = answered(answer, "dirty_bytes"),
        .cached = answered(answer, "cached_bytes"),
        .holes = answered(answer, "fragmented_bytes"),
        .recorded = answered(answer, "profile.live_bytes"),
        .asked = answered(answer, "profile.live_requested_bytes"),
        .counted = answered(answer, "profile.samples") == answered(answer, "allocs"),
    };
    free(answer);
    return true;
}

/* Once, or again and again until the process ends. */
static bool process_show(const struct arguments *arguments, const char *word, struct error *error)
{
    struct process process;
    const char *interval = arguments_value(arguments, FLAG_INTERVAL);
    uint64_t interval_ms = 0;
    if (arguments_value(arguments, FLAG_AT))
        return error_set(error, ERROR_USAGE, "--at is for captures; a process is asked about now");
    if (interval && (!read_time(interval, &interval_ms) || interval_ms == 0))
        return error_set(error, ERROR_USAGE, "--interval can't be '%s'; accepted: 10s, 500ms, 2m",
                         interval);
    if (!ctl_process(word, &process, error))
        return false;
    struct stats stats = {.pid = process.pid, .name = process.command, .running = true};
    if (!process_ask(&stats, &process, error))
        return false;
    show(&stats, arguments);
    const struct timespec wait = {(time_t)(interval_ms / 1000),
                                  (long)(interval_ms % 1000) * 1000000};
    struct error ended = {0};
    while (interval && fflush(stdout) == 0 && nanosleep(&wait, NULL) == 0 &&
           process_ask(&stats, &process, &ended))
        show(&stats, arguments);
    return true;
}

static bool file_show(const struct arguments *arguments, const char *word, struct error *error)
{
    struct profile profile;
    const struct input_options options = {.read.at = arguments_value(arguments, FLAG_AT)};
    int64_t pid = 0;
    if (arguments_value(arguments, FLAG_INTERVAL))
        return error_set(error, ERROR_USAGE, "--interval is for processes");
    profile_start(&profile);
    bool ok = input_read_all(&profile, &word, 1, &options, &pid, error);
    const struct profile_memory *memory = &profile.memory;
    if (ok && profile.at_peak) {
        ok = error_set(error, ERROR_USAGE, "resident memory at the heap's peak is not known");
        error_hint(error, "memoir stats %s --at TIME   shows the snapshot of that time", word);
    } else if (ok && memory->anonymous == 0) {
        ok = error_set(error, ERROR_INPUT, "%s has no numbers about resident memory", word);
        error_hint(error, "memoir run, or memoir ctl PID dump FILE.memoir   makes one that does");
    }
    if (ok) {
        struct stats stats = {.pid = profile.pid, .name = word};
        stats.facts = (struct facts){
            .resident = (int64_t)(memory->anonymous + memory->files + memory->shared),
            .files = (int64_t)memory->files,
            .stacks = -1,
            .shared = (int64_t)memory->shared,
            .plain = (int64_t)memory->anonymous,
            .ours = (int64_t)memory->heap,
            .tables = (int64_t)memory->tables,
            .live = (int64_t)memory->live,
            .dirty = (int64_t)memory->dirty,
            .cached = (int64_t)memory->cached,
            .holes = (int64_t)memory->holes,
            .recorded = (int64_t)memory->recorded,
            .asked = (int64_t)memory->asked,
            .counted = profile.period == 0,
        };
        show(&stats, arguments);
    }
    profile_free(&profile);
    return ok;
}

static void show(struct stats *stats, const struct arguments *arguments)
{
    stats->count = 0;
    rows_make(stats);
    if (arguments_value(arguments, FLAG_JSON))
        rows_print_json(stats);
    else
        rows_print(stats);
}

static void add(struct stats *stats, const char *key, const char *name, int64_t bytes,
                const char *advice)
{
    struct row *row = &stats->rows[stats->count++];
    *row = (struct row){.key = key, .name = name, .bytes = bytes};
    snprintf(row->advice, sizeof row->advice, "%s", advice);
}

static void add_sum(struct stats *stats, const char *key, const char *name, int64_t bytes)
{
    add(stats, key, name, bytes, "");
    stats->rows[stats->count - 1].sum = true;
}

/* The process without the heap. */
static void rows_make_process(struct stats *stats, int64_t ours)
{
    const struct facts *facts = &stats->facts;
    add_sum(stats, "resident", "resident memory", facts->resident);
    add(stats, "files", "programs, libraries, files", facts->files,
        "mostly shared with other processes");
    if (facts->stacks >= 0)
        add(stats, "stacks", "stacks of threads", facts->stacks, "fewer threads, or less depth");
    add(stats, "shared", "shared memory", facts->shared, "the program's own, by shm_open or mmap");
    add(stats, "other", facts->stacks >= 0 ? "other mappings" : "stacks, other mappings",
        facts->plain - ours, "the program's own, by mmap or sbrk: pools, other heaps");
    add(stats, "tables", "memoir's tables", facts->tables + facts->own,
        "grow with the heap, heap.memory and recorder.memory; scans for leaks leave some");
}

/* Blocks in memory that the program lends, and those older than the profile, are not in it. They
 * count as asked for in full. */
static void rows_make_live(struct stats *stats)
{
    const struct facts *facts = &stats->facts;
    int64_t rounding = facts->recorded - facts->asked, unknown = facts->live - facts->recorded;
    char size[32], advice[128];
    add_sum(stats, "live", "live blocks", facts->live);
    if (facts->asked <= 0 || rounding < 0 || rounding > facts->live)
        return;
    snprintf(advice, sizeof advice, "%s",
             facts->counted ? "sizes just above a block size" : "estimated from samples");
    if (unknown > facts->live / 100) {
        style_value(size, (double)unknown, UNIT_BYTES);
        snprintf(advice, sizeof advice, "of recorded blocks; %s are not in the profile", size);
    }
    add(stats, "rounding", "rounding up to block sizes", rounding, advice);
    add_sum(stats, "asked", "asked for by the program", facts->live - rounding);
}

static void rows_make(struct stats *stats)
{
    const struct facts *facts = &stats->facts;
    char purge[64] = "return.delay";
    if (stats->running)
        snprintf(purge, sizeof purge, "return.delay; memoir ctl %d purge returns them",
                 (int)stats->pid);
    int64_t ours = facts->ours < facts->plain ? facts->ours : facts->plain;
    int64_t heap = ours - facts->tables;
    int64_t parts = facts->live + facts->cached + facts->holes + facts->dirty;
    rows_make_process(stats, ours);
    add_sum(stats, "heap", "the heap", heap);
    add(stats, "dirty", "free pages, kept for reuse", facts->dirty, purge);
    add(stats, "cached", "free blocks in threads' caches", facts->cached,
        "the options cache, cache.total");
    add(stats, "holes", "free blocks between live ones", facts->holes,
        "blocks of one size that live longer than their neighbours");
    if (parts < heap)
        add(stats, "ends", "ends of spans and of guarded pages", heap - parts,
            "little, unless blocks are guarded, each in pages of its own");
    if (parts > heap)
        add(stats, "untouched", "blocks and pages never written to", heap - parts,
            "they are no resident memory");
    rows_make_live(stats);
}

static void rows_print(const struct stats *stats)
{
    const struct style style = {.out = stdout, .color = terminal_colors()};
    char text[32];
    if (stats->running)
        printf("process %d    %s\n", (int)stats->pid, stats->name);
    else
        printf("%s\n", stats->name);
    for (size_t i = 0; i < stats->count; i++) {
        const struct row *row = &stats->rows[i];
        int64_t bytes = row->bytes < 0 ? -row->bytes : row->bytes;
        const char *sign = row->sum ? "=" : row->bytes < 0 ? "+" : "-";
        style_value(text, (double)bytes, UNIT_BYTES);
        printf("%s %-*s %*s", i == 0 ? " " : sign, NAME_WIDTH, row->name, BYTES_WIDTH, text);
        if (row->advice[0] != '\0') {
            fputs("   ", stdout);
            style_dim(&style, row->advice);
        }
        putchar('\n');
    }
}

static void rows_print_json(const struct stats *stats)
{
    struct json json;
    json_start(&json, stdout, true);
    json_object(&json, NULL);
    json_text(&json, "schema", "memoir.stats/1");
    json_number(&json, "pid", stats->pid);
    json_text(&json, stats->running ? "command" : "file", stats->name);
    json_array(&json, "rows");
    for (size_t i = 0; i < stats->count; i++) {
        const struct row *row = &stats->rows[i];
        json_object(&json, NULL);
        json_text(&json, "key", row->key);
        json_text(&json, "name", row->name);
        json_number(&json, "bytes", row->bytes);
        json_flag(&json, "sum", row->sum);
        if (row->advice[0] != '\0')
            json_text(&json, "advice", row->advice);
        json_end(&json);
    }
    json_end(&json);
    json_end(&json);
    putchar('\n');
}
