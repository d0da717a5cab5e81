/* SPDX-License-Identifier: MIT */
#include "check.h"
