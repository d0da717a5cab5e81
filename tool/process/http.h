/* SPDX-License-Identifier: MIT */
/*
 * Profiles and names from a server that speaks pprof's protocol: /debug/pprof/... or the older
 * /pprof/... Through libcurl, which is opened when it is first needed.
 */
#ifndef PROCESS_HTTP_H
#define PROCESS_HTTP_H

#include <stdio.h>

#include "tool/profile/profile.h"
#include "tool/terminal/terminal.h"

struct http_options {
    unsigned seconds;       /* how long the server should record; 0: its default */
    unsigned timeout;       /* seconds that all of it may take; 0: as long as something comes */
    const char *cert, *key; /* files: our certificate and its key; NULL: none */
    const char *authority;  /* file: the authority to trust; NULL: the system's */
};

/* http://host:port, host:port/path, ... into the file. Without a path: its heap. A server of
 * https+insecure:// is not identified. */
bool http_profile(const char *url, const struct http_options *options, FILE *file,
                  struct error *error);
/* Asks the server for names of addresses that have none yet. Best effort; how many it knew. */
size_t http_names(const char *url, const struct http_options *options, struct profile *profile);

#endif
