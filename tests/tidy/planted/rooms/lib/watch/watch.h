/* SPDX-License-Identifier: MIT */
#include "lib/alloc/alloc.h"
