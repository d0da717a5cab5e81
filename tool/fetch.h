/* SPDX-License-Identifier: MIT */
/*
 * Profiles and names from a server that speaks pprof's protocol: /debug/pprof/... or the older
 * /pprof/... Through libcurl, which is opened when it is first needed.
 */
#ifndef TOOL_FETCH_H
#define TOOL_FETCH_H

#include "tool/error.h"
#include "tool/profile/profile.h"

#include <stdio.h>

/* http://host:port, host:port/path, ... into the file. Without a path: its heap. `seconds`, if not
 * 0, is how long the server should record. */
bool fetch_profile(const char *url, unsigned seconds, FILE *file, struct error *error);
/* Asks the server for names of addresses that have none yet. Best effort; how many it knew. */
size_t fetch_names(const char *url, struct profile *profile);

#endif
