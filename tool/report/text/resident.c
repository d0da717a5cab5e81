/* SPDX-License-Identifier: MIT */
/* See tool/report/text/resident.h. */
#include "tool/report/text/resident.h"

#include <ctype.h>
#include <string.h>

#include "base/compiler.h"
#include "tool/profile/profile.h"

enum { SHARE_MAX = 2, BYTES_MAX = 16 << 20 }; /* what any program has: code, stacks, libraries */

/* Programs and libraries with a heap of their own, by the beginning of the file's name. */
static const struct {
    const char *module, *advice;
} heaps[] = {
    {"libjvm", "Java objects are in the JVM's own heap: jcmd PID GC.class_histogram "
               "shows them"},
    {"node", "JavaScript objects are in V8's own heap: node --heap-prof shows them"},
    {"libnode", "JavaScript objects are in V8's own heap: node --heap-prof shows them"},
    {"python", "Python has its own pools for small objects; to see them: PYTHONMALLOC=malloc "
               "memoir run ..."},
    {"libpython", "Python has its own pools for small objects; to see them: PYTHONMALLOC=malloc "
                  "memoir run ..."},
    {"pypy", "PyPy objects are in its own heap: gc.get_stats() shows it"},
    {"ruby", "Ruby objects are in its own heap: ObjectSpace.memsize_of_all shows it"},
    {"libruby", "Ruby objects are in its own heap: ObjectSpace.memsize_of_all shows it"},
    {"php", "PHP has its own heap; to see into it: USE_ZEND_ALLOC=0 memoir run ..."},
    {"libphp", "PHP has its own heap; to see into it: USE_ZEND_ALLOC=0 memoir run ..."},
    {"postgres", "this includes shared_buffers and other shared memory of PostgreSQL"},
    {"beam", "Erlang processes have their own heaps: recon_alloc:memory(allocated) "
             "shows them"},
    {"libcoreclr", ".NET objects are in its own heap: dotnet-gcdump collect shows them"},
    {"libmonosgen", "Mono objects are in its own heap: its --profile option shows them"},
    {"cc1", "GCC's trees are in its garbage-collected heap: -fmem-report shows it"},
    {"libjemalloc", "jemalloc serves part of the program: see MALLOC_CONF=prof:true"},
    {"libtcmalloc", "tcmalloc serves part of the program: see HEAPPROFILE"},
    {"libmimalloc", "mimalloc serves part of the program: see MIMALLOC_SHOW_STATS=1"},
};

uint64_t resident_max(const struct profile *profile)
{
    const struct profile_point *points = profile->points.items;
    uint64_t max = profile->resident_peak_bytes;
    max = profile->resident_bytes > max ? profile->resident_bytes : max;
    for (size_t i = 0; i < profile->points.count; i++)
        max = points[i].resident_bytes > max ? points[i].resident_bytes : max;
    return max;
}

static uint64_t heap_max(const struct profile *profile)
{
    int type = profile_type_named(profile, TYPE_PEAK_SPACE);
    uint64_t sum = 0;
    for (size_t i = 0; type >= 0 && i < profile->samples.count; i++)
        sum += (uint64_t)profile->samples.values[type][i];
    return sum > profile->heap_resident_bytes ? sum : profile->heap_resident_bytes;
}

/* Bytes of the resident ones that did not come from malloc. */
static uint64_t other_bytes(const struct profile *profile, uint64_t resident_bytes)
{
    uint64_t heap = heap_max(profile), seen = resident_bytes;
    if (profile->torn && resident_max(profile) < seen) /* what came later may be of malloc */
        seen = resident_max(profile);
    return seen > heap ? seen - heap : 0;
}

/* True if most of the memory did not come from malloc. */
static bool is_elsewhere(const struct profile *profile, uint64_t resident_bytes)
{
    uint64_t other = other_bytes(profile, resident_bytes);
    return other >= BYTES_MAX && other > resident_bytes / SHARE_MAX;
}

static const char *advice_for(const struct profile *profile)
{
    for (size_t k = 0; k < COUNT_OF(heaps); k++)
        for (size_t i = 1; i < profile->mappings.count; i++) {
            const char *path =
                profile_text(profile, profile_mapping_at(profile, (uint32_t)i)->path);
            const char *name = name_base(path);
            size_t length = strlen(heaps[k].module);
            if (strncmp(name, heaps[k].module, length) == 0 &&
                !isalpha((unsigned char)name[length]))
                return heaps[k].advice;
        }
    return "mapped files, code, or the program's own allocator; the lists do not "
           "show it";
}

/* Where memory is that did not come from malloc, if that is most of it. */
static void elsewhere_print(const struct profile *profile, const struct style *style,
                            uint64_t resident_bytes, const char *indent)
{
    char size[32];
    uint64_t other = other_bytes(profile, resident_bytes);
    if (is_elsewhere(profile, resident_bytes))
        fprintf(style->out, ", %s of it (%.0f %%) not from malloc\n%s%s",
                style_value(size, (double)other, UNIT_BYTES),
                100 * (double)other / (double)resident_bytes, indent, advice_for(profile));
}

void resident_print(const struct profile *profile, const struct style *style,
                    uint64_t resident_bytes)
{
    char size[32];
    bool counted = resident_bytes > 0 || profile->resident_peak_bytes > 0;
    if (resident_bytes == 0 || (profile->ended && profile->resident_peak_bytes > 0))
        resident_bytes = resident_max(profile);
    if (resident_bytes == 0)
        return;
    fprintf(style->out, "    RSS  %s%s peak", counted ? "" : "at least ",
            style_value(size, (double)resident_bytes, UNIT_BYTES));
    elsewhere_print(profile, style, resident_bytes, "         ");
    putc('\n', style->out);
}

void resident_note(const struct profile *profile, const struct style *style)
{
    if (is_elsewhere(profile, resident_max(profile)))
        resident_print(profile, style, 0);
}
