/* SPDX-License-Identifier: MIT */
/* The door of tool/symbol: names of addresses, and the code behind them. Files are not trusted:
 * whatever makes no sense has no symbols. */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "tool/symbol/demangle.h"
#include "tool/symbol/disasm.h"
#include "tool/symbol/function_code.h"
#include "tool/symbol/function_start.h"
#include "tool/symbol/look.h"
#include "tool/symbol/resolve.h"

#endif
