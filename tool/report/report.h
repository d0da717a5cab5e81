/* SPDX-License-Identifier: MIT */
/* The door of tool/report: a profile into answers. Its three rooms draw them: text, picture,
 * page. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "tool/report/beside.h"
#include "tool/report/check.h"
#include "tool/report/churn.h"
#include "tool/report/diff.h"
#include "tool/report/frag.h"
#include "tool/report/leaks.h"
#include "tool/report/metric.h"
#include "tool/report/narrow.h"
#include "tool/report/pattern.h"
#include "tool/report/question.h"
#include "tool/report/source_file.h"
#include "tool/report/spread.h"
#include "tool/report/table.h"
#include "tool/report/tree.h"
#include "tool/report/view.h"

#endif
