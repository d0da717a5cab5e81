/* SPDX-License-Identifier: MIT */
/* The values of jemalloc's options: what each kind accepts, with jemalloc's own errors. Numbers are
 * read as by strtoumax with base 0: blanks, a sign, 0x or 0 in front. A value that is text is
 * copied to static memory and stays there. */
#include <string.h>

#include "base/compiler.h"
#include "base/words.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"

#define OPTION(name, kind, initial, low, high, range, words, shown, effect) \
    {high, low, JEMALLOC_##kind, RANGE_##range, VIEW_##shown, #name, initial, words},
enum { RANGE_REJECT, RANGE_CLIP, VIEW_HIDDEN = 0, VIEW_SHOWN };
const struct jemalloc_option jemalloc_options[JEMALLOC_OPTIONS] = {
#include "lib/faces/jemalloc/jemalloc_options.def"
};
#undef OPTION

/* Each text has room in its row, with the zero at its end. */
#define OPTION(name, kind, initial, low, high, range, words, shown, effect) \
    _Static_assert(sizeof #name <= JEMALLOC_NAME_SIZE &&                    \
                       sizeof initial <= JEMALLOC_INITIAL_SIZE &&           \
                       sizeof words <= JEMALLOC_WORDS_SIZE,                 \
                   #name);
#include "lib/faces/jemalloc/jemalloc_options.def"
#undef OPTION

struct jemalloc_value jemalloc_values[JEMALLOC_OPTIONS];

static const char bad_value[] = "Invalid conf value";
static const char bad_range[] = "Out-of-range conf value";

enum { TEXTS_SIZE = 4096 };
static BULK char texts[TEXTS_SIZE]; /* values that are text; nothing is ever taken out */
static size_t texts_used;

static const char *text_keep(const char *text, size_t length);
static bool is_word(const char *word, const char *text, size_t length);
static const char *unsigned_parse(const struct jemalloc_option *option, const char *text,
                                  size_t length, uint64_t *number);
static const char *signed_parse(const struct jemalloc_option *option, const char *text,
                                size_t length, uint64_t *number);
static const char *ratio_parse(const struct jemalloc_option *option, const char *text,
                               size_t length, uint64_t *number);
static const char *word_parse(const struct jemalloc_option *option, const char *text, size_t length,
                              const char **kept);
static const char *flags_parse(const struct jemalloc_option *option, const char *text,
                               size_t length, const char **kept);
static const char *ranges_complaint(enum jemalloc_name name);
static const char *bool_parse(const char *text, size_t length, uint64_t *number);

const char *jemalloc_value_parse(enum jemalloc_name name, const char *text, size_t length)
{
    const struct jemalloc_option *option = &jemalloc_options[name];
    struct jemalloc_value value = {.given = true};
    const char *wrong = NULL;
    switch (option->kind) {
    case JEMALLOC_BOOL:
        wrong = bool_parse(text, length, &value.number);
        break;
    case JEMALLOC_SIZE:
    case JEMALLOC_UNSIGNED:
    case JEMALLOC_U64:
        if (is_word(option->words, text, length)) /* narenas:default */
            return NULL;
        wrong = unsigned_parse(option, text, length, &value.number);
        break;
    case JEMALLOC_SSIZE:
    case JEMALLOC_I64:
        wrong = signed_parse(option, text, length, &value.number);
        break;
    case JEMALLOC_ENUM:
    case JEMALLOC_PREFIXED:
        wrong = word_parse(option, text, length, &value.text);
        break;
    case JEMALLOC_TEXT:
        value.text = text_keep(text, length);
        wrong = value.text == NULL ? bad_value : NULL;
        break;
    case JEMALLOC_FLAGS:
        wrong = flags_parse(option, text, length, &value.text);
        break;
    case JEMALLOC_RANGES:
        if (!is_word(option->words, text, length) && text != option->initial)
            wrong = ranges_are_fine(text, length) ? NULL : ranges_complaint(name);
        if (wrong == NULL && length != 0 && (value.text = text_keep(text, length)) == NULL)
            wrong = bad_value;
        break;
    case JEMALLOC_RATIO:
        if (is_word(option->words, text, length))
            value.number = UINT32_MAX;
        else
            wrong = ratio_parse(option, text, length, &value.number);
        break;
    }
    if (wrong == NULL)
        jemalloc_values[name] = value;
    return wrong;
}

static const char *text_keep(const char *text, size_t length)
{
    if (length >= sizeof texts - texts_used)
        return NULL;
    char *copy = texts + texts_used;
    memcpy(copy, text, length);
    copy[length] = '\0';
    texts_used += length + 1;
    return copy;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

/* The whole text as a number; false if it is not one. `negative`: it had a minus. */
static bool number_parse(const char *text, size_t length, uint64_t *number, bool *negative)
{
    size_t i = 0;
    *negative = false;
    while (i < length && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')))
        i++;
    if (i < length && (text[i] == '-' || text[i] == '+'))
        *negative = text[i++] == '-';
    unsigned base = 10;
    if (length - i >= 2 && text[i] == '0') {
        base = (text[i + 1] | 0x20) == 'x' ? 16 : 8;
        i += base == 16 ? 2 : 1;
    }
    if (i == length)
        return false;
    for (*number = 0; i < length; i++) {
        unsigned digit = (unsigned)digit_of(text[i]);
        if (digit >= base || __builtin_mul_overflow(*number, base, number) ||
            __builtin_add_overflow(*number, digit, number))
            return false;
    }
    return true;
}

static bool is_word(const char *word, const char *text, size_t length)
{
    return word[0] != '\0' && strlen(word) == length && memcmp(word, text, length) == 0;
}

/* SIZE, UNSIGNED and U64: a minus wraps around, as in strtoumax. */
static const char *unsigned_parse(const struct jemalloc_option *option, const char *text,
                                  size_t length, uint64_t *number)
{
    bool negative;
    if (!number_parse(text, length, number, &negative))
        return bad_value;
    if (negative)
        *number = -*number;
    bool low = *number < (uint64_t)option->low;
    bool high = option->high != INT64_MAX && *number > (uint64_t)option->high;
    if ((low || high) && !option->clip)
        return bad_range;
    if (low || high)
        *number = (uint64_t)(low ? option->low : option->high);
    return NULL;
}

static const char *signed_parse(const struct jemalloc_option *option, const char *text,
                                size_t length, uint64_t *number)
{
    bool negative;
    uint64_t size;
    if (!number_parse(text, length, &size, &negative) || size > INT64_MAX)
        return bad_value;
    int64_t value = negative ? -(int64_t)size : (int64_t)size;
    bool low = value<option->low, high = value> option->high;
    if ((low || high) && !option->clip)
        return bad_range;
    *number = (uint64_t)(low ? option->low : high ? option->high : value);
    return NULL;
}

/* "12", "0.25", ".5" times 2^16. */
static const char *ratio_parse(const struct jemalloc_option *option, const char *text,
                               size_t length, uint64_t *number)
{
    uint64_t value = 0, fraction = 0, scale = 1;
    size_t i = 0, digits = 0;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++, digits++)
        if ((value = value * 10 + (uint64_t)(text[i] - '0')) > UINT16_MAX)
            return bad_value;
    if (i < length && text[i] == '.')
        for (i++; i < length && text[i] >= '0' && text[i] <= '9'; i++, digits++)
            if (scale < 1000000) {
                fraction = fraction * 10 + (uint64_t)(text[i] - '0');
                scale *= 10;
            }
    if (i != length || digits == 0)
        return bad_value;
    value = (value << 16) + (fraction << 16) / scale;
    if (option->high != INT64_MAX && value > (uint64_t)option->high << 16)
        return bad_value;
    *number = value;
    return NULL;
}

/* The word that the value is, or begins: of PREFIXED an empty value is the first one. */
static const char *word_parse(const struct jemalloc_option *option, const char *text, size_t length,
                              const char **kept)
{
    for (const char *word = option->words;; word += text_until(word, '|') + 1) {
        size_t word_length = text_until(word, '|');
        bool whole = option->kind == JEMALLOC_ENUM ? word_length == length : word_length >= length;
        if (whole && memcmp(word, text, length) == 0) {
            *kept = text_keep(word, word_length);
            return *kept == NULL ? bad_value : NULL;
        }
        if (word[word_length] == '\0')
            return bad_value;
    }
}

/* Letters that mean something, each once. */
static const char *flags_parse(const struct jemalloc_option *option, const char *text,
                               size_t length, const char **kept)
{
    char flags[16] = "";
    size_t used = 0;
    for (size_t i = 0; i < length && used < sizeof flags; i++)
        if (text[i] != '\0' && strchr(option->words, text[i]) != NULL &&
            memchr(flags, text[i], used) == NULL)
            flags[used++] = text[i];
    *kept = text_keep(flags, used);
    return *kept == NULL ? bad_value : NULL;
}

static const char *ranges_complaint(enum jemalloc_name name)
{
    return name == JEMALLOC_bin_shards   ? "Invalid settings for bin_shards"
           : name == JEMALLOC_slab_sizes ? "Invalid settings for slab_sizes"
                                         : "Invalid settings for tcache_ncached_max";
}

bool ranges_are_fine(const char *text, size_t length)
{
    static const char ends[] = "-:|";
    for (size_t i = 0, part = 0; i <= length; part = (part + 1) % 3) {
        size_t start = i;
        if (i == length && part == 0 && length > 0) /* a '|' at the end is fine */
            break;
        while (i < length && text[i] >= '0' && text[i] <= '9')
            i++;
        if (i == start || (i == length && part != 2))
            return false;
        if (i < length && text[i] != ends[part])
            return false;
        i++;
    }
    return true;
}

size_t ranges_number(const char **at)
{
    size_t number = 0;
    for (; **at >= '0' && **at <= '9'; ++*at)
        if (number < SIZE_MAX / 100)
            number = number * 10 + (size_t)(**at - '0');
    *at += **at != '\0';
    return number;
}

static const char *bool_parse(const char *text, size_t length, uint64_t *number)
{
    if (!is_word("true", text, length) && !is_word("false", text, length))
        return bad_value;
    *number = length == 4;
    return NULL;
}

static bool is_text(enum jemalloc_kind kind)
{
    return kind == JEMALLOC_ENUM || kind == JEMALLOC_PREFIXED || kind == JEMALLOC_TEXT ||
           kind == JEMALLOC_FLAGS;
}

/* Texts stay where they are: a copy would cost every process a page. */
void jemalloc_value_defaults(void)
{
    for (unsigned i = 0; i < JEMALLOC_OPTIONS; i++) {
        const char *initial = jemalloc_options[i].initial;
        if (is_text(jemalloc_options[i].kind))
            jemalloc_values[i] = (struct jemalloc_value){.text = initial};
        else
            jemalloc_value_parse((enum jemalloc_name)i, initial, strlen(initial));
        jemalloc_values[i].given = false;
    }
}

bool jemalloc_value_differs(enum jemalloc_name name)
{
    struct jemalloc_value now = jemalloc_values[name];
    const char *initial = jemalloc_options[name].initial;
    if (!now.given || jemalloc_value_parse(name, initial, strlen(initial)) != NULL)
        return false;
    struct jemalloc_value before = jemalloc_values[name];
    jemalloc_values[name] = now;
    return now.number != before.number ||
           (now.text != NULL && before.text != NULL && strcmp(now.text, before.text) != 0);
}
