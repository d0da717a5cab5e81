/* SPDX-License-Identifier: MIT */
/* See tool/profile/read.h. */
#include "tool/profile/read.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/compiler.h"

#define X(name) &reader_##name,
static const struct reader *const readers[] = {READERS(X)};
#undef X

bool read_refuse(struct read_error *error, uint64_t offset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    error->offset = offset;
    return false;
}

bool profile_read(struct profile *profile, const struct read_input *input, struct read_error *error)
{
    for (size_t i = 0; i < COUNT_OF(readers); i++)
        if (readers[i]->is(input)) {
            profile->format = readers[i]->name;
            return readers[i]->read(input, profile, error);
        }
    return read_refuse(error, 0, "no known format");
}
