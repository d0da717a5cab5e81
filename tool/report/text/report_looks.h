/* SPDX-License-Identifier: MIT */
/* What a scan tells of blocks (tool/report/looks.h), for report_leaks.c. */
#ifndef REPORT_TEXT_REPORT_LOOKS_H
#define REPORT_TEXT_REPORT_LOOKS_H

#include "tool/report/report.h"
#include "tool/terminal/terminal.h"

/* Below the stack of lost blocks of a site. */
void looks_put(const struct view *view, const struct leaks *leaks, uint32_t frame,
               const struct style *style);
void looks_put_indirect(const struct view *view, const struct leaks *leaks,
                        const struct style *style);
void looks_put_forgotten(const struct view *view, const struct leaks *leaks,
                         const struct style *style);
void looks_json(struct json *json, const struct view *view, const struct leaks *leaks,
                uint32_t frame);
void looks_json_rest(struct json *json, const struct view *view, const struct leaks *leaks);

#endif
