/* SPDX-License-Identifier: MIT */
/*
 * See mallctl.h. A "mib" is a name that was looked up before: its first element is the row,
 * elements at the place of a number are that number, which callers change between calls, and all
 * others repeat the row.
 */
#include "lib/faces/jemalloc/mallctl.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/lock.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/faces/jemalloc/jemalloc.h"
#include "lib/faces/jemalloc/jemalloc_conf.h"

int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length);
int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length, void *new,
                 size_t new_length);
int je_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length);
int je_mallctlnametomib(const char *name, size_t *mib, size_t *mib_length);
int je_mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length, void *new,
                    size_t new_length);

#define FIGURE(field)                   offsetof(struct figures, field)
#define NODE(name, serve, number, text) {name, serve_##serve, number, text},
static const struct node nodes[] = {
#include "lib/faces/jemalloc/mallctl.def"
};
#undef NODE

enum { ROWS = COUNT_OF(nodes) };

static const char option_start[] = "opt.";

static bool is_number(char c);
static size_t row_find(const char *name, size_t numbers[MALLCTL_NUMBERS], bool begin);
static int row_serve(size_t row, const struct request *request);
static bool can_answer(void);

int mallctl_call(const char *name, void *old, size_t *old_length, void *new, size_t new_length)
{
    if (!can_answer())
        return EAGAIN;
    struct request request = {old, old_length, new, new_length, {0}};
    size_t row = row_find(name, request.numbers, false);
    return row == SIZE_MAX ? ENOENT : row_serve(row, &request);
}

EXPORT int mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length)
{
    int before = errno;
    int result = mallctl_call(name, old, old_length, new, new_length);
    errno = before;
    return result;
}

EXPORT int mallctlnametomib(const char *name, size_t *mib, size_t *mib_length)
{
    if (!can_answer())
        return EAGAIN;
    size_t numbers[MALLCTL_NUMBERS] = {0};
    size_t row = row_find(name, numbers, true), wanted = 1;
    if (row == SIZE_MAX)
        return ENOENT;
    for (const char *dot = name; (dot = strchr(dot, '.')) != NULL; dot++)
        wanted++;
    const char *at = row < ROWS ? nodes[row].name : "opt.?";
    size_t parts = 0, used = 0;
    for (; at != NULL && parts < *mib_length && parts < wanted; parts++) {
        mib[parts] = is_number(*at) ? numbers[used++] : row;
        at = strchr(at, '.');
        at = at == NULL ? NULL : at + 1;
    }
    *mib_length = parts;
    return 0;
}

/* Row numbers beyond those of the table are options. */
static struct node option_node(size_t row)
{
    return (struct node){"opt.?", serve_option, row - ROWS, NULL};
}

/* The number at *name, or the index of its word in `words` if there are any; SIZE_MAX if there is
 * none. Moves *name behind it. */
static size_t name_number(const char **name, const char *words)
{
    const char *start = *name;
    size_t number = 0, length = strcspn(start, ".");
    *name += length;
    for (; words != NULL; number++) {
        if (strcspn(words, "|") == length && memcmp(words, start, length) == 0)
            return number;
        words = strchr(words, '|');
        words = words == NULL ? NULL : words + 1;
        if (words == NULL)
            return SIZE_MAX;
    }
    for (const char *at = start; at < start + length; at++) {
        if (*at < '0' || *at > '9' || length > 10)
            return SIZE_MAX;
        number = number * 10 + (size_t)(*at - '0');
    }
    return length == 0 ? SIZE_MAX : number;
}

static bool is_number(char c)
{
    return c == '#' || c == '@';
}

/* Whether the name fits the row, or the row's first words if `begin`; and its numbers. If not,
 * *differs is the position in the row. */
static bool name_matches(const struct node *node, const char *name, size_t numbers[MALLCTL_NUMBERS],
                         bool begin, size_t *differs)
{
    unsigned count = 0;
    const char *pattern = node->name;
    for (; *pattern != '\0'; pattern++) {
        *differs = (size_t)(pattern - node->name);
        if (!is_number(*pattern)) {
            if (begin && *name == '\0' && *pattern == '.')
                return true;
            if (*name++ != *pattern)
                return false;
            continue;
        }
        numbers[count] = name_number(&name, *pattern == '@' ? node->text : NULL);
        if (numbers[count++] == SIZE_MAX)
            return false;
    }
    *differs = (size_t)(pattern - node->name);
    return *name == '\0';
}

/* Where the row of a name is remembered, which programs ask for again and again. A name that shares
 * its place with another one is looked for in all rows. */
static uint16_t *row_place(const char *name)
{
    enum { PLACES = 64 };                /* of two bytes; programs ask for a dozen names */
    static BULK uint16_t places[PLACES]; /* row + 1 */
    uint32_t hash = 0;
    for (; *name != '\0'; name++)
        hash = hash * 31 + (unsigned char)*name;
    return &places[(hash ^ hash >> 16) % PLACES];
}

/* The row of the name, or if `begin` one that begins so; or SIZE_MAX. */
static size_t row_find(const char *name, size_t numbers[MALLCTL_NUMBERS], bool begin)
{
    enum { LONG = 8 }; /* beyond this length comparing two rows is faster than the name with both */
    const struct node *other = NULL;
    size_t differs = 0;
    uint16_t *place = row_place(name);
    unsigned known = load_relaxed(place);
    if (known > 0 && !begin && name_matches(&nodes[known - 1], name, numbers, false, &differs))
        return known - 1;
    for (size_t row = 0; row < ROWS; row++) {
        const struct node *node = &nodes[row];
        if (other != NULL && differs > LONG && node->text == other->text &&
            strncmp(node->name, other->name, differs + 1) == 0)
            continue; /* it begins like a row that did not match */
        if (name_matches(node, name, numbers, begin, &differs)) {
            if (!begin)
                store_relaxed(place, (uint16_t)(row + 1));
            return row;
        }
        other = node;
    }
    size_t start = sizeof option_start - 1;
    if (strncmp(name, option_start, start) == 0)
        for (size_t i = 0; i < JEMALLOC_OPTIONS; i++)
            if (jemalloc_options[i].shown && strcmp(jemalloc_options[i].name, name + start) == 0)
                return ROWS + i;
    return SIZE_MAX;
}

static int row_serve(size_t row, const struct request *request)
{
    if (row < ROWS)
        return nodes[row].serve(request, &nodes[row]);
    struct node option = option_node(row);
    return option.serve(request, &option);
}

/* Without an answer: a program whose allocator is not up, and a signal handler that interrupted it.
 */
static bool can_answer(void)
{
    return lock_held == 0 && init_done();
}

static int bymib(const size_t *mib, size_t mib_length, struct request *request)
{
    if (mib_length == 0 || mib[0] >= ROWS + JEMALLOC_OPTIONS)
        return ENOENT;
    const char *at = mib[0] < ROWS ? nodes[mib[0]].name : "opt.?";
    size_t parts = 0, used = 0;
    for (; at != NULL && parts < mib_length; parts++) {
        if (is_number(*at))
            request->numbers[used++] = mib[parts];
        at = strchr(at, '.');
        at = at == NULL ? NULL : at + 1;
    }
    if (at != NULL || parts != mib_length)
        return ENOENT;
    return row_serve(mib[0], request);
}

EXPORT int mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length,
                        void *new, size_t new_length)
{
    if (!can_answer())
        return EAGAIN;
    int before = errno;
    struct request request = {old, old_length, new, new_length, {0}};
    int result = bymib(mib, mib_length, &request);
    errno = before;
    return result;
}

EXPORT int je_mallctl(const char *name, void *old, size_t *old_length, void *new, size_t new_length)
    __attribute__((alias("mallctl")));
EXPORT int je_mallctlnametomib(const char *name, size_t *mib, size_t *mib_length)
    __attribute__((alias("mallctlnametomib")));
EXPORT int je_mallctlbymib(const size_t *mib, size_t mib_length, void *old, size_t *old_length,
                           void *new, size_t new_length) __attribute__((alias("mallctlbymib")));

static bool wants_old(const struct request *request)
{
    return request->old != NULL && request->old_length != NULL;
}

static bool has_new(const struct request *request)
{
    return request->new != NULL || request->new_length != 0;
}

int request_read_only(const struct request *request)
{
    return has_new(request) ? EPERM : 0;
}

int request_write_only(const struct request *request)
{
    return request->old != NULL || request->old_length != NULL ? EPERM : 0;
}

int request_read_or_write(const struct request *request)
{
    return wants_old(request) && has_new(request) ? EPERM : 0;
}

int request_nothing(const struct request *request)
{
    return request->old != NULL || request->old_length != NULL || has_new(request) ? EPERM : 0;
}

int request_give(const struct request *request, const void *value, size_t size)
{
    if (!wants_old(request))
        return 0;
    size_t fits = size <= *request->old_length ? size : *request->old_length;
    bool same = size == *request->old_length;
    memcpy(request->old, value, fits);
    *request->old_length = fits;
    return same ? 0 : EINVAL;
}

int request_take(const struct request *request, void *value, size_t size, bool *came)
{
    *came = request->new != NULL;
    if (!*came)
        return 0;
    if (request->new_length != size) {
        *came = false;
        return EINVAL;
    }
    memcpy(value, request->new, size);
    return 0;
}
