/* SPDX-License-Identifier: MIT */
#include "lib/alloc/span.h"
