/* SPDX-License-Identifier: MIT */
/* The door of tool/profile: profiles in memory. */
#ifndef PROFILE_PROFILE_H
#define PROFILE_PROFILE_H

#include "tool/profile/block_size.h"
#include "tool/profile/estimate.h"
#include "tool/profile/exact.h"
#include "tool/profile/keys.h"
#include "tool/profile/model.h"
#include "tool/profile/order.h"
#include "tool/profile/place.h"
#include "tool/profile/profile_names.h"
#include "tool/profile/redact.h"
#include "tool/profile/series.h"
#include "tool/profile/temporary.h"
#include "tool/profile/unsample.h"

#endif
