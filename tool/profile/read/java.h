/* SPDX-License-Identifier: MIT */
/* What Java's profiles say of their addresses, which are numbers of the file only. */
#ifndef PROFILE_READ_JAVA_H
#define PROFILE_READ_JAVA_H

#include "tool/profile/parse/parse.h"

/* Collects the lines "0x00000001 Main.run (Main.java:12)" of a text as locations by address; other
 * lines are passed over. False when memory is out, or an address has two names. */
bool java_names(struct profile *profile, struct text text, struct ids *names,
                struct read_error *error);
/* The location of an address, with a name or without. */
uint32_t java_location(struct profile *profile, const struct ids *names, uint64_t address);

#endif
