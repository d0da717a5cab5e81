/* SPDX-License-Identifier: MIT */
/*
 * Files from debuginfod, by build id. Only when the user asked for it: the servers, which are those
 * of $DEBUGINFOD_URLS, learn which builds one has. libdebuginfod is opened when it is needed. A
 * server that does not answer within $DEBUGINFOD_TIMEOUT, 30 seconds, is not asked again.
 */
#ifndef SYMBOL_DEBUGINFOD_H
#define SYMBOL_DEBUGINFOD_H

#include "tool/symbol/module.h"

/* Before the first and after the last fetch_file, on the caller's thread: in between the first
 * Ctrl-C leaves out what is being fetched and all that would be, the second ends the command. */
void fetch_start(void);
enum symbol_fetch fetch_end(void);
/* `debug`: the debug information, otherwise the file itself. From any thread. */
bool fetch_file(struct module *module, const char *build_id, bool debug, char *path, size_t size);

#endif
