/* SPDX-License-Identifier: MIT */
/*
 * Whose memory is it? Frames of allocators, of what programs wrap around them and of the libraries
 * that all programs use stand between malloc and the code that wanted the memory; what they
 * allocate belongs to their caller. The list is data: blame.def.
 *
 * Cost: a function of a profile is compared with the rows that begin with its first letter.
 */
#include <limits.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/report/view.h"
#include "tool/terminal/terminal.h"

const struct blame_pattern blame_patterns[] = {
#define BLAME(kind, word) {BLAME_##kind, word},
#include "tool/report/blame.def"
#undef BLAME
};
const size_t blame_patterns_count = COUNT_OF(blame_patterns);

const char *blame_kind_name(enum blame_kind kind)
{
    static const char *const names[] = {
        [BLAME_ALLOCATOR] = "allocator", [BLAME_WRAPPER] = "wrapper", [BLAME_FUNCTION] = "function",
        [BLAME_RUST] = "rust",           [BLAME_MODULE] = "module",   [BLAME_SOURCE] = "source",
        [BLAME_HEADER] = "header",
    };
    return names[kind];
}

/* The name of a function without what stands around it. */
struct name {
    const char *start;
    size_t length;
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Behind the return type that names of C++ templates begin with; *end is where arguments do. */
static const char *qualified(const char *name, const char **end)
{
    const char *start = name, *at = name, *next;
    if (begins(name, "decltype")) {
        at += strlen("decltype");
        at = name_skip(name, at + strspn(at, " "));
    }
    for (; *at; at = next) {
        next = name_skip(name, at);
        if (next > at + 1 && begins(at, "operator")) {
            at += strlen(at);
            break;
        }
        if ((*at == '(' && name_opens(name, at)) || (at[0] == ' ' && at[1] == '['))
            break;
        if (*at == ' ')
            start = at + 1;
    }
    *end = at;
    return *start ? start : name;
}

/* Compilers mark parts and copies of a function; linkers, the way to it. */
static const char *clone_cut(const char *start, const char *end)
{
    static const char *const marks[] = {".part.", ".constprop.", ".isra.",     ".cold",
                                        ".llvm.", ".lto_priv.",  ".localalias"};
    for (const char *at = start; at < end; at++) {
        if (*at == '@' && at > start)
            return at;
        for (size_t i = 0; *at == '.' && i < COUNT_OF(marks); i++)
            if (begins(at, marks[i]))
                return at;
    }
    return end;
}

static struct name name_of(const char *function)
{
    const char *end, *start = qualified(function, &end), *last = start;
    end = clone_cut(start, end);
    for (const char *at = start; at < end; at = name_skip(function, at))
        last = at;
    bool arguments = *last == '<' && last > start && name_opens(function, last);
    if (arguments && end[-1] == '>' && strncmp(start, "operator", 8) != 0)
        end = last; /* of a template: without its arguments */
    return (struct name){start, (size_t)(end - start)};
}

static bool word_fits(const char *word, struct name name)
{
    if (word[0] != '*' && word[0] != name.start[0])
        return false;
    size_t length = strlen(word);
    bool open = length > 1 && word[length - 1] == '*';
    if (word[0] != '*')
        return open ? strncmp(word, name.start, length - 1) == 0
                    : length == name.length && memcmp(word, name.start, length) == 0;
    word++;
    length--;
    if (open)
        return memmem(name.start, name.length, word, length - 1) != NULL;
    return length <= name.length && memcmp(name.start + name.length - length, word, length) == 0;
}

/* Whether a path of Rust is in a crate of its library. What has no crate, such as str, [u8] or T,
 * belongs to neither, and does not decide. */
static bool crate_fits(const char *path, size_t length)
{
    static const char *const before[] = {"&", "mut ", "dyn ", "*const ", "*mut ", "[", "(", "<"};
    size_t i = 0;
    while (i < COUNT_OF(before)) {
        size_t skipped = strlen(before[i]);
        bool there = length > skipped && strncmp(path, before[i], skipped) == 0;
        path += there ? skipped : 0;
        length -= there ? skipped : 0;
        i = there ? 0 : i + 1;
    }
    size_t crate = 0;
    while (crate < length && !strchr(":<>[](), ;", path[crate]))
        crate++;
    if (crate + 1 >= length || strncmp(path + crate, "::", 2) != 0)
        return true;
    for (i = 0; i < blame_patterns_count; i++)
        if (blame_patterns[i].kind == BLAME_RUST && strlen(blame_patterns[i].word) == crate &&
            strncmp(blame_patterns[i].word, path, crate) == 0)
            return true;
    return false;
}

/* Code of Rust is the library's if both what it is for and its trait are: <Type as Trait>::f. */
static bool is_rust(const char *name, const char *file)
{
    bool theirs = file[0] == '\0' || strstr(file, "/rustc/") || strstr(file, "library/") ||
                  strstr(file, "hashbrown");
    unsigned depth = 0;
    size_t length = 0, as = 0;
    if (!theirs || (name[0] != '<' && !strstr(name, "::")) || begins(name, "(anonymous"))
        return false;
    if (name[0] != '<')
        return crate_fits(name, strlen(name));
    for (; name[length]; length++) {
        depth += name[length] == '<';
        depth -= name[length] == '>' && name[length - 1] != '-';
        if (depth == 0)
            break;
        if (depth == 1 && as == 0 && begins(name + length, " as "))
            as = length;
    }
    if (as == 0)
        return crate_fits(name + 1, length - 1);
    return crate_fits(name + 1, as - 1) && crate_fits(name + as + 4, length - as - 4);
}

/* Rows that are about names, as lists by the first letter; * is one of its own. A number is that
 * of a row + 1. */
static uint16_t letters[UCHAR_MAX + 1], next_row[COUNT_OF(blame_patterns)];

static bool is_of_names(enum blame_kind kind)
{
    return kind == BLAME_ALLOCATOR || kind == BLAME_WRAPPER || kind == BLAME_FUNCTION;
}

static void letters_fill(void)
{
    static bool filled;
    for (size_t i = 0; i < blame_patterns_count && !filled; i++) {
        unsigned char letter = (unsigned char)blame_patterns[i].word[0];
        if (!is_of_names(blame_patterns[i].kind))
            continue;
        next_row[i] = letters[letter];
        letters[letter] = (uint16_t)(i + 1);
    }
    filled = true;
}

/* A bit for each kind that a name fits. */
static unsigned kinds_of(struct name name)
{
    const unsigned char first[] = {(unsigned char)name.start[0], '*'};
    unsigned kinds = 0;
    letters_fill();
    for (size_t k = 0; k < COUNT_OF(first); k++)
        for (unsigned row = letters[first[k]]; row != 0; row = next_row[row - 1]) {
            const struct blame_pattern *pattern = &blame_patterns[row - 1];
            if (!(kinds & 1u << pattern->kind) && word_fits(pattern->word, name))
                kinds |= 1u << pattern->kind;
        }
    return kinds;
}

bool blame_is_allocator(const char *function)
{
    return kinds_of(name_of(function)) & 1u << BLAME_ALLOCATOR;
}

bool blame_is_wrapper(const char *function)
{
    return kinds_of(name_of(function)) & 1u << BLAME_WRAPPER;
}

bool blame_is_library(const char *function, const char *file, const char *module)
{
    struct name name = name_of(function);
    const char *short_module = name_base(module);
    if (kinds_of(name) != 0)
        return true;
    for (size_t i = 0; i < blame_patterns_count; i++) {
        const char *word = blame_patterns[i].word;
        enum blame_kind kind = blame_patterns[i].kind;
        if ((kind == BLAME_MODULE && begins(short_module, word)) ||
            (kind == BLAME_SOURCE && strstr(file, word)) ||
            (kind == BLAME_HEADER && strcmp(file, word) == 0))
            return true;
    }
    return name.length > 0 && is_rust(name.start, file);
}
