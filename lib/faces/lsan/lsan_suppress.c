/* SPDX-License-Identifier: MIT */
/* Suppressions: patterns of lib/watch/wildcard.h. */
#include <string.h>

#include "base/compiler.h"
#include "base/print.h"
#include "lib/faces/lsan/lsan.h"
#include "lib/watch/watch.h"

/* Static, as a report must not allocate: 1,024 lines are more than such files have. */
enum { PATTERNS_MAX = 1024, PATTERN_SIZE = 256 };

static BULK struct pattern {
    const char *text;
    size_t length;
    uint64_t objects, bytes;
} patterns[PATTERNS_MAX];
static unsigned count;

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
        if (!wildcard_fits(pattern->text, pattern->length, function) &&
            !wildcard_fits(pattern->text, pattern->length, module))
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
            lsan_say("-----------------------------------------------------\n"
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
        lsan_say("%s\n", print_string(&line));
    }
    if (any)
        lsan_say("-----------------------------------------------------\n\n");
}
