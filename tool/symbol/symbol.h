/* SPDX-License-Identifier: MIT */
/* The door of tool/symbol: names of addresses, and the code behind them. Files are not trusted:
 * whatever makes no sense has no symbols. */
#ifndef SYMBOL_SYMBOL_H
#define SYMBOL_SYMBOL_H

#include "tool/symbol/resolve.h"

#endif
