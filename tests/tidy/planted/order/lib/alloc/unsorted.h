/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <stddef.h>
