/* SPDX-License-Identifier: MIT */
#include "tool/terminal/wrap.h"
#include "tool/terminal/screen.h"
