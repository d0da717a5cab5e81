/* SPDX-License-Identifier: MIT */
#include "tool/terminal/screen.h"
