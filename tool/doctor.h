/* SPDX-License-Identifier: MIT */
/* What `memoir doctor` finds wrong with a profile, for others that show one. */
#ifndef TOOL_DOCTOR_H
#define TOOL_DOCTOR_H

struct request;

/* A finding, and what to do about it ("": nothing). */
typedef void doctor_found(void *context, const char *text, const char *fix);
void doctor_profile(const struct request *request, doctor_found *found, void *context);

#endif
