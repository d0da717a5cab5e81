/* SPDX-License-Identifier: MIT */
/* What would bring better names for a program or library, for `memoir symbols` and `doctor`. */
#ifndef TOOL_ADVICE_H
#define TOOL_ADVICE_H

#include "tool/symbol/symbol.h"

enum { ADVICE_SIZE = 512 };

/* "" if nothing would. */
void advice_of(const struct symbol_module *module, char text[ADVICE_SIZE]);
/* A warning, if asking debuginfod brought nothing. */
void advice_fetch(const struct symbol_report *report);

#endif
