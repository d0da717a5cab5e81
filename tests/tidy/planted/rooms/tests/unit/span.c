/* SPDX-License-Identifier: MIT */
#include "lib/alloc/span.h"
#include "lib/api/hot.h"
