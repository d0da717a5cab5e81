/* SPDX-License-Identifier: MIT */
/*
 * The list that `memoir doctor` makes (verb_doctor.c), and its part about a profile
 * (doctor_profile.c), for others that show one.
 */
#ifndef TOOL_DOCTOR_H
#define TOOL_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "tool/terminal/terminal.h"

struct request;

/* A finding, and what to do about it ("": nothing). */
typedef void doctor_found(void *context, const char *text, const char *fix);

enum mark { MARK_GOOD, MARK_NOTE, MARK_BAD };

struct doctor {
    FILE *out;
    struct output output; /* with --output: where that goes */
    struct json json;
    bool as_json;
    bool plain; /* into a file: no colours, lines as they are */
    unsigned bad, notes;
    doctor_found *found; /* NULL: prints */
    void *context;
};

/* One line of the list; `fix` NULL: there is nothing to do. */
__attribute__((format(printf, 4, 5))) void doctor_say(struct doctor *doctor, enum mark mark,
                                                      const char *fix, const char *format, ...);
/* Adds what there is to say about a profile. */
void doctor_check_profile(struct doctor *doctor, const struct request *request);
/* The same, findings alone, to a function. */
void doctor_profile(const struct request *request, doctor_found *found, void *context);

#endif
