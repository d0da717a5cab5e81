/* SPDX-License-Identifier: MIT */
/*
 * mimalloc's options: from variables, by mi_option_set, and what they do to memoir's own. The
 * releases number them differently; inside they have one order, that of mimalloc_options.def.
 *
 * mimalloc's own library, where the program was linked with it and ours is preloaded, runs its
 * constructor and destructor, and asks us about options by the numbers of its own release: 25 is
 * purge_extend_delay here, and destroy_on_exit in 2.0, which ended the program at exit in heaps
 * that are not there. For that library all options are 0 and none is set: it has nothing to do.
 */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/config.h"
#include "base/os.h"
#include "base/words.h"
#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"
#include "lib/faces/mimalloc/mimalloc_region.h"

enum { NONE = -1 };
enum kind { NUMBER, SIZE };
enum effect { WORKS, KNOWN, REFUSED };
enum { KIB = 1024, LINE_SIZE = 4096, NAME_SIZE = 64 };
enum { MS_A_PAGE = 500 }; /* for the kernel to find a huge page of 1 GiB, as in mimalloc */

static const struct {
    int8_t number2, number3;
    uint8_t kind, effect;
} rows[] = {
#define OPTION(name, number2, number3, initial2, initial3, kind, old, effect, text) \
    {number2, number3, kind, effect},
#include "lib/faces/mimalloc/mimalloc_options.def"
#undef OPTION
};
static const int32_t initial[][2] = {
#define OPTION(name, number2, number3, initial2, initial3, ...) {initial2, initial3},
#include "lib/faces/mimalloc/mimalloc_options.def"
#undef OPTION
};
/* Name, old name and text of each, one behind the other: no pointers that the loader would have to
 * relocate. */
static const BULK_CONSTANT char texts[] =
#define OPTION(name, number2, number3, initial2, initial3, kind, old, effect, text) \
#name "\0" old "\0" text "\0"
#include "lib/faces/mimalloc/mimalloc_options.def"
#undef OPTION
    ;

static long values[MIMALLOC_OPTIONS];
static bool is_set[MIMALLOC_OPTIONS];
static bool read_already;

static unsigned option_of(int number);
static unsigned option_for(int number, void *caller);
static long value_for(int number, void *caller);

/* The caller of the function that this stands in. */
#define CALLER __builtin_return_address(0)

FUNCTION(long, mi_option_get, (int option))
{
    return value_for(option, CALLER);
}

/* The option that the caller means; MIMALLOC_OPTIONS: none. */
static unsigned option_for(int number, void *caller)
{
    return mimalloc_is_theirs(caller) ? MIMALLOC_OPTIONS : option_of(number);
}

static long value_for(int number, void *caller)
{
    unsigned found = option_for(number, caller);
    return found == MIMALLOC_OPTIONS ? 0 : mimalloc_option(found);
}

/* Text number `which` of an option: 0 its name, 1 its old name, 2 what it does. */
static const char *text_of(unsigned option, unsigned which)
{
    const char *text = texts;
    for (unsigned skip = option * 3 + which; skip > 0; skip--)
        text += strlen(text) + 1;
    return text;
}

static bool exists(unsigned option)
{
    return (mimalloc_release() >= 3 ? rows[option].number3 : rows[option].number2) != NONE;
}

/* The option that a program means by a number; MIMALLOC_OPTIONS: none. */
static unsigned option_of(int number)
{
    unsigned option = 0;
    while (option < MIMALLOC_OPTIONS &&
           (mimalloc_release() >= 3 ? rows[option].number3 : rows[option].number2) != number)
        option++;
    return number < 0 ? (unsigned)MIMALLOC_OPTIONS : option;
}

long mimalloc_option(enum mimalloc_option option)
{
    if (load_acquire(&is_set[option]))
        return load_relaxed(&values[option]);
    const int32_t *both = initial[option];
    return both[0] == both[1] ? both[0] : both[mimalloc_release() >= 3];
}

/* What the option changes of memoir's own. */
static void apply(unsigned option, long value)
{
    switch (option) {
    case MIMALLOC_purge_delay:
        store_relaxed(&config.return_delay_ms, value < 0 ? config_never : (uint64_t)value);
        break;
    case MIMALLOC_use_numa_nodes:
        store_relaxed(&config.numa_nodes, value < 0 || value > INT_MAX ? 0 : (unsigned)value);
        break;
    case MIMALLOC_allow_large_os_pages:
        if (value > 0)
            store_relaxed(&config.thp, CONFIG_THP_ON);
        break;
    case MIMALLOC_disallow_os_alloc:
        regions_only(value != 0);
        break;
    case MIMALLOC_allow_thp:
        if (value == 0)
            store_relaxed(&config.thp, CONFIG_THP_OFF);
        break;
    default:
        break;
    }
}

static void set(unsigned option, long value)
{
    if (option == MIMALLOC_OPTIONS)
        return;
    store_relaxed(&values[option], value);
    store_release(&is_set[option], true);
    /* The later of two limits moves the other. */
    if (option == MIMALLOC_guarded_min && mimalloc_option(MIMALLOC_guarded_max) < value)
        set(MIMALLOC_guarded_max, value);
    if (option == MIMALLOC_guarded_max && mimalloc_option(MIMALLOC_guarded_min) > value)
        set(MIMALLOC_guarded_min, value);
    apply(option, value);
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Whether the text is the word, in letters of either case; `length` of it, or up to its end. */
static bool same(const char *text, size_t length, const char *word)
{
    if (strlen(word) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (lower(text[i]) != lower(word[i]))
            return false;
    return true;
}

static bool one_of(const char *text, const char *const words[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (same(text, strlen(text), words[i]))
            return true;
    return false;
}

/* K, M, G, T, with B or iB behind it: from bytes, or that unit, to KiB. False: none of these. */
static bool scale(const char *suffix, long *value)
{
    static const char units[] = "kmgt";
    const char *unit = *suffix == '\0' ? NULL : strchr(units, lower(*suffix));
    if (unit == NULL) {
        *value = *value / KIB + (*value % KIB != 0);
        return *suffix == '\0';
    }
    for (long up = unit - units; up > 0; up--)
        if (__builtin_mul_overflow(*value, KIB, value))
            *value = LONG_MAX / KIB;
    suffix++;
    suffix += *suffix == 'i' || *suffix == 'I';
    suffix += *suffix == 'b' || *suffix == 'B';
    return *suffix == '\0';
}

/* A value as mimalloc reads it. False if it is none. */
static bool parse(const char *text, enum kind kind, long *value)
{
    static const char *const yes[] = {"", "1", "TRUE", "YES", "ON"};
    static const char *const no[] = {"0", "FALSE", "NO", "OFF"};
    bool is_yes = one_of(text, yes, COUNT_OF(yes));
    if (is_yes || one_of(text, no, COUNT_OF(no))) {
        *value = is_yes;
        return true;
    }
    bool negative = *text == '-';
    const char *start = text += *text == '-' || *text == '+';
    long number = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, *text - '0', &number))
            number = LONG_MAX / 10;
    if (negative)
        number = kind == SIZE ? 0 : -number;
    if (text == start || (kind == SIZE ? !scale(text, &number) : *text != '\0'))
        return false;
    *value = number;
    return true;
}

/* Whether the name is one of the old ones, which have '|' between them. */
static bool is_among(const char *old, const char *name)
{
    for (size_t part; *old != '\0'; old += part + (old[part] == '|')) {
        part = strcspn(old, "|");
        if (strlen(name) == part && memcmp(old, name, part) == 0)
            return true;
    }
    return false;
}

/* One variable, "mimalloc_NAME=VALUE". */
static void read_entry(const char *entry)
{
    static const char prefix[] = "mimalloc_";
    size_t length = text_until(entry, '=');
    if (length <= sizeof prefix - 1 || !same(entry, sizeof prefix - 1, prefix) ||
        entry[length] == '\0')
        return;
    const char *name = entry + sizeof prefix - 1, *value = entry + length + 1;
    length -= sizeof prefix - 1;
    char given[NAME_SIZE] = "";
    for (size_t i = 0; i < length && i < sizeof given - 1; i++)
        given[i] = lower(name[i]);
    bool known = false;
    for (unsigned option = 0; option < MIMALLOC_OPTIONS; option++) {
        bool is_old = is_among(text_of(option, 1), given);
        long number;
        if (!is_old && strcmp(given, text_of(option, 0)) != 0)
            continue;
        known = true;
        if (is_old && load_relaxed(&is_set[option]))
            continue; /* the new name counts */
        if (parse(value, rows[option].kind, &number))
            set(option, number);
        else if (exists(option))
            mimalloc_warning("environment option mimalloc_%s has an invalid value.",
                             text_of(option, 0));
        if (is_old && exists(option))
            mimalloc_warning("environment option \"mimalloc_%s\" is deprecated -- use "
                             "\"mimalloc_%s\" instead.",
                             given, text_of(option, 0));
    }
    if (!known)
        mimalloc_verbose("environment option \"mimalloc_%s\" is not known and has no effect",
                         given);
}

/* Whether the entry is one of the options that say what may be printed. */
static bool about_messages(const char *entry)
{
    static const char *const first[] = {"mimalloc_show_errors", "mimalloc_verbose",
                                        "mimalloc_max_errors", "mimalloc_max_warnings"};
    for (size_t i = 0; i < COUNT_OF(first); i++)
        if (same(entry, text_until(entry, '='), first[i]))
            return true;
    return false;
}

static void guard(void);

/* These come first, since the others may have something to say. */
void mimalloc_init(void)
{
    if (read_already || environ == NULL || os_secure())
        return;
    read_already = true;
    for (int messages = 1; messages >= 0; messages--)
        for (char **entry = environ; *entry != NULL; entry++)
            if (lower((*entry)[0]) == 'm' && lower((*entry)[1]) == 'i' &&
                about_messages(*entry) == (messages != 0))
                read_entry(*entry);
    guard();
}

/* Once, from what the variables say: blocks are guarded from the first one on, or not. */
static void guard(void)
{
    long rate = mimalloc_option(MIMALLOC_guarded_sample_rate);
    long min = mimalloc_option(MIMALLOC_guarded_min), max = mimalloc_option(MIMALLOC_guarded_max);
    if (rate <= 0)
        return;
    config.guard_tight |= mimalloc_option(MIMALLOC_guarded_precise) != 0;
    guarding_ask_counted((uint64_t)rate, min < 0 ? 0 : (size_t)min, max < 0 ? 0 : (size_t)max,
                         (uint64_t)mimalloc_option(MIMALLOC_guarded_sample_seed));
}

void mimalloc_print_options(mimalloc_output *out, void *arg)
{
    char buffer[LINE_SIZE];
    struct print text;
    const char *start = mimalloc_release() >= 3 ? "" : "mimalloc: ";
    int version = mimalloc_version();
    print_start(&text, buffer, sizeof buffer);
    print_format(&text, "%sv%d.%d.%d, release (memoir %s)\n", start, version / 10000,
                 version / 100 % 100, version % 100, MEMOIR_VERSION);
    for (int number = 0; option_of(number) < MIMALLOC_OPTIONS; number++) {
        unsigned option = option_of(number);
        print_format(&text, "%soption '%s': %ld %s\n", start, text_of(option, 0),
                     mimalloc_option(option), rows[option].kind == SIZE ? "KiB" : "");
    }
    print_format(&text, "%sdebug level : 0\n%ssecure level: 0\n%smem tracking: none\n", start,
                 start, start);
    mimalloc_print(&text, out, arg);
}

/* What was asked for and is not done. */
static void print_refused(void)
{
    for (unsigned option = 0; option < MIMALLOC_OPTIONS; option++)
        if (load_relaxed(&is_set[option]) && rows[option].effect != WORKS &&
            values[option] != initial[option][mimalloc_release() >= 3])
            mimalloc_verbose("option '%s' has no effect here: %s", text_of(option, 0),
                             text_of(option, 2));
}

/* What is to be set aside at the start. A failure is a warning. */
static void reserve(void)
{
    long pages = mimalloc_option(MIMALLOC_reserve_huge_os_pages);
    long kib = mimalloc_option(MIMALLOC_reserve_os_memory);
    if ((pages <= 0 && kib <= 0) || foreign_malloc())
        return;
    if (pages > 0)
        mi_reserve_huge_os_pages_at((size_t)pages, -1, (size_t)pages * MS_A_PAGE);
    if (kib > 0)
        mi_reserve_os_memory((size_t)kib * KIB, true, true);
}

void mimalloc_before_main(void)
{
    mimalloc_init();
    reserve();
    if (mimalloc_option(MIMALLOC_verbose) == 0 || foreign_malloc())
        return;
    mimalloc_print_options(NULL, NULL);
    print_refused();
    mimalloc_verbose("process init: %p", (void *)&heap_now);
}

FUNCTION(long, mi_option_get_clamp, (int option, long min, long max))
{
    long value = value_for(option, CALLER);
    return value < min ? min : value > max ? max : value;
}

FUNCTION(size_t, mi_option_get_size, (int option))
{
    unsigned found = option_for(option, CALLER);
    long value = found == MIMALLOC_OPTIONS ? 0 : mimalloc_option(found);
    if (value <= 0)
        return 0;
    return (size_t)value * (rows[found].kind == SIZE ? KIB : 1);
}

FUNCTION(void, mi_option_set, (int option, long value))
{
    set(option_for(option, CALLER), value);
}

/* Only if it is not set. */
static void set_default(unsigned option, long value)
{
    if (option < MIMALLOC_OPTIONS && !load_relaxed(&is_set[option]))
        set(option, value);
}

FUNCTION(void, mi_option_set_default, (int option, long value))
{
    set_default(option_for(option, CALLER), value);
}

FUNCTION(bool, mi_option_is_enabled, (int option))
{
    return value_for(option, CALLER) != 0;
}

FUNCTION(void, mi_option_set_enabled, (int option, bool enable))
{
    set(option_for(option, CALLER), enable);
}

FUNCTION(void, mi_option_set_enabled_default, (int option, bool enable))
{
    set_default(option_for(option, CALLER), enable);
}

FUNCTION(void, mi_option_enable, (int option))
{
    set(option_for(option, CALLER), 1);
}

FUNCTION(void, mi_option_disable, (int option))
{
    set(option_for(option, CALLER), 0);
}

FUNCTION(void, mi_options_print, (void))
{
    mimalloc_print_options(NULL, NULL);
}

FUNCTION(void, mi_options_print_out, (mimalloc_output * out, void *arg))
{
    mimalloc_print_options(out, arg);
}
