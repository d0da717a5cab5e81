/* SPDX-License-Identifier: MIT */
/* LSAN_OPTIONS. A key that is not served here changes nothing: sanitizers have some hundred. */
#include <string.h>

#include "base/compiler.h"
#include "lib/faces/lsan/lsan.h"

struct lsan_options lsan_options = {.exit_code = 23,
                                    .detect = true,
                                    .at_exit = true,
                                    .print_suppressions = true,
                                    .use_stacks = true,
                                    .use_registers = true,
                                    .use_globals = true};

static const char between[] = " \t\r\n,:";

static size_t value_find(const char **value, const char **end);
static bool key_is(const char *text, size_t length, const char *key);
static void number(const char *value, size_t length, unsigned *to);
static void flag(const char *value, bool *to);
static void path(const char *value, size_t length, char *to, size_t room);

void lsan_options_read(const char *text)
{
    struct lsan_options *options = &lsan_options;
    const struct {
        const char *key;
        bool *value;
    } flags[] = {{"detect_leaks", &options->detect},
                 {"leak_check_at_exit", &options->at_exit},
                 {"report_objects", &options->report_objects},
                 {"print_suppressions", &options->print_suppressions},
                 {"use_stacks", &options->use_stacks},
                 {"use_registers", &options->use_registers},
                 {"use_globals", &options->use_globals},
                 {"use_unaligned", &options->use_unaligned}};
    while (text != NULL && *(text += strspn(text, between)) != '\0') {
        size_t key = strcspn(text, "= \t\r\n,:"), length = 0;
        const char *value = text + key, *end = value;
        if (*value == '=')
            length = value_find(&value, &end);
        for (unsigned i = 0; i < COUNT_OF(flags); i++)
            if (key_is(text, key, flags[i].key) && length > 0)
                flag(value, flags[i].value);
        if (key_is(text, key, "exitcode"))
            number(value, length, &options->exit_code);
        else if (key_is(text, key, "max_leaks"))
            number(value, length, &options->leaks_max);
        else if (key_is(text, key, "suppressions"))
            path(value, length, options->suppressions, sizeof options->suppressions);
        else if (key_is(text, key, "log_path"))
            path(value, length, options->log_path, sizeof options->log_path);
        text = end;
    }
}

/* From the `=`: where the value begins, which may stand in quotes, and where all of it ends. Its
 * length. */
static size_t value_find(const char **value, const char **end)
{
    const char *from = ++*value;
    size_t length;
    if (*from == '"' || *from == '\'') {
        const char quote[] = {*from, '\0'};
        *value = ++from;
        length = strcspn(from, quote);
        *end = from + length + (from[length] != '\0');
    } else {
        length = strcspn(from, between);
        *end = from + length;
    }
    return length;
}

static bool key_is(const char *text, size_t length, const char *key)
{
    return strlen(key) == length && memcmp(text, key, length) == 0;
}

static void number(const char *value, size_t length, unsigned *to)
{
    unsigned result = 0;
    if (length == 0)
        return;
    for (size_t i = 0; i < length && i < 9; i++) {
        if (value[i] < '0' || value[i] > '9')
            return;
        result = result * 10 + (unsigned)(value[i] - '0');
    }
    *to = result;
}

static void flag(const char *value, bool *to)
{
    if (strchr("1tTyY", *value) != NULL)
        *to = true;
    else if (strchr("0fFnN", *value) != NULL)
        *to = false;
}

static void path(const char *value, size_t length, char *to, size_t room)
{
    if (length >= room)
        return;
    memcpy(to, value, length);
    to[length] = '\0';
}
