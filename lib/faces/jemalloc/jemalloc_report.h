/* SPDX-License-Identifier: MIT */
/*
 * How malloc_stats_print writes: lines of a table, or keys of JSON, in parts to the function of the
 * caller. The report knows whether a comma is due before the next key.
 */
#ifndef JEMALLOC_JEMALLOC_REPORT_H
#define JEMALLOC_JEMALLOC_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/print.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"

enum { BUFFER_SIZE = 1024 };

struct report {
    void (*write)(void *opaque, const char *text);
    void *opaque;
    bool json;
    bool first; /* in the present object: no comma before the next key */
    struct print text;
    char buffer[BUFFER_SIZE];
};

INLINE void flush(struct report *report)
{
    const char *text = print_string(&report->text);
    if (report->write != NULL)
        report->write(report->opaque, text);
    else
        jemalloc_write(text);
    print_start(&report->text, report->buffer, sizeof report->buffer);
}

/* One more line or key, which takes less than half of the buffer. */
INLINE struct print *next(struct report *report)
{
    if (print_length(&report->text) > BUFFER_SIZE / 2)
        flush(report);
    return &report->text;
}

/* Of any length. */
INLINE void quoted(struct report *report, const char *text)
{
    print_char(next(report), '"');
    for (; *text != '\0'; text++) {
        struct print *out = next(report);
        if (*text == '"' || *text == '\\')
            print_char(out, '\\');
        print_clean(out, text, 1, 1);
    }
    print_char(next(report), '"');
}

/* "key": as JSON, or "  section.key: ". */
INLINE struct print *key(struct report *report, const char *section, const char *name)
{
    struct print *out = next(report);
    if (!report->json) {
        print_format(out, "  %s.%s: ", section, name);
        return out;
    }
    if (!report->first)
        print_char(out, ',');
    report->first = false;
    print_format(out, "\"%s\":", name);
    return out;
}

INLINE void line_end(struct report *report)
{
    if (!report->json)
        print_char(&report->text, '\n');
}

INLINE void number(struct report *report, const char *section, const char *name, uint64_t value)
{
    print_unsigned(key(report, section, name), value);
    line_end(report);
}

INLINE void flag(struct report *report, const char *section, const char *name, bool value)
{
    print_text(key(report, section, name), value ? "true" : "false");
    line_end(report);
}

INLINE void object_open(struct report *report, const char *name)
{
    struct print *out = next(report);
    if (!report->first)
        print_char(out, ',');
    print_format(out, "\"%s\":{", name);
    report->first = true;
}

INLINE void object_close(struct report *report)
{
    print_char(next(report), '}');
    report->first = false;
}

/* A heading of the table, or the key of an object. */
INLINE void section(struct report *report, const char *heading, const char *name)
{
    if (report->json)
        object_open(report, name);
    else
        print_format(next(report), "%s\n", heading);
}

INLINE void section_end(struct report *report)
{
    if (report->json)
        object_close(report);
}

#endif
