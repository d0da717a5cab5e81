/* SPDX-License-Identifier: MIT */
/* See lib/dump/dump_name.h. Called with the lock of dump.c held. Everything is printed by hand,
 * dates included, because libc's functions for that take locks or allocate. */
#include "lib/dump/dump_name.h"

#include <string.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/file/recorder_format.h"
#include "base/loaded.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/heap/observer.h"

/* Sequence numbers of the process. A forked child goes on counting: its names have its own id. */
static struct {
    unsigned memoir;
    unsigned jemalloc, interval, manual, peak;
    unsigned gperftools;
} counts;

/* The letter in jemalloc's names: i, u and f as there, m for all dumps that were asked for. */
static const struct {
    const char *word;
    char letter;
} reasons[DUMP_REASONS] = {
#define ROW(id, word, letter) {word, letter},
    DUMP_REASONS_ALL(ROW)
#undef ROW
};

const char *dump_name_word(enum dump_reason reason)
{
    return reasons[reason].word;
}

static void print_base_name(struct print *text, const char *path, size_t length)
{
    size_t from = length;
    while (from > 0 && path[from - 1] != '/')
        from--;
    print_bytes(text, path + from, length - from);
}

/* Where there is no /proc. A function of its own, because it takes a page of stack. */
static NOINLINE void print_loaded(struct print *text)
{
    char path[LOADED_PATH];
    size_t length = loaded_program(path);
    print_base_name(text, length == 0 ? "memoir" : path, length == 0 ? 6 : length);
}

/* The file name of the program, or a word in its place. */
static void print_program(struct print *text)
{
    char path[CONFIG_PATH_SIZE];
    ssize_t length = os_link("/proc/self/exe", path, sizeof path);
    if (length < 0)
        print_loaded(text);
    else if (length == 0 || length == (ssize_t)sizeof path)
        print_text(text, "memoir");
    else
        print_base_name(text, path, (size_t)length);
}

static void print_prefix(struct print *text, const char *prefix)
{
    size_t length = strlen(prefix);
    print_bytes(text, prefix, length);
    if (length == 0 || prefix[length - 1] == '/')
        print_program(text);
}

static void print_padded(struct print *text, unsigned value, unsigned digits)
{
    unsigned min = 1;
    for (unsigned i = 1; i < digits; i++)
        min *= 10;
    for (; min > 1 && value < min; min /= 10)
        print_char(text, '0');
    print_unsigned(text, value);
}

/* 20261115-145918, UTC. Years are counted from March, so that the leap day is the last day of a
 * year. */
static void print_time(struct print *text, int64_t wall_s)
{
    enum { DAY_S = 86400, ERA_DAYS = 146097, DAYS_TO_1970 = 719468 };
    uint64_t seconds = wall_s < 0 ? 0 : (uint64_t)wall_s;
    unsigned second = (unsigned)(seconds % DAY_S);
    uint64_t days = seconds / DAY_S + DAYS_TO_1970;
    unsigned era_day = (unsigned)(days % ERA_DAYS);
    unsigned era_year = (era_day - era_day / 1460 + era_day / 36524 - era_day / 146096) / 365;
    unsigned year_day = era_day - (365 * era_year + era_year / 4 - era_year / 100);
    unsigned march_month = (5 * year_day + 2) / 153;
    unsigned day = year_day - (153 * march_month + 2) / 5 + 1;
    unsigned month = march_month < 10 ? march_month + 3 : march_month - 9;
    unsigned year = (unsigned)(days / ERA_DAYS) * 400 + era_year + (month <= 2);
    print_padded(text, year, 4);
    print_padded(text, month, 2);
    print_padded(text, day, 2);
    print_char(text, '-');
    print_padded(text, second / 3600, 2);
    print_padded(text, second / 60 % 60, 2);
    print_padded(text, second % 60, 2);
}

/* The option dump.time, for names that have no time. */
static void print_time_asked(struct print *text, const struct dump_moment *moment)
{
    if (!config.dump_time)
        return;
    print_char(text, '.');
    print_time(text, moment->wall_s);
}

/* Two to four digits and a letter. */
static void print_live(struct print *text, uint64_t bytes)
{
    static const char units[] = "BKMGT";
    unsigned unit = 0;
    for (; bytes >= 10000 && unit < sizeof units - 2; unit++)
        bytes >>= 10;
    print_unsigned(text, bytes);
    print_char(text, units[unit]);
}

static void print_memoir(struct print *text, const struct dump_style *style,
                         enum dump_reason reason, const struct dump_moment *moment)
{
    print_char(text, '-');
    print_time(text, moment->wall_s);
    print_format(text, "-%d-", moment->pid);
    print_padded(text, ++counts.memoir, 4);
    print_format(text, "-%s-", dump_name_word(reason));
    print_live(text, moment->live_bytes);
    print_text(text, format_suffix(style->format));
}

/* /proc/self/ns/pid is a link to "pid:[4026531836]". */
uint64_t dump_name_space(void)
{
    static const char before[] = "pid:[";
    char link[64] = "";
    ssize_t length = os_link("/proc/self/ns/pid", link, sizeof link - 1);
    return length < (ssize_t)sizeof before ? 0 : text_number(link + sizeof before - 1, 10);
}

static void print_jemalloc(struct print *text, const struct dump_style *style,
                           enum dump_reason reason, const struct dump_moment *moment)
{
    char letter = reasons[reason].letter;
    print_time_asked(text, moment);
    print_char(text, '.');
    if (style->pid_namespace)
        print_format(text, "%lu.", dump_name_space());
    print_format(text, "%d.%u.%c", moment->pid, counts.jemalloc++, letter);
    if (letter != 'f')
        print_unsigned(text, letter == 'i'   ? counts.interval++
                             : letter == 'u' ? counts.peak++
                                             : counts.manual++);
    print_text(text, ".heap");
}

static void print_gperftools(struct print *text, const struct dump_style *style,
                             const struct dump_moment *moment)
{
    if (style->owner != moment->pid)
        print_format(text, "_%d", moment->pid);
    print_time_asked(text, moment);
    print_char(text, '.');
    print_padded(text, ++counts.gperftools, 4);
    print_text(text, ".heap");
}

void dump_name_prefix(struct print *text, const struct dump_style *style)
{
    print_prefix(text, style->prefix);
}

bool dump_name_whole(char *to, size_t size, const char *path)
{
    struct print text;
    char folder[RECORDER_PATH / 2];
    size_t length = path[0] == '/' ? 0 : os_directory(folder, sizeof folder);
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    print_start(&text, to, size);
    print_bytes(&text, folder, length);
    if (length > 0)
        print_char(&text, '/');
    print_text(&text, path);
    print_string(&text);
    return !text.cut;
}

bool dump_name_next(char *name, const struct dump_style *style, enum dump_reason reason,
                    const struct dump_moment *moment)
{
    struct print text;
    print_start(&text, name, DUMP_NAME_SIZE);
    print_prefix(&text, style->prefix);
    if (style->names == DUMP_NAMES_MEMOIR)
        print_memoir(&text, style, reason, moment);
    else if (style->names == DUMP_NAMES_JEMALLOC)
        print_jemalloc(&text, style, reason, moment);
    else
        print_gperftools(&text, style, moment);
    print_string(&text);
    return !text.cut;
}

void dump_name_reason(struct print *text, enum dump_reason reason, const struct totals_now *now)
{
    uint64_t live = now->live;
    switch (reason) {
    case DUMP_ALLOCATED:
        print_format(text, "%lu MB allocated cumulatively, %lu MB currently in use",
                     now->allocated >> 20, live >> 20);
        break;
    case DUMP_FREED:
        print_format(text, "%lu MB freed cumulatively, %lu MB currently in use", now->freed >> 20,
                     live >> 20);
        break;
    case DUMP_IN_USE:
    case DUMP_PEAK:
    case DUMP_ABOVE:
        print_format(text, "%lu MB currently in use", live >> 20);
        break;
    case DUMP_EXIT:
        if (live >> 20 != 0)
            print_format(text, "Exiting, %lu MB in use", live >> 20);
        else if (live >> 10 != 0)
            print_format(text, "Exiting, %lu kB in use", live >> 10);
        else
            print_format(text, "Exiting, %lu bytes in use", live);
        break;
    default:
        print_text(text, dump_name_word(reason));
    }
}
