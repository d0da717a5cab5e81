/* SPDX-License-Identifier: MIT */
#include "tool/profile/merge.h"
#include "tool/profile/names.h"
    items = realloc(items, 2 * room);
