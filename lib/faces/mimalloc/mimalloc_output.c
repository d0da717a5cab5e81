/* SPDX-License-Identifier: MIT */
/*
 * What mimalloc's face prints, and where: to a function that the program has registered, or to
 * standard error. What is printed before a function is registered is kept, up to a limit, and given
 * to the first one that is.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/message.h"
#include "lib/api/api.h"
#include "lib/faces/mimalloc/mimalloc.h"

typedef void error_function(int error, void *arg);

enum { LINE_SIZE = 512, EARLY_SIZE = 8192, PIECE_SIZE = 256 };

static mimalloc_output *output; /* NULL: standard error */
static void *output_arg;
static error_function *error_function_now;
static void *error_arg;
static BULK char early[EARLY_SIZE]; /* printed before a function was registered */
static uint32_t early_used;
static bool early_given;
static uint32_t errors, warnings;

static void early_keep(const char *text, size_t length);

void mimalloc_print(struct print *text, mimalloc_output *out, void *arg)
{
    mimalloc_output *registered = load_acquire(&output);
    if (out != NULL)
        out(print_string(text), arg);
    else if (registered != NULL)
        registered(print_string(text), load_relaxed(&output_arg));
    else {
        early_keep(text->start, print_length(text));
        message_flush(text);
    }
    print_start(text, text->start, (size_t)(text->end - text->start));
}

static void early_keep(const char *text, size_t length)
{
    if (load_relaxed(&early_given))
        return;
    uint32_t at = __atomic_fetch_add(&early_used, (uint32_t)length, __ATOMIC_RELAXED);
    if ((size_t)at + length < EARLY_SIZE)
        memcpy(early + at, text, length);
}

/* As in mimalloc, the argument is stored first: a call in between has the old function. */
FUNCTION(void, mi_register_output, (mimalloc_output * out, void *arg))
{
    store_relaxed(&output_arg, arg);
    store_release(&output, out);
    if (out == NULL || __atomic_exchange_n(&early_given, true, __ATOMIC_ACQ_REL))
        return;
    char piece[PIECE_SIZE];
    size_t used = early_used < EARLY_SIZE ? early_used : 0;
    for (size_t at = 0; at < used;) {
        size_t length = used - at < sizeof piece - 1 ? used - at : sizeof piece - 1;
        memcpy(piece, early + at, length);
        piece[length] = '\0';
        out(piece, arg);
        at += length;
    }
}

FUNCTION(void, mi_register_error, (error_function * fun, void *arg))
{
    store_relaxed(&error_arg, arg);
    store_release(&error_function_now, fun);
}

static void tell(const char *kind, const char *format, va_list list)
{
    char buffer[LINE_SIZE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "mimalloc: %s", kind);
    print_list(&line, format, list);
    print_char(&line, '\n');
    mimalloc_print(&line, NULL, NULL);
}

/* Whether another message of a kind may be printed: `max` is its option. */
static bool may_tell(uint32_t *count, enum mimalloc_option max, bool always)
{
    if (!always && mimalloc_option(MIMALLOC_show_errors) == 0 &&
        mimalloc_option(MIMALLOC_verbose) == 0)
        return false;
    long limit = mimalloc_option(max);
    return limit < 0 || __atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < (unsigned long)limit;
}

void mimalloc_warning(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (may_tell(&warnings, MIMALLOC_max_warnings, false))
        tell("warning: ", format, list);
    va_end(list);
}

void mimalloc_verbose(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (mimalloc_option(MIMALLOC_verbose) != 0)
        tell("", format, list);
    va_end(list);
}

static void call_error_function(int error)
{
    error_function *fun = load_acquire(&error_function_now);
    if (fun != NULL)
        fun(error, load_relaxed(&error_arg));
}

void mimalloc_error(int error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (may_tell(&errors, MIMALLOC_max_errors, false))
        tell("error: ", format, list);
    va_end(list);
    call_error_function(error);
}

void mimalloc_misuse(int error, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (may_tell(&errors, MIMALLOC_max_errors, true))
        tell("error: ", format, list);
    va_end(list);
    call_error_function(error);
}
