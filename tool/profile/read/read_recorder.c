/* SPDX-License-Identifier: MIT */
/*
 * Recorder files: what a process knew at its last moment (docs/FORMATS.md). The file is made into
 * the capture that the process would have written then, and that is read.
 */
#include <stdlib.h>

#include "tool/profile/capture/capture.h"
#include "tool/profile/profile.h"
#include "tool/profile/read/read.h"

static bool is(const struct read_input *input)
{
    return recorder_is(input->bytes, input->size);
}

static bool read(const struct read_input *input, struct profile *profile, struct read_error *error)
{
    struct read_input capture = {.name = input->name, .options = input->options};
    struct recorder_about about;
    const char *reason;
    if (!recorder_describe(input->bytes, input->size, &about, &reason))
        return read_refuse(error, 0, "%s", reason);
    char *bytes = recorder_capture(input->bytes, input->size, NULL, 0, &capture.size, &reason);
    if (bytes == NULL)
        return read_refuse(error, 0, "%s", reason);
    capture.bytes = bytes;
    bool done = reader_capture.read(&capture, profile, error);
    free(bytes);
    if (done && about.full)
        profile_warn(profile, "the recorder file was full: later stacks are missing");
    return done;
}

const struct reader reader_recorder = {
    .name = "memoir recorder", .is = is, .read = read, .traits = TRAIT_CAPTURE | TRAIT_MOMENTS};
