/* SPDX-License-Identifier: MIT */
/*
 * A profile that may be shown to others: names, files, paths, the command, the host, labels,
 * threads and marks become short hashes. The same text has the same hash in every file, so redacted
 * files can be compared; a reader who guesses a text can check the guess. Numbers, addresses and
 * build ids stay.
 */
#ifndef PROFILE_REDACT_H
#define PROFILE_REDACT_H

#include "tool/profile/model.h"

struct redact_options {
    /* Texts of which it says true stay, names of functions also if it says so of their file.
     * NULL: none. */
    bool (*keep)(void *context, const char *text);
    void *context;
};

struct redact_counts {
    uint64_t functions, kept; /* of the functions */
    uint64_t files, paths, texts;
};

/* Replaces texts in the profile. Nothing can be added to it afterwards. False: no memory. */
bool profile_redact(struct profile *profile, const struct redact_options *options,
                    struct redact_counts *counts);

#endif
