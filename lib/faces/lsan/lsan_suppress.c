/* SPDX-License-Identifier: MIT */
/* Suppressions: a pattern is a part of a name, where * is any text, ^ the beginning and $ the end.
 */
#include <string.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/print.h"
#include "lib/faces/lsan/lsan.h"

enum { PATTERNS_MAX = 1024, PATTERN_SIZE = 256 };

static BULK struct pattern {
    const char *text;
    size_t length;
    uint64_t objects, bytes;
} patterns[PATTERNS_MAX];
static unsigned count;

static bool fits(const char *pattern, size_t length, const char *name);

void lsan_suppress_add(const char *text)
{
    static const char key[] = "leak:";
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\r\n");
        size_t start = strspn(text, " \t");
        if (start < length && count < PATTERNS_MAX && length - start > sizeof key - 1 &&
            memcmp(text + start, key, sizeof key - 1) == 0) {
            start += sizeof key - 1;
            patterns[count++] = (struct pattern){text + start, length - start, 0, 0};
        }
        text += length + strspn(text + length, "\r\n");
    }
}

bool lsan_suppress_fits(const char *function, const char *module, uint64_t objects, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++) {
        struct pattern *pattern = &patterns[i];
        if (!fits(pattern->text, pattern->length, function) &&
            !fits(pattern->text, pattern->length, module))
            continue;
        pattern->objects += objects;
        pattern->bytes += bytes;
        return true;
    }
    return false;
}

void lsan_suppress_print(void)
{
    bool any = false;
    for (unsigned i = 0; i < count; i++) {
        if (patterns[i].objects == 0)
            continue;
        char text[PATTERN_SIZE + 64];
        struct print line;
        if (!any)
            message_format("-----------------------------------------------------\n"
                           "Suppressions used:\n  count      bytes template\n");
        any = true;
        print_start(&line, text, sizeof text);
        print_unsigned(&line, patterns[i].objects);
        print_right(&line, 0, 7);
        size_t from = print_length(&line);
        print_unsigned(&line, patterns[i].bytes);
        print_right(&line, from, 11);
        print_char(&line, ' ');
        print_clean(&line, patterns[i].text, patterns[i].length, PATTERN_SIZE);
        message_format("%s\n", print_string(&line));
    }
    if (any)
        message_format("-----------------------------------------------------\n\n");
}

/* Where a part without * occurs in the name, at the beginning only if `at_start`; NULL: nowhere. */
static const char *part_find(const char *part, size_t length, const char *name, bool at_start)
{
    for (; strlen(name) >= length; name++) {
        if (memcmp(name, part, length) == 0)
            return name;
        if (at_start)
            return NULL;
    }
    return NULL;
}

static bool fits(const char *pattern, size_t length, const char *name)
{
    bool at_start = length > 0 && pattern[0] == '^';
    bool at_end = length > 0 && pattern[length - 1] == '$';
    const char *end = pattern + length - at_end;
    pattern += at_start;
    if (*name == '\0')
        return false;
    while (pattern < end) {
        const char *star = memchr(pattern, '*', (size_t)(end - pattern));
        size_t part = (size_t)((star == NULL ? end : star) - pattern);
        if (star == NULL && at_end) { /* the last part is at the end */
            size_t rest = strlen(name);
            return rest >= part && (!at_start || rest == part) &&
                   memcmp(name + rest - part, pattern, part) == 0;
        }
        const char *found = part_find(pattern, part, name, at_start);
        if (found == NULL)
            return false;
        name = found + part;
        at_start = false;
        pattern += part + (star != NULL);
    }
    return true;
}
