/* SPDX-License-Identifier: MIT */
/* What keeps memory in use (lib/heap/pins.h), as records of a capture: PINS and its kin. */

#include "base/file/capture_format.h"
#include "base/os.h"
#include "lib/alloc/alloc.h"
#include "lib/dump/capture.h"
#include "lib/dump/capture_record.h"
#include "lib/heap/observer.h"

enum { RARER = 50 }; /* at most this share of the time goes into it */

static void put_classes(struct capture *capture, const struct account *account);
static void put_row(void *context, const struct pins_row *row);

static BULK struct pins pins; /* one writer at a time; static, because the stack may be small */

void capture_pins(struct capture *capture, const struct account *account)
{
    uint64_t start_ns = os_now_ns();
    bool due = start_ns - capture->pins_ns >= capture->pins_took_ns * RARER;
    if ((!due && !capture->pins_always) || !pins_take(&pins))
        return;
    put_classes(capture, account);
    capture->last_stack = 0;
    pins_each(&pins, put_row, capture);
    capture_record_end(capture);
    pins_free(&pins);
    capture->pins_ns = os_now_ns();
    capture->pins_took_ns = capture->pins_ns - start_ns;
    capture_record_begin(capture, RECORD_PINS, CAPTURE_ENTRY_MAX);
    capture_put(capture, capture->pins_took_ns / 1000);
    capture_put(capture, pins.placed);
    capture_put(capture, pins.unplaced);
    capture_put(capture, account->dirty_bytes);
    capture_record_end(capture);
}

static void put_classes(struct capture *capture, const struct account *account)
{
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        const struct pins_class *sums = &pins.classes[class];
        if (sums->spans == 0)
            continue;
        capture_record_begin(capture, RECORD_PIN_CLASSES, CAPTURE_ENTRY_MAX);
        capture_put(capture, class_size(class));
        capture_put(capture, sums->spans);
        capture_put(capture, sums->bytes);
        capture_put(capture, sums->slots);
        capture_put(capture, sums->out);
        capture_put(capture, account_live(&account->classes[class]));
        for (unsigned i = 0; i < PINS_FILLS; i++)
            capture_put(capture, sums->by_fill[i]);
    }
    capture_record_end(capture);
}

static uint64_t whole(double value)
{
    return value < 0 ? 0 : (uint64_t)(value + 0.5);
}

static void put_row(void *context, const struct pins_row *row)
{
    struct capture *capture = context;
    uint32_t stack = row->stack < capture->nodes ? row->stack : STACK_OTHER;
    if (capture_record_begin(capture, RECORD_PIN_ROWS, CAPTURE_ENTRY_MAX))
        capture->last_stack = 0;
    capture_put_change(capture, capture->last_stack, stack);
    capture->last_stack = stack;
    capture_put(capture, row->thread == THREAD_OTHER ? 0 : (uint64_t)row->thread + 1);
    capture_put(capture, row->class == CLASS_COUNT ? 0 : row->size);
    capture_put(capture, row->fill);
    capture_put(capture, row->seen);
    capture_put(capture, whole(row->blocks));
    capture_put(capture, whole(row->blocks * (double)row->size));
    capture_put(capture, whole(row->bytes));
    capture_put(capture, whole(row->alone));
}
