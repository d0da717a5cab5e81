/* SPDX-License-Identifier: MIT */
/* The door of tool/profile/capture: memoir's own files, as records and as samples. */
#ifndef PROFILE_CAPTURE_CAPTURE_H
#define PROFILE_CAPTURE_CAPTURE_H

#include "tool/profile/capture/capture_records.h"
#include "tool/profile/capture/capture_samples.h"
#include "tool/profile/capture/moved.h"
#include "tool/profile/capture/reconcile.h"
#include "tool/profile/capture/recorder.h"
#include "tool/profile/capture/recorder_told.h"

#endif
