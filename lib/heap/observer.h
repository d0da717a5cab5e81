/* SPDX-License-Identifier: MIT */
/*
 * The door of lib/heap, the heap observer: which blocks are recorded (sampler.h), what is
 * remembered about them by site and thread (track.h, threads.h), one by one (block.h and its
 * users), and about the heap as a whole (totals.h, series.h, scale.h,
 * growth.h). counts.h keeps
 * the allocator's part of the recorder file up to date.
 *
 * lib/api decides that a block is observed and calls track_begin and track_end; nothing here is
 * called by the allocator.
 */
#ifndef HEAP_OBSERVER_H
#define HEAP_OBSERVER_H

#include "lib/heap/block_log.h"
#include "lib/heap/counts.h"
#include "lib/heap/growth.h"
#include "lib/heap/pace.h"
#include "lib/heap/pins.h"
#include "lib/heap/places.h"
#include "lib/heap/recent.h"
#include "lib/heap/sampler.h"
#include "lib/heap/scale.h"
#include "lib/heap/series.h"
#include "lib/heap/threads.h"
#include "lib/heap/totals.h"
#include "lib/heap/track.h"

#endif
