/* SPDX-License-Identifier: MIT */
/* Begins with a helper. */
#include "lib/alloc/helper.h"

static int one(void)
{
    return 1;
}

int helper(void)
{
    return one();
}
