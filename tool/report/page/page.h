/* SPDX-License-Identifier: MIT */
/* The door of tool/report/page: one page of HTML that has all answers. */
#ifndef REPORT_PAGE_PAGE_H
#define REPORT_PAGE_PAGE_H

#include "tool/report/page/html.h"

#endif
