/* SPDX-License-Identifier: MIT */
#include "tool/profile/read.h"

static bool is(const struct read_input *input)
{
    (void)input;
    return false;
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    (void)input;
    (void)profile;
    return read_refuse(error, 0, "not read yet");
}

const struct reader reader_contention = {"contention", is, read};
