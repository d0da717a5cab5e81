/* SPDX-License-Identifier: MIT */
/*
 * gperftools' C++ class MallocExtension, without C++: programs that were built against its header
 * call `instance()` by its mangled name and everything else through the table of virtual functions.
 * So there are two such tables in the layout of the C++ ABI: that of the class itself, which
 * programs derive theirs from, and that of the one object, which does what the C functions do
 * (malloc_extension.h). malloc_extension.def lists the functions. The class SysAllocator is here,
 * too: programs derive from it.
 *
 * Some functions fill a std::string or a std::vector of the program's. Their layouts in libstdc++
 * are ABI since GCC 5, and this file writes to them itself. A reference to libstdc++ would have to
 * be weak, and a program that is linked statically need not contain the function.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "base/print.h"
#include "lib/alloc/alloc.h"
#include "lib/api/api.h"
#include "lib/control/control.h"
#include "lib/faces/gperftools/debug_allocator.h"
#include "lib/faces/gperftools/gperftools.h"
#include "lib/faces/gperftools/malloc_extension.h"
#include "lib/faces/gperftools/system_allocator.h"

struct nothrow;
void *_ZnwmRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void *_ZnamRKSt9nothrow_t(size_t size, const struct nothrow *tag);
void _ZdlPv(void *p);

/* std::string */
struct cxx_string {
    char *text;
    size_t length;
    union {
        size_t room; /* without the end mark, if the text is on the heap */
        char here[16];
    };
};

/* MallocExtension::FreeListInfo, and a std::vector of it */
struct free_list {
    size_t size_min, size_max, bytes;
    const char *kind;
};
struct free_lists {
    struct free_list *first, *end, *room_end;
};

/* base::MallocRange */
struct range {
    uintptr_t address;
    size_t length;
    enum { RANGE_IN_USE, RANGE_FREE, RANGE_UNMAPPED } kind;
    double share; /* of what is in use */
};

/* Objects with virtual functions begin with the address of their table. */
struct extension {
    const void *const *methods;
};

static bool no_memory_stats(int *blocks, size_t *total, int *histogram);
static void no_stats(char *text, int length);
static void no_sample(struct cxx_string *out);
static void release_all(struct extension *self);
static void profile(enum dump_source source, struct cxx_string *out);
static void ranges(void *context, void (*each)(void *, const void *));
static void free_lists(struct free_lists *out);
static void **stack_traces(enum dump_source source, int *period);

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define METHOD(result, name, mangled, args, alone, ours) \
    EXPORT result _ZN15MallocExtension##mangled args;    \
    EXPORT result _ZN15MallocExtension##mangled args     \
    {                                                    \
        return alone;                                    \
    }                                                    \
    static result our_##name args                        \
    {                                                    \
        return ours;                                     \
    }
#include "lib/faces/gperftools/malloc_extension.def"
#undef METHOD

#define DESTRUCTORS(class)                                                                \
    void _ZN##class##D2Ev(void *self);                                                    \
    void _ZN##class##D0Ev(void *self);                                                    \
    EXPORT void _ZN##class##D2Ev(void *self)                                              \
    {                                                                                     \
    }                                                                                     \
    EXPORT void _ZN##class##D1Ev(void *self) __attribute__((alias("_ZN" #class "D2Ev"))); \
    EXPORT void _ZN##class##D0Ev(void *self)                                              \
    {                                                                                     \
        _ZdlPv(self);                                                                     \
    }
DESTRUCTORS(15MallocExtension)
DESTRUCTORS(12SysAllocator)

/* Type information: its own table of virtual functions is libstdc++'s, if it is in the process. */
extern const void *const _ZTVN10__cxxabiv117__class_type_infoE[] __attribute__((weak));
extern void __cxa_pure_virtual(void) __attribute__((weak));

#define TYPE(class)                                      \
    EXPORT extern const char _ZTS##class[sizeof #class]; \
    const char _ZTS##class[sizeof #class] = #class;      \
    EXPORT extern const void *const _ZTI##class[2];      \
    const void *const _ZTI##class[2] = {&_ZTVN10__cxxabiv117__class_type_infoE[2], _ZTS##class}
TYPE(15MallocExtension);
TYPE(12SysAllocator);

/* Objects point behind the first two: the offset of the object, and its type. */
enum { METHODS_AT = 2 };

#define METHOD(result, name, mangled, args, alone, ours) \
    (const void *)_ZN15MallocExtension##mangled,
EXPORT extern const void *const _ZTV15MallocExtension[];
const void *const _ZTV15MallocExtension[] = {
    NULL,
    _ZTI15MallocExtension,
    (const void *)_ZN15MallocExtensionD1Ev,
    (const void *)_ZN15MallocExtensionD0Ev,
#include "lib/faces/gperftools/malloc_extension.def"
};
#undef METHOD

#define METHOD(result, name, mangled, args, alone, ours) (const void *)our_##name,
static const void *const our_methods[] = {
    NULL,
    _ZTI15MallocExtension,
    (const void *)_ZN15MallocExtensionD1Ev,
    (const void *)_ZN15MallocExtensionD0Ev,
#include "lib/faces/gperftools/malloc_extension.def"
};
#undef METHOD

EXPORT extern const void *const _ZTV12SysAllocator[];
const void *const _ZTV12SysAllocator[] = {
    NULL,
    _ZTI12SysAllocator,
    (const void *)_ZN12SysAllocatorD1Ev,
    (const void *)_ZN12SysAllocatorD0Ev,
    (const void *)__cxa_pure_virtual,
};

static struct extension ours = {our_methods + METHODS_AT};
static struct extension *registered = &ours;

struct extension *_ZN15MallocExtension8instanceEv(void);
void _ZN15MallocExtension8RegisterEPS_(struct extension *extension);
void _ZN15MallocExtension10InitializeEv(void);

EXPORT struct extension *_ZN15MallocExtension8instanceEv(void)
{
    return load_acquire(&registered);
}

/* A libtcmalloc that the program is linked with registers its own object when it starts; but the
 * heap is ours. */
static bool is_tcmalloc(const struct extension *extension)
{
    const void *const *type = extension->methods[-1]; /* NULL without type information */
    const char *name = type == NULL ? "" : type[1];
    return strcmp(name, "22TCMallocImplementation") == 0 ||
           strcmp(name, "25DebugMallocImplementation") == 0;
}

EXPORT void _ZN15MallocExtension8RegisterEPS_(struct extension *extension)
{
    if (!is_tcmalloc(extension))
        store_release(&registered, extension);
}

EXPORT void _ZN15MallocExtension10InitializeEv(void)
{
}

/*
 * What the class itself does.
 */

static bool no_memory_stats(int *blocks, size_t *total, int *histogram)
{
    *blocks = 0;
    *total = 0;
    memset(histogram, 0, MALLOC_HISTOGRAM_SIZE * sizeof *histogram);
    return true;
}

static void no_stats(char *text, int length)
{
    if (length > 0)
        text[0] = '\0';
}

static void string_append(struct cxx_string *to, const char *text, size_t length)
{
    bool here = to->text == to->here;
    size_t room = here ? sizeof to->here - 1 : to->room;
    if (length > room - to->length) {
        size_t more = 2 * room > to->length + length ? 2 * room : to->length + length;
        char *moved = _ZnwmRKSt9nothrow_t(more + 1, NULL);
        if (moved == NULL)
            return;
        memcpy(moved, to->text, to->length);
        if (!here)
            _ZdlPv(to->text);
        to->text = moved;
        to->room = more;
    }
    memcpy(to->text + to->length, text, length);
    to->length += length;
    to->text[to->length] = '\0';
}

static void no_sample(struct cxx_string *out)
{
    static const char text[] = "This malloc implementation does not support sampling.\n";
    string_append(out, text, sizeof text - 1);
}

/* A derived class need only define ReleaseToSystem. */
static void release_all(struct extension *self)
{
    enum { BEFORE = 2 /* destructors */ };
    enum {
#define METHOD(result, name, mangled, args, alone, ours) AT_##name,
#include "lib/faces/gperftools/malloc_extension.def"
#undef METHOD
    };
    void (*release)(struct extension *, size_t) =
        (void (*)(struct extension *, size_t))self->methods[BEFORE + AT_ReleaseToSystem];
    release(self, SIZE_MAX);
}

/*
 * What the object does beyond the C functions.
 */

/* The profile of now: in exact mode of all blocks, otherwise of samples, which readers scale. Or
 * that of the heap's growth. */
static void profile(enum dump_source source, struct cxx_string *out)
{
    char *text = gperftools_profile_text(source);
    if (text != NULL)
        string_append(out, text, strlen(text));
    free(text);
}

struct range_visitor {
    void (*each)(void *, const void *);
    void *context;
};

/* Freed pages of guarded blocks have no memory. */
static void range_of_cell(void *context, uintptr_t start, size_t bytes, bool live)
{
    const struct range_visitor *visitor = context;
    struct range range = {start, bytes, live ? RANGE_IN_USE : RANGE_UNMAPPED, live ? 1 : 0};
    visitor->each(visitor->context, &range);
}

RACY static void ranges(void *context, void (*each)(void *, const void *))
{
    uint32_t ids = init_done() ? span_count() : 0;
    for (uint32_t id = 1; id < ids; id++) {
        const struct span *span = span_at(id);
        struct range range = {(uintptr_t)span_start(span), (size_t)span->units << UNIT_SHIFT,
                              RANGE_IN_USE, 1};
        switch (load_relaxed(&span->state)) {
        case SPAN_LARGE:
            break;
        case SPAN_BLOCKS:
            if (span->blocks != 0)
                range.share = 1 - (double)span->free / span->blocks;
            break;
        case SPAN_DIRTY:
            range.kind = RANGE_FREE;
            break;
        case SPAN_CLEAN:
            range.kind = RANGE_UNMAPPED;
            break;
        default:
            continue;
        }
        range.share = range.kind == RANGE_IN_USE ? range.share : 0;
        each(context, &range);
    }
    guarding_each_range(range_of_cell, &(struct range_visitor){each, context});
}

static void lists_add(struct free_lists *to, struct free_list more)
{
    if (more.bytes == 0)
        return;
    if (to->end == to->room_end) {
        enum { FIRST = 16 };
        size_t count = (size_t)(to->end - to->first), room = count < FIRST ? FIRST : 2 * count;
        struct free_list *moved = _ZnwmRKSt9nothrow_t(room * sizeof *moved, NULL);
        if (moved == NULL)
            return;
        if (count > 0)
            memcpy(moved, to->first, count * sizeof *moved);
        _ZdlPv(to->first);
        *to = (struct free_lists){moved, moved + count, moved + room};
    }
    *to->end++ = more;
}

static void free_lists(struct free_lists *out)
{
    out->end = out->first;
    if (!init_done())
        return;
    struct account account;
    account_take(&account);
    for (unsigned class = 1; class < CLASS_COUNT; class ++) {
        size_t min = class == 1 ? 1 : class_size(class - 1) + 1, max = class_size(class);
        lists_add(out,
                  (struct free_list){min, max, account.free[class].here * max, "tcmalloc.central"});
        lists_add(
            out, (struct free_list){min, max, account.free[class].cached * max, "tcmalloc.thread"});
    }
    lists_add(out, (struct free_list){UNIT, SIZE_MAX, account.dirty_bytes, "tcmalloc.large"});
    lists_add(out,
              (struct free_list){UNIT, SIZE_MAX, account.clean_bytes, "tcmalloc.large_unmapped"});
    lists_add(out,
              (struct free_list){0, SIZE_MAX, debug_allocator_queue_bytes(), "debug.free_queue"});
}

/* Passes over text up to the number behind `mark`; 0 if there is none in the line. */
static uintptr_t number_behind(const char **text, char mark, unsigned base)
{
    const char *at = *text;
    while (*at != mark && *at != '\n' && *at != '\0')
        at++;
    if (*at == mark)
        at++;
    while (*at == ' ' || (base == 16 && (*at == '0' || *at == 'x')))
        at++;
    uintptr_t value = 0;
    for (;; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                                                    : base;
        if (digit >= base)
            break;
        value = value * base + digit;
    }
    *text = at;
    return value;
}

/* Of each line of the profile: objects and bytes in use, the depth, and the stack; then a zero. The
 * caller deletes the array. */
static void **stack_traces(enum dump_source source, int *period)
{
    char *text = gperftools_profile_text(source);
    if (text == NULL || *text == '\0')
        return NULL;
    size_t words = 1, max = 0;
    for (const char *at = text; *at != '\0'; at++)
        words += *at == '\n' ? 3 : *at == 'x';
    uintptr_t *out = _ZnamRKSt9nothrow_t(words * sizeof *out, NULL);
    if (period != NULL)
        *period = (int)control_rate();
    const char *line = strchr(text, '\n');
    while (out != NULL && line != NULL && line[1] != '\n' && line[1] != '\0') {
        const char *at = line;
        uintptr_t *entry = out + max;
        entry[0] = number_behind(&at, '\n', 10);
        entry[1] = number_behind(&at, ':', 10);
        entry[2] = 0;
        at = strchr(at, '@');
        for (uintptr_t frame; at != NULL && (frame = number_behind(&at, ' ', 16)) != 0;)
            entry[3 + entry[2]++] = frame;
        max += 3 + entry[2];
        line = at == NULL ? NULL : strchr(at, '\n');
    }
    if (out != NULL)
        out[max] = 0;
    free(text);
    return (void **)out;
}
