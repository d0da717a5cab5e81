/* SPDX-License-Identifier: MIT */
/* See lib/alloc/fatal.h. */
#include "lib/alloc/fatal.h"

#include <string.h>

#include "base/confine.h"
#include "base/message.h"
#include "base/os.h"
#include "base/print.h"
#include "lib/alloc/large.h"
#include "lib/window/window.h"

enum { LINE = 400 };

static _Noreturn void end(struct print *line);

void fatal_line(const char *text)
{
    char buffer[LINE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line, "memoir: %s", text);
    end(&line);
}

static _Noreturn void end(struct print *line)
{
    print_char(line, '\n');
    store_relaxed(&confine_denied, 0); /* it ends in any case */
    message_flush(line);
    os_abort();
}

void fatal_freed_twice(const void *block, size_t size)
{
    char buffer[LINE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line,
                 "memoir: double free of %p (block of %zu bytes): it is free already; "
                 "run it in a debugger to see the second free",
                 block, size);
    end(&line);
}

void fatal_damaged(const void *block, size_t size, bool exact, const void *byte, const char *call)
{
    char buffer[LINE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(
        &line,
        "memoir: overflow of %p (block of %s%zu bytes): byte %zu was written, found at %s; "
        "run it with memoir run --guard to see the write",
        block, exact ? "" : "at most ", size, (size_t)((const char *)byte - (const char *)block),
        call);
    end(&line);
}

void fatal_written_freed(const void *block, size_t size, size_t byte, const char *call)
{
    char buffer[LINE];
    struct print line;
    print_start(&line, buffer, sizeof buffer);
    print_format(&line,
                 "memoir: write after free of %p (block of %zu bytes): byte %zu was written, found "
                 "at %s; run it with memoir run --guard to see the write",
                 block, size, byte, call);
    end(&line);
}

void fatal_bad_pointer(const void *p, const char *call)
{
    char buffer[LINE];
    struct print line;
    struct span *span = span_find(p);
    print_start(&line, buffer, sizeof buffer);
    if (span != NULL) {
        bool large = span->state == SPAN_LARGE;
        unsigned class = large ? 0 : mark_class(span->mark);
        size_t size = large ? large_size(span) : class_size(class);
        char *block =
            large ? span_start(span) : span_block(span, span_index(span, p, class), class);
        if (block == p && strcmp(call, "free") == 0)
            fatal_freed_twice(p, size);
        if (block == p) {
            print_format(&line,
                         "memoir: %s of %p (block of %zu bytes), which is free already; run it in "
                         "a debugger to see this use of a freed block",
                         call, p, size);
            end(&line);
        }
        print_format(&line,
                     "memoir: %s of %p, which is inside a block: %zu bytes into the block of %zu "
                     "bytes at %p; pass the pointer that malloc returned",
                     call, p, (size_t)((const char *)p - block), size, (void *)block);
    } else if (window_has(p) && load_relaxed(&window.kinds[unit_of(p)]) == MARK_FREE) {
        print_format(&line,
                     "memoir: %s of %p, which was never handed out: it lies in memoir's memory, "
                     "but no block ever began in its page; see in a debugger where it comes from",
                     call, p);
    } else if (window_has(p)) {
        print_format(&line,
                     "memoir: %s of %p (block of a span that is gone), which is free already; "
                     "run it in a debugger to see this use of a freed block",
                     strcmp(call, "free") == 0 ? "double free" : call, p);
    } else {
        print_format(&line,
                     "memoir: %s of %p, which memoir did not allocate: a stack, global or wild "
                     "pointer, or another allocator's; see in a debugger where it comes from",
                     call, p);
    }
    end(&line);
}
