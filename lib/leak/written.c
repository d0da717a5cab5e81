/* SPDX-License-Identifier: MIT */
/* See lib/leak/written.h. */
#include "lib/leak/written.h"

#include "base/compiler.h"
#include "base/confine.h"
#include "base/os.h"
#include "base/os_timer.h"
#include "lib/alloc/alloc.h"
#include "lib/leak/touched.h"

enum { BITS_IN_WORD = 64 };
enum { SLICE_MS = 100 }; /* of a wait that a signal may cut short: then the time is looked at */

/* Of userfaultfd, as the kernel has them. Its headers are often older than it is. */
enum { API = 0xaa, FEATURES = 1 << 0 | 1 << 13 | 1 << 15 /* WP, WP_UNPOPULATED, WP_ASYNC */ };
enum { REGISTER_WRITES = 2, PROTECT = 1 };
static const uint64_t API_REQUEST = UINT64_C(0xc018aa3f), REGISTER_REQUEST = UINT64_C(0xc020aa00),
                      PROTECT_REQUEST = UINT64_C(0xc018aa06);

static bool protect(int faults, uintptr_t start, size_t bytes);
static touched_visitor note;

void written_watch(struct written *written, unsigned ms)
{
    struct touched touched;
    size_t bytes = load_acquire(&window.granules) * GRANULE;
    *written = (struct written){.pages = bytes / os_page_size()};
    written->bytes = (written->pages / BITS_IN_WORD + 1) * sizeof(uint64_t);
    if (bytes == 0 || confined(CONFINE_WRITTEN) || os_is_filtered())
        return;
    touched_open(&touched);
    int faults = touched.quick ? os_faults_open() : -1;
    uint64_t until_ms = os_now_ms() + ms;
    uint32_t never = 0;
    if (faults >= 0 && protect(faults, window.base, bytes)) {
        for (uint64_t now; (now = os_now_ms()) < until_ms;)
            os_wait(&never, 0, until_ms - now < SLICE_MS ? (unsigned)(until_ms - now) : SLICE_MS);
        written->bits = os_map(written->bytes);
        if (written->bits != NULL &&
            !touched_written(&touched, window.base, window.base + bytes, note, written))
            written_free(written);
        written->watched_ms = written->bits != NULL ? ms : 0;
    }
    if (faults >= 0)
        os_close(faults); /* which lifts all protection */
    touched_close(&touched);
}

void written_free(struct written *written)
{
    if (written->bits != NULL)
        os_unmap(written->bits, written->bytes);
    written->bits = NULL;
}

bool written_to(const struct written *written, uintptr_t start, size_t size)
{
    size_t page = (start - window.base) / os_page_size();
    size_t last = (start + size - 1 - window.base) / os_page_size();
    if (written->bits == NULL || size == 0)
        return true;
    for (; page <= last; page++)
        if (page >= written->pages ||
            (written->bits[page / BITS_IN_WORD] >> page % BITS_IN_WORD & 1) != 0)
            return true; /* what lies beyond came later */
    return false;
}

static bool protect(int faults, uintptr_t start, size_t bytes)
{
    struct {
        uint64_t api, features, calls;
    } api = {API, FEATURES, 0};
    struct {
        uint64_t start, bytes, mode, calls;
    } all = {start, bytes, REGISTER_WRITES, 0};
    struct {
        uint64_t start, bytes, mode;
    } writes = {start, bytes, PROTECT};
    return os_control(faults, API_REQUEST, &api) == 0 &&
           os_control(faults, REGISTER_REQUEST, &all) == 0 &&
           os_control(faults, PROTECT_REQUEST, &writes) == 0;
}

static void note(void *context, uintptr_t start, uintptr_t end)
{
    struct written *written = context;
    for (size_t page = (start - window.base) / os_page_size();
         page < (end - window.base) / os_page_size() && page < written->pages; page++)
        written->bits[page / BITS_IN_WORD] |= (uint64_t)1 << page % BITS_IN_WORD;
}
