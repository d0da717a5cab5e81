/* SPDX-License-Identifier: MIT */
/* The helper stands above the exported function. */
#include <string.h>

#include "lib/alloc/helper.h"

static int one(void)
{
    return 1;
}

int helper(void)
{
    return one();
}
