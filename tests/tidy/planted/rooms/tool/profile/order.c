/* SPDX-License-Identifier: MIT */
#include "tool/profile/order.h"
#include "tool/profile/merge.h"
