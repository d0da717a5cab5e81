/* SPDX-License-Identifier: MIT */
/*
 * The values of options: what each kind accepts, stores and prints. A value is text with a length,
 * never a C string, so that it can be parsed where it was read.
 */
#include "base/config_value.h"

#include <string.h>

#include "base/words.h"

#define OPTION(key, field, kind, initial, low, high, choices, ...) \
    {low, high, offsetof(struct config, field), CONFIG_##kind, key, initial, choices},
const struct config_option config_options[CONFIG_COUNT] = {
#include "base/config.def"
};
#undef OPTION

/* Each text has room in its row, with the zero at its end. */
#define OPTION(key, field, kind, initial, low, high, choices, ...)                             \
    _Static_assert(sizeof(key) <= CONFIG_KEY_SIZE && sizeof(initial) <= CONFIG_INITIAL_SIZE && \
                       sizeof(choices) <= CONFIG_CHOICES_SIZE,                                 \
                   key);
#include "base/config.def"
#undef OPTION

static bool flag_parse(const char *value, size_t length, bool *result);
static bool choice_parse(const char *choices, const char *value, size_t length, unsigned *result);
static size_t number_parse(const char *value, size_t length, uint64_t *result);
static bool size_parse(const char *value, size_t length, uint64_t *result);
static bool duration_parse(const char *value, size_t length, uint64_t *result);
static void duration_print(uint64_t duration_ms, struct print *print);

bool config_value_parse(struct config *options, const struct config_option *option,
                        const char *value, size_t length)
{
    void *field = (char *)options + option->offset;
    uint64_t number = 0;
    switch (option->kind) {
    case CONFIG_FLAG:
        return flag_parse(value, length, field);
    case CONFIG_CHOICE:
        return choice_parse(option->choices, value, length, field);
    case CONFIG_PATH:
    case CONFIG_PATTERNS:
        if (length >= CONFIG_PATH_SIZE || memchr(value, '\0', length))
            return false;
        memset(field, 0, CONFIG_PATH_SIZE);
        memcpy(field, value, length);
        return true;
    case CONFIG_DURATION:
        if (config_value_is(value, length, "never")) {
            *(uint64_t *)field = config_never;
            return true;
        }
        if (!duration_parse(value, length, &number))
            return false;
        break;
    case CONFIG_SIZE:
        if (!size_parse(value, length, &number))
            return false;
        break;
    case CONFIG_NUMBER:
        if (length == 0 || number_parse(value, length, &number) != length)
            return false;
        break;
    }
    if (number < option->low || number > option->high)
        return false;
    if (option->kind == CONFIG_DURATION)
        *(uint64_t *)field = number;
    else if (option->kind == CONFIG_SIZE)
        *(size_t *)field = (size_t)number;
    else
        *(unsigned *)field = (unsigned)number;
    return true;
}

void config_value_print(const struct config *options, const struct config_option *option,
                        struct print *print)
{
    const char *field = (const char *)options + option->offset;
    switch (option->kind) {
    case CONFIG_FLAG:
        print_text(print, *(const bool *)field ? "on" : "off");
        break;
    case CONFIG_SIZE:
        print_size_exact(print, *(const size_t *)field);
        break;
    case CONFIG_DURATION:
        duration_print(*(const uint64_t *)field, print);
        break;
    case CONFIG_CHOICE: {
        const char *word = option->choices;
        for (unsigned i = *(const unsigned *)field; i > 0; i--)
            word = strchr(word, '|') + 1;
        print_bytes(print, word, text_until(word, '|'));
        break;
    }
    case CONFIG_NUMBER:
        print_unsigned(print, *(const unsigned *)field);
        break;
    case CONFIG_PATH:
    case CONFIG_PATTERNS:
        print_text(print, field);
        break;
    }
}

void config_value_accepted(const struct config_option *option, struct print *print)
{
    switch (option->kind) {
    case CONFIG_FLAG:
        print_text(print, "on|off");
        break;
    case CONFIG_SIZE:
        print_size_exact(print, option->low);
        print_text(print, " to ");
        print_size_exact(print, option->high);
        print_text(print, " bytes, such as 64K or 1M");
        break;
    case CONFIG_DURATION:
        duration_print(option->low, print);
        print_text(print, " to ");
        duration_print(option->high, print);
        print_text(print, ", such as 500ms, 10s or 1m, or never");
        break;
    case CONFIG_CHOICE:
        print_text(print, option->choices);
        break;
    case CONFIG_NUMBER:
        print_unsigned(print, option->low);
        print_text(print, " to ");
        print_unsigned(print, option->high);
        break;
    case CONFIG_PATH:
        print_format(print, "a path shorter than %d bytes", CONFIG_PATH_SIZE);
        break;
    case CONFIG_PATTERNS:
        print_format(print, "patterns with | between them, shorter than %d bytes in all",
                     CONFIG_PATH_SIZE);
        break;
    }
}

bool config_value_is(const char *value, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(value, word, length) == 0;
}

static bool flag_parse(const char *value, size_t length, bool *result)
{
    unsigned word;
    if (!choice_parse("off|no|false|0|on|yes|true|1", value, length, &word))
        return false;
    *result = word >= 4;
    return true;
}

static bool choice_parse(const char *choices, const char *value, size_t length, unsigned *result)
{
    for (unsigned i = 0;; i++) {
        size_t word_length = text_until(choices, '|');
        if (word_length == length && memcmp(choices, value, length) == 0) {
            *result = i;
            return true;
        }
        if (choices[word_length] == '\0')
            return false;
        choices += word_length + 1;
    }
}

/* The digits at the start of the value. Returns how many; 0 also when they overflow. */
static size_t number_parse(const char *value, size_t length, uint64_t *result)
{
    uint64_t number = 0;
    size_t i = 0;
    for (; i < length && value[i] >= '0' && value[i] <= '9'; i++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(value[i] - '0'), &number))
            return 0;
    }
    *result = number;
    return i;
}

static bool size_parse(const char *value, size_t length, uint64_t *result)
{
    static const char units[] = "KMGT";
    uint64_t number;
    size_t used = number_parse(value, length, &number);
    if (used == 0)
        return false;
    value += used;
    length -= used;
    if (length > 0) {
        char letter = *value >= 'a' && *value <= 'z' ? (char)(*value - 'a' + 'A') : *value;
        const char *unit = memchr(units, letter, sizeof units - 1);
        if (unit) {
            uint64_t one = (uint64_t)1 << (10 * (unit - units + 1));
            if (__builtin_mul_overflow(number, one, &number))
                return false;
            value++;
            length--;
            if (length == 2 && *value == 'i') {
                value++;
                length--;
            }
        }
        if (length > 1 || (length == 1 && *value != 'B' && *value != 'b'))
            return false;
    }
    *result = number;
    return true;
}

static bool duration_parse(const char *value, size_t length, uint64_t *result)
{
    uint64_t number;
    uint64_t one;
    size_t used = number_parse(value, length, &number);
    if (used == 0)
        return false;
    value += used;
    length -= used;
    if (length == 0 || config_value_is(value, length, "ms"))
        one = 1;
    else if (config_value_is(value, length, "s"))
        one = 1000;
    else if (config_value_is(value, length, "m"))
        one = 60 * 1000;
    else if (config_value_is(value, length, "h"))
        one = 60 * 60 * 1000;
    else
        return false;
    return !__builtin_mul_overflow(number, one, result);
}

static void duration_print(uint64_t duration_ms, struct print *print)
{
    if (duration_ms == config_never)
        print_text(print, "never");
    else if (duration_ms % 1000 != 0)
        print_format(print, "%lums", (unsigned long)duration_ms);
    else if (duration_ms == 0)
        print_char(print, '0');
    else if (duration_ms % (60 * 60 * 1000) == 0)
        print_format(print, "%luh", (unsigned long)(duration_ms / (60 * 60 * 1000)));
    else if (duration_ms % (60 * 1000) == 0)
        print_format(print, "%lum", (unsigned long)(duration_ms / (60 * 1000)));
    else
        print_format(print, "%lus", (unsigned long)(duration_ms / 1000));
}
