/* SPDX-License-Identifier: MIT */
#include "tool/terminal/wrap.h"
