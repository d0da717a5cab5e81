/* SPDX-License-Identifier: MIT */
/* See tool/terminal/name.h. A name is read token by token; what is open is kept on a stack. A
 * closing bracket may end a < that was no bracket, which then goes with it. */
#include "tool/terminal/name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* Each depth that is emptied is a pass over the name: 12 at most. */
enum { DEPTH_MAX = 512, EMPTIED_DEPTH_MAX = 12 };
enum token { TOKEN_TEXT, TOKEN_OPEN, TOKEN_CLOSE };

struct brackets {
    unsigned depth;
    unsigned deeper; /* open ones that have no place below */
    char open[DEPTH_MAX];
};

const char *name_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] != '\0' ? slash + 1 : path;
}

bool name_ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), of = strlen(ending);
    return length > of && strcmp(text + length - of, ending) == 0;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Bytes of an operator's name at `at`, the word included; 0 if there is none. Longer ones first. */
static size_t operator_length(const char *name, const char *at)
{
    static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>",
                                          "<=", ">=", "->",  "<",   ">",   "/=",  "/"};
    if (!begins(at, "operator") || is_word(at[8]) || (at > name && is_word(at[-1])))
        return 0;
    for (size_t i = 0; i < COUNT_OF(symbols); i++)
        if (begins(at + 8, symbols[i]))
            return 8 + strlen(symbols[i]);
    return 8;
}

/* Bytes of a bracket that is a name: (anonymous namespace), (lambda at file.cc:1:2), (*Type) of Go,
 * decltype(auto); 0 for any other bracket. */
static size_t named_length(const char *name, const char *at)
{
    static const char *const names[] = {"(anonymous", "(unnamed", "(lambda at ", "(auto)"};
    bool named = at > name && at[-1] == '.' && begins(at, "(*");
    for (size_t i = 0; i < COUNT_OF(names) && !named; i++)
        named = begins(at, names[i]);
    const char *end = named ? strchr(at, ')') : NULL;
    return end ? (size_t)(end - at) + 1 : 0;
}

/* 'x' and '\n', but no lifetime of Rust. */
static size_t literal_length(const char *at)
{
    if (at[1] == '\\' && at[2] != '\0' && at[3] == '\'')
        return 4;
    return at[1] != '\0' && at[1] != '\'' && at[2] == '\'' ? 3 : 0;
}

static enum token angle(const char *name, const char *at, size_t *length)
{
    bool called = at - name >= 10 && begins(at - 10, "operator()"); /* operator()<int> */
    if (*at == '<' && at > name && at[-1] == ')' && !called) { /* (a)<(b), (a)<<(b), (a)<=(b) */
        *length = strspn(at, "<=");
        return TOKEN_TEXT;
    }
    return *at == '<' ? TOKEN_OPEN : TOKEN_CLOSE;
}

static enum token token_at(const char *name, const char *at, size_t *length)
{
    size_t more = 0;
    *length = 1;
    if (*at == 'o')
        more = operator_length(name, at);
    else if (*at == '(')
        more = named_length(name, at);
    else if (*at == '\'')
        more = literal_length(at);
    else if (at[0] == '-' && at[1] == '>')
        more = 2;
    if (more > 0) {
        *length = more;
        return TOKEN_TEXT;
    }
    if (*at == '<' || *at == '>')
        return angle(name, at, length);
    return *at == '(' || *at == '[' || *at == '{'   ? TOKEN_OPEN
           : *at == ')' || *at == ']' || *at == '}' ? TOKEN_CLOSE
                                                    : TOKEN_TEXT;
}

/* Takes a closing bracket in. False: it ends nothing. */
static bool brackets_close(struct brackets *brackets, char close)
{
    char wanted = close == ')' ? '(' : close == ']' ? '[' : close == '}' ? '{' : '<';
    unsigned at = brackets->depth;
    if (brackets->deeper > 0) {
        brackets->deeper--;
        return true;
    }
    while (at > 0 && brackets->open[at - 1] != wanted) {
        if (wanted == '<' || brackets->open[at - 1] != '<')
            return false;
        at--;
    }
    if (at > 0)
        brackets->depth = at - 1;
    return at > 0;
}

static void brackets_open(struct brackets *brackets, char open)
{
    if (brackets->depth < DEPTH_MAX)
        brackets->open[brackets->depth++] = open;
    else
        brackets->deeper++;
}

/* The bracket that closes the one at `open`; NULL: none, or it is no bracket. */
static const char *closing(const char *name, const char *open)
{
    struct brackets brackets = {.depth = 0};
    size_t length;
    for (const char *at = open; *at; at += length) {
        enum token token = token_at(name, at, &length);
        if (token == TOKEN_OPEN)
            brackets_open(&brackets, *at);
        else if (token == TOKEN_CLOSE && brackets_close(&brackets, *at) && brackets.depth == 0)
            return at;
        if (brackets.depth == 0)
            return NULL;
    }
    return NULL;
}

bool name_opens(const char *name, const char *at)
{
    size_t length;
    return token_at(name, at, &length) == TOKEN_OPEN;
}

const char *name_skip(const char *name, const char *at)
{
    size_t length;
    if (token_at(name, at, &length) != TOKEN_OPEN)
        return at + length;
    const char *end = closing(name, at);
    return end ? end + 1 : at + strlen(at);
}

const char *name_scope(const char *name)
{
    for (const char *at = name; *at; at = name_skip(name, at)) {
        if (at[0] == ':' && at[1] == ':' && at[2] != '\0')
            return at + 2;
        if (at[0] == '/' && at[1] != '\0')
            return at + 1;
        if (operator_length(name, at) == 8) /* operator Type */
            return NULL;
    }
    return NULL;
}

static bool is_counted(char open)
{
    return open == '<' || open == '(';
}

/* How many brackets of < and ( a name has inside of each other. */
static unsigned depth_of(const char *text)
{
    struct brackets brackets = {.depth = 0};
    unsigned max = 0;
    size_t length;
    for (const char *at = text; *at; at += length) {
        enum token token = token_at(text, at, &length);
        if (token == TOKEN_CLOSE)
            brackets_close(&brackets, *at);
        if (token != TOKEN_OPEN)
            continue;
        brackets_open(&brackets, *at);
        unsigned depth = 0;
        for (unsigned i = 0; i < brackets.depth && depth <= EMPTIED_DEPTH_MAX; i++)
            depth += is_counted(brackets.open[i]);
        max = depth > max ? depth : max;
    }
    return max;
}

/* Empties the brackets at one depth, of those that `which` names: Parser::parse<...>(...). */
static void name_empty(char *text, unsigned depth, const char *which, const char *dots)
{
    enum { WORTH = 4 }; /* bytes inside */
    struct brackets brackets = {.depth = 0};
    unsigned counted = 0;
    char *to = text, *name = strdup(text); /* tokens depend on what is before them */
    size_t length;
    for (const char *at = name; at && *at; at += length) {
        enum token token = token_at(name, at, &length);
        const char *end = NULL;
        if (token == TOKEN_OPEN && counted + 1 == depth && strchr(which, *at))
            end = closing(name, at);
        if (end && end - at > WORTH) {
            size_t dots_length = strlen(dots);
            *to++ = *at;
            memcpy(to, dots, dots_length);
            to += dots_length;
            *to++ = *end;
            length = (size_t)(end - at) + 1;
            continue;
        }
        if (token == TOKEN_OPEN) {
            brackets_open(&brackets, *at);
            counted += is_counted(*at);
        } else if (token == TOKEN_CLOSE && brackets_close(&brackets, *at)) {
            counted = 0;
            for (unsigned i = 0; i < brackets.depth; i++)
                counted += is_counted(brackets.open[i]);
        }
        memcpy(to, at, length);
        to += length;
    }
    if (name)
        *to = '\0';
    free(name);
}

/* <Type as Trait>::f and <Type>::f of Rust become Type::f. */
static void name_untrait(char *text)
{
    char *start = text + (*text == '~');
    const char *end = *start == '<' ? closing(text, start) : NULL;
    if (!end || !begins(end + 1, "::"))
        return;
    const char *at = start + 1;
    while (at < end && !begins(at, " as "))
        at = name_skip(text, at);
    size_t length = (size_t)(at - start - 1);
    memmove(start, start + 1, length);
    memmove(start + length, end + 1, strlen(end + 1) + 1);
}

/* Takes a part that tells nothing out, as often as it is there. */
static void name_drop(char *text, const char *part)
{
    size_t length = strlen(part);
    char *to = text;
    for (const char *at = text; *at;) {
        if (strncmp(at, part, length) == 0)
            at += length;
        else
            *to++ = *at++;
    }
    *to = '\0';
}

void name_shorten(char *text, unsigned width, unsigned (*columns)(const char *text),
                  const char *dots)
{
    if (columns(text) <= width)
        return;
    name_untrait(text);
    if (columns(text) > width)
        name_drop(text, "(anonymous namespace)::");
    unsigned depth = columns(text) > width ? depth_of(text) : 0;
    for (depth = depth < EMPTIED_DEPTH_MAX ? depth : EMPTIED_DEPTH_MAX; depth > 1; depth--)
        if (columns(text) > width)
            name_empty(text, depth, "(<", dots);
    if (columns(text) > width)
        name_empty(text, 1, "(", dots);
    if (columns(text) > width)
        name_empty(text, 1, "<", dots);
}

void name_behead(char *text, unsigned width, unsigned (*columns)(const char *text),
                 const char *dots)
{
    enum { BYTES_MAX = 8 }; /* of a column: what has more is too wide, and need not be counted */
    const char *rest = text, *end = text + strlen(text), *next;
    unsigned mark = columns(dots);
    while (((size_t)(end - rest) > (size_t)BYTES_MAX * (width + 1) ||
            columns(rest) + (rest > text ? mark : 0) > width) &&
           (next = name_scope(rest)) != NULL)
        rest = next;
    size_t length = columns(rest) + mark <= width ? strlen(dots) : 0;
    if (rest == text || (size_t)(rest - text) < length)
        return;
    memmove(text + length, rest, (size_t)(end - rest) + 1);
    memcpy(text, dots, length); /* NOLINT(bugprone-not-null-terminated-result) */
}
