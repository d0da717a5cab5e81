/* SPDX-License-Identifier: MIT */
/*
 * See jemalloc_conf.h. jemalloc reads every source twice and complains twice; here each
 * complaint comes once. Its variable has another name in builds with a prefix, JE_MALLOC_CONF: both
 * are read here, and so are both spellings of the symbols.
 */
#include "lib/faces/jemalloc/jemalloc_conf.h"

#include <string.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/api/api.h"

/* If the program defines one of these, its own is found instead; a preloaded library sees it only
 * if the program exports it. */
extern const char *malloc_conf, *je_malloc_conf;
extern const char *malloc_conf_2_conf_harder, *je_malloc_conf_2_conf_harder;
EXPORT const char *malloc_conf __attribute__((weak));
EXPORT const char *je_malloc_conf __attribute__((weak));
EXPORT const char *malloc_conf_2_conf_harder __attribute__((weak));
EXPORT const char *je_malloc_conf_2_conf_harder __attribute__((weak));

enum { LINK_SIZE = 1024, QUOTE_MAX = 256 };

const char *jemalloc_texts[JEMALLOC_SOURCES];
static BULK char link_text[LINK_SIZE];
static bool had_error;

struct pair {
    const char *key, *value;
    size_t key_length, value_length;
};

/* A source and its other spelling, for programs that set both. */
struct source {
    const char *text, *other;
    const char *where;
};

static void text_apply(const char *text);
static void text_look_for_confirm(const char *text);
static void sources_find(struct source sources[JEMALLOC_SOURCES]);
static void source_confirm(unsigned number, const struct source *source, const char *text);

void jemalloc_conf_load(void)
{
    struct source sources[JEMALLOC_SOURCES];
    jemalloc_value_defaults();
    if (os_secure())
        return;
    sources_find(sources);
    for (unsigned i = 0; i < JEMALLOC_SOURCES; i++) {
        text_look_for_confirm(sources[i].text == NULL ? "" : sources[i].text);
        text_look_for_confirm(sources[i].other == NULL ? "" : sources[i].other);
    }
    for (unsigned i = 0; i < JEMALLOC_SOURCES; i++) {
        const struct source *source = &sources[i];
        jemalloc_texts[i] = source->text == NULL ? source->other : source->text;
        if (source->text != NULL || source->other == NULL)
            source_confirm(i, source, source->text);
        if (source->text != NULL)
            text_apply(source->text);
        if (source->other != NULL) {
            source_confirm(i, source, source->other);
            text_apply(source->other);
        }
    }
    if (jemalloc_on(JEMALLOC_abort_conf) && had_error) {
        jemalloc_write("<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).\n");
        os_abort();
    }
    if (jemalloc_on(JEMALLOC_prof_leak_error) && !jemalloc_on(JEMALLOC_prof_final))
        jemalloc_write("<jemalloc>: prof_leak_error is set w/o prof_final.\n");
}

static bool is_key_char(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static void complain(const char *text)
{
    jemalloc_write(text);
    had_error = true;
}

/* The next pair of *text, which moves on. False at the end, or where the rest makes no sense. */
static bool pair_next(const char **text, struct pair *pair, bool quiet)
{
    const char *at = *text;
    pair->key = at;
    while (is_key_char(*at))
        at++;
    if (*at != ':') {
        if (*at == '\0' && at != *text && !quiet)
            complain("<jemalloc>: Conf string ends with key\n");
        else if (*at != '\0' && !quiet)
            complain("<jemalloc>: Malformed conf string\n");
        return false;
    }
    pair->key_length = (size_t)(at - pair->key);
    pair->value = ++at;
    pair->value_length = text_until(at, ',');
    at += pair->value_length;
    if (*at == ',' && *++at == '\0' && !quiet)
        complain("<jemalloc>: Conf string ends with comma\n");
    *text = at;
    return true;
}

static void pair_complain(const char *what, const struct pair *pair)
{
    char buffer[2 * QUOTE_MAX + 64];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "<jemalloc>: %s: ", what);
    print_clean(&line, pair->key, pair->key_length, QUOTE_MAX);
    print_char(&line, ':');
    print_clean(&line, pair->value, pair->value_length, QUOTE_MAX);
    print_char(&line, '\n');
    jemalloc_write(print_string(&line));
}

/* Options of some releases only: an unknown one is reported, but is no reason to abort. */
static bool is_forgiven(const struct pair *pair)
{
    static const char start[] = "experimental_";
    return pair->key_length >= sizeof start - 1 && memcmp(pair->key, start, sizeof start - 1) == 0;
}

static void pair_apply(const struct pair *pair)
{
    unsigned name = 0;
    while (name < JEMALLOC_OPTIONS &&
           (strlen(jemalloc_options[name].name) != pair->key_length ||
            memcmp(jemalloc_options[name].name, pair->key, pair->key_length) != 0))
        name++;
    const char *wrong = "Invalid conf pair";
    if (name < JEMALLOC_OPTIONS)
        wrong = jemalloc_value_parse((enum jemalloc_name)name, pair->value, pair->value_length);
    if (wrong != NULL) {
        pair_complain(wrong, pair);
        had_error = had_error || !is_forgiven(pair);
    } else if (jemalloc_on(JEMALLOC_confirm_conf)) {
        pair_complain("-- Set conf value", pair);
    }
}

static void text_apply(const char *text)
{
    struct pair pair;
    while (pair_next(&text, &pair, false))
        pair_apply(&pair);
}

/* confirm_conf counts for what is read before it, too. */
static void text_look_for_confirm(const char *text)
{
    static const char key[] = "confirm_conf";
    struct pair pair;
    while (pair_next(&text, &pair, true))
        if (pair.key_length == sizeof key - 1 && memcmp(pair.key, key, sizeof key - 1) == 0)
            jemalloc_value_parse(JEMALLOC_confirm_conf, pair.value, pair.value_length);
}

static void sources_find(struct source sources[JEMALLOC_SOURCES])
{
    ssize_t length = os_link("/etc/malloc.conf", link_text, sizeof link_text - 1);
    if (length <= 0)
        length = os_link("/etc/je_malloc.conf", link_text, sizeof link_text - 1);
    if (length > 0)
        link_text[length] = '\0';
    sources[JEMALLOC_BUILTIN] =
        (struct source){NULL, NULL, "string specified via --with-malloc-conf"};
    sources[JEMALLOC_GLOBAL] = (struct source){
        malloc_conf, je_malloc_conf, "string pointed to by the global variable malloc_conf"};
    sources[JEMALLOC_LINK] = (struct source){
        length > 0 ? link_text : NULL, NULL,
        "\"name\" of the file referenced by the symbolic link named /etc/malloc.conf"};
    sources[JEMALLOC_VARIABLE] =
        (struct source){environment_get("MALLOC_CONF"), environment_get("JE_MALLOC_CONF"),
                        "value of the environment variable MALLOC_CONF"};
    sources[JEMALLOC_HARDER] =
        (struct source){malloc_conf_2_conf_harder, je_malloc_conf_2_conf_harder,
                        "string pointed to by the global variable malloc_conf_2_conf_harder"};
}

static void source_confirm(unsigned number, const struct source *source, const char *text)
{
    if (jemalloc_on(JEMALLOC_confirm_conf))
        jemalloc_say("<jemalloc>: malloc_conf #%u (%s): \"%s\"\n", number + 1, source->where,
                     text == NULL ? "" : text);
}
