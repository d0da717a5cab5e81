/* SPDX-License-Identifier: MIT */
#include "tool/profile/order.h"
