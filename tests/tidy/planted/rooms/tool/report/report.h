/* SPDX-License-Identifier: MIT */
#include "tool/symbol/symbol.h"
