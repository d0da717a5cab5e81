/* SPDX-License-Identifier: MIT */
/* See tool/report/frag.h. */
#include "tool/report/frag.h"

#include <stdlib.h>
#include <string.h>

#include "tool/report/question.h"

enum { COLUMNS = 4 };

int64_t frag_empty(const struct frag_row *row)
{
    return row->pinned > row->held ? row->pinned - row->held : 0;
}

static int row_order(const void *left, const void *right)
{
    const struct frag_row *a = left, *b = right;
    if (frag_empty(a) != frag_empty(b))
        return frag_empty(a) > frag_empty(b) ? -1 : 1;
    return (a->frame > b->frame) - (a->frame < b->frame);
}

static void row_add(struct frag_row *row, const struct profile *profile, const int columns[COLUMNS],
                    size_t sample)
{
    int64_t *const places[COLUMNS] = {&row->objects, &row->held, &row->sparse, &row->alone};
    for (unsigned i = 0; i < COLUMNS; i++)
        if (columns[i] >= 0)
            *places[i] += profile->samples.values[columns[i]][sample];
}

static void rows_fill(struct frag *frag, const struct view *view, const uint32_t *row_of)
{
    const struct profile *profile = view->profile;
    const int columns[COLUMNS] = {
        profile_type_named(profile, TYPE_PINNED_OBJECTS),
        profile_type_named(profile, TYPE_PINNED_HELD),
        profile_type_named(profile, TYPE_PINNED_SPARSE),
        profile_type_named(profile, TYPE_PINNED_ALONE),
    };
    for (size_t i = 0; i < profile->samples.count; i++) {
        uint32_t number = question_stack(view, i);
        if (number == UINT32_MAX || profile->samples.values[view->options.type][i] <= 0)
            continue;
        struct view_stack stack = view_stack(view, number);
        uint32_t row = stack.count > 0 ? row_of[stack.frames[0]] : UINT32_MAX;
        row_add(&frag->total, profile, columns, i);
        if (row != UINT32_MAX)
            row_add(&frag->rows[row], profile, columns, i);
    }
}

bool frag_make(struct frag *frag, const struct view *view)
{
    size_t count;
    *frag = (struct frag){.known = view->profile->pins.known};
    if (!frag->known)
        return true;
    struct view_row *rows = view_rows(view, false, &count);
    uint32_t *row_of = malloc((view->frames_count + 1) * sizeof *row_of);
    frag->rows = calloc(count + 1, sizeof *frag->rows);
    bool done = rows && row_of && frag->rows;
    if (done) {
        memset(row_of, 0xff, (view->frames_count + 1) * sizeof *row_of);
        for (size_t i = 0; i < count; i++) {
            if (rows[i].self.value <= 0)
                continue;
            row_of[rows[i].frame] = (uint32_t)frag->count;
            frag->rows[frag->count++] = (struct frag_row){.frame = rows[i].frame,
                                                          .pinned = rows[i].self.value,
                                                          .variance = rows[i].self.variance};
        }
        frag->total.pinned = view->total.value;
        frag->total.variance = view->total.variance;
        rows_fill(frag, view, row_of);
        qsort(frag->rows, frag->count, sizeof *frag->rows, row_order);
    } else {
        frag_free(frag);
    }
    free(rows);
    free(row_of);
    return done;
}

void frag_free(struct frag *frag)
{
    free(frag->rows);
    frag->rows = NULL;
    frag->count = 0;
}

const char *frag_fill_word(unsigned fill)
{
    static const char *const words[PROFILE_FILLS] = {"1/64", "1/32", "1/16", "1/8",
                                                     "1/4",  "1/2",  "1"};
    return words[fill];
}
