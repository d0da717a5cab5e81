/* SPDX-License-Identifier: MIT */
/* A report of the library about a guarded block (lib/guard/report.h), with names and lines. */
#ifndef RECORD_GUARD_REPORT_H
#define RECORD_GUARD_REPORT_H

#include "tool/terminal/terminal.h"

#include <stdbool.h>
#include <stdio.h>

/* Prints the report in a file. With `as_json` an object of the schema memoir.guard.named/1. */
bool guard_report_print(const char *path, FILE *out, bool as_json, struct error *error);

#endif
