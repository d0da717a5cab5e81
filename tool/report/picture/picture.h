/* SPDX-License-Identifier: MIT */
/* The door of tool/report/picture: flame graphs, call graphs, plots. */
#ifndef REPORT_PICTURE_PICTURE_H
#define REPORT_PICTURE_PICTURE_H

#include "tool/report/picture/draw.h"
#include "tool/report/picture/flame_data.h"
#include "tool/report/picture/picture_format.h"
#include "tool/report/picture/plot.h"
#include "tool/report/picture/svg.h"

#endif
