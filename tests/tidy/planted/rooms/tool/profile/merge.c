/* SPDX-License-Identifier: MIT */
#include "tool/profile/merge.h"
#include "tool/profile/names.h"
