/* SPDX-License-Identifier: MIT */
/*
 * See lib/faces/variables.h. Cost if nothing is set: compares four letters of each environment
 * variable, and the whole name only if they match.
 */
#include "lib/faces/variables.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "base/words.h"
#include "lib/api/api.h"

enum status { SERVED, HINT, UNSERVED };
enum when { SET, ON, PERTURB };
enum { ANY_CASE_glibc = 0, ANY_CASE_gperftools = 0, ANY_CASE_jemalloc = 0, ANY_CASE_mimalloc = 1 };
enum { LINE_SIZE = 1024, NAME_MAX_SHOWN = 64, NAMES_MAX = 8, TOLD_SIZE = 512 };

/* The table in three parts without pointers, so that the loader has nothing to relocate. */
struct row {
    uint8_t status, when;
    bool any_case;
};
#define VARIABLE(of, name, status, when, text) {status, when, ANY_CASE_##of},
static const struct row rows[] = {
#include "lib/faces/variables.def"
};
#undef VARIABLE
#define VARIABLE(of, name, status, when, text) name "\0"
static const char names[] = {
#include "lib/faces/variables.def"
};
#undef VARIABLE
#define VARIABLE(of, name, status, when, text) text "\0"
static const BULK_CONSTANT char texts[] = {
#include "lib/faces/variables.def"
};
#undef VARIABLE

/* The first letters of all UNSERVED names. Most environment variables begin with others. */
enum { START = 4 };
static const char starts[][START + 1] = {"CPUP", "GLIB", "HEAP", "MALL", "MIMA", "TCMA"};
static const char told_name[] = "MEMOIR_TOLD=";
static BULK char told[TOLD_SIZE]; /* "MEMOIR_TOLD=word,word"; empty: no new word */

static bool starts_well(const char *name);
static char upper(char c);
static size_t row_find(const char *name, size_t length);
static bool row_fits(const struct row *row, const char *wanted, const char *name, size_t length);
static bool asks(const struct row *row, const char *value);
static bool perturbs(const char *tunables);
static bool is_off(const char *value);
static void row_tell(size_t row);
static unsigned print_names(struct print *line, size_t row);
static const char *text_of(size_t row);

void variables_tell(void)
{
    uint64_t wanted[(COUNT_OF(rows) + 63) / 64] = {0};
    bool any = false;
    if (os_secure() || environ == NULL)
        return;
    for (char **entry = environ; *entry != NULL; entry++) {
        if (!starts_well(*entry))
            continue;
        size_t length = text_until(*entry, '='), row = row_find(*entry, length);
        if ((*entry)[length] == '\0' || row == COUNT_OF(rows) || rows[row].status != UNSERVED ||
            !asks(&rows[row], *entry + length + 1) || told_before(*entry, length))
            continue;
        wanted[row / 64] |= (uint64_t)1 << row % 64;
        any = true;
    }
    if (!any || foreign_malloc())
        return;
    for (size_t row = 0; row < COUNT_OF(rows); row++)
        if ((wanted[row / 64] >> row % 64 & 1) != 0)
            row_tell(row);
}

static bool starts_well(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        size_t at = 0;
        while (at < START && upper(name[at]) == starts[i][at])
            at++;
        if (at == START)
            return true;
    }
    return false;
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* The row of a variable; COUNT_OF(rows) if there is none. */
static size_t row_find(const char *name, size_t length)
{
    const char *wanted = names;
    size_t i = 0;
    for (; i < COUNT_OF(rows) && !row_fits(&rows[i], wanted, name, length); i++)
        wanted += strlen(wanted) + 1;
    return i;
}

static bool row_fits(const struct row *row, const char *wanted, const char *name, size_t length)
{
    size_t i = 0;
    for (; i < length && wanted[i] != '\0' && wanted[i] != '*'; i++)
        if (name[i] != wanted[i] && !(row->any_case && upper(name[i]) == wanted[i]))
            return false;
    return wanted[i] == '*' || (i == length && wanted[i] == '\0');
}

static bool asks(const struct row *row, const char *value)
{
    if (row->when == PERTURB)
        return perturbs(value);
    return row->when == SET ? value[0] != '\0' : !is_off(value);
}

static bool perturbs(const char *tunables)
{
    static const char key[] = "glibc.malloc.perturb=";
    for (const char *at = tunables; *at != '\0'; at += *at == ':') {
        if (strncmp(at, key, sizeof key - 1) == 0 && !is_off(at + sizeof key - 1))
            return true;
        at += text_until(at, ':');
    }
    return false;
}

/* A value that turns the variable off; one of GLIBC_TUNABLES ends at a colon. */
static bool is_off(const char *value)
{
    char first = upper(value[0]);
    if (first == '0') {
        while (*value == '0')
            value++;
        return *value == '\0' || *value == ':';
    }
    return first == 'F' || first == 'N' || (first == 'O' && upper(value[1]) == 'F');
}

static void row_tell(size_t row)
{
    char buffer[LINE_SIZE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_text(&line, "memoir: ");
    if (print_names(&line, row) == 0)
        return;
    print_format(&line, ": not served: %s\n", text_of(row));
    message_flush(&line);
}

/* Prints the names of one row that are set and were not told before; returns their number. */
static unsigned print_names(struct print *line, size_t row)
{
    unsigned count = 0;
    for (char **entry = environ; *entry != NULL; entry++) {
        size_t length = text_until(*entry, '=');
        if (!starts_well(*entry) || (*entry)[length] == '\0' || row_find(*entry, length) != row ||
            !asks(&rows[row], *entry + length + 1) || told_before(*entry, length))
            continue;
        told_add(*entry, length);
        if (count++ >= NAMES_MAX)
            continue;
        print_text(line, count == 1 ? "" : ", ");
        print_clean(line, *entry, length, NAME_MAX_SHOWN);
    }
    if (count > NAMES_MAX)
        print_format(line, " and %u more", count - NAMES_MAX);
    return count;
}

static const char *text_of(size_t row)
{
    const char *text = texts;
    while (row-- > 0)
        text += strlen(text) + 1;
    return text;
}

/* Whether a list with commas contains the word. */
static bool list_has(const char *list, const char *word, size_t length)
{
    while (*list != '\0') {
        size_t here = text_until(list, ',');
        if (here == length && memcmp(list, word, length) == 0)
            return true;
        list += here + (list[here] == ',');
    }
    return false;
}

bool told_before(const char *word, size_t length)
{
    const char *list = environment_get("MEMOIR_TOLD");
    return list != NULL && list_has(list, word, length);
}

/* If the word does not fit, the next program prints its line again. */
void told_add(const char *word, size_t length)
{
    const char *before = environment_get("MEMOIR_TOLD");
    size_t used = strlen(told);
    if (used == 0) {
        size_t old = before == NULL ? 0 : strlen(before);
        if (sizeof told_name + old >= sizeof told)
            return;
        memcpy(told, told_name, sizeof told_name);
        memcpy(told + sizeof told_name - 1, before == NULL ? "" : before, old + 1);
        used = strlen(told);
    }
    if (used + 1 + length >= sizeof told)
        return;
    if (used >= sizeof told_name)
        told[used++] = ',';
    memcpy(told + used, word, length);
    told[used + length] = '\0';
}

void told_publish(void)
{
    if (told[0] != '\0')
        environment_add(told);
}
