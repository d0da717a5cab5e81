/* SPDX-License-Identifier: MIT */
#include "lib/watch/watch.h"
