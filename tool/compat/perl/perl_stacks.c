/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a profile as the Perl commands see them: the allocator's own frames, known by
 * name, are gone, and so is the frame that a signal handler left in every stack of a CPU profile.
 */
#include "tool/compat/perl/perl.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static const char *const of_heaps[] = {"calloc",
                                       "cfree",
                                       "malloc",
                                       "free",
                                       "memalign",
                                       "posix_memalign",
                                       "pvalloc",
                                       "valloc",
                                       "realloc",
                                       "tc_calloc",
                                       "tc_cfree",
                                       "tc_malloc",
                                       "tc_free",
                                       "tc_memalign",
                                       "tc_posix_memalign",
                                       "tc_pvalloc",
                                       "tc_valloc",
                                       "tc_realloc",
                                       "tc_new",
                                       "tc_delete",
                                       "tc_newarray",
                                       "tc_deletearray",
                                       "tc_new_nothrow",
                                       "tc_newarray_nothrow",
                                       "do_malloc",
                                       "::do_malloc",
                                       "::do_malloc_or_cpp_alloc",
                                       "DoSampledAllocation",
                                       "simple_alloc::allocate",
                                       "__malloc_alloc_template::allocate",
                                       "__builtin_delete",
                                       "__builtin_new",
                                       "__builtin_vec_delete",
                                       "__builtin_vec_new",
                                       "operator new",
                                       "operator new[]",
                                       "malloc_zone_malloc",
                                       "malloc_zone_calloc",
                                       "malloc_zone_valloc",
                                       "malloc_zone_realloc",
                                       "malloc_zone_memalign",
                                       "malloc_zone_free",
                                       "__start_google_malloc",
                                       "__stop_google_malloc",
                                       "__start_malloc_hook",
                                       "__stop_malloc_hook"};
static const char *const of_jemalloc[] = {"newImpl", "void* newImpl", "aligned_alloc",
                                          "mallocx", "rallocx",       "xallocx",
                                          "dallocx", "sdallocx",      "sdallocx_noflags"};
static const char *const of_locks[] = {"base::RecordLockProfileData",
                                       "base::SubmitMutexProfileData",
                                       "base::SubmitSpinLockProfileData",
                                       "Mutex::Unlock",
                                       "Mutex::UnlockSlow",
                                       "Mutex::ReaderUnlock",
                                       "MutexLock::~MutexLock",
                                       "SpinLock::Unlock",
                                       "SpinLock::SlowUnlock",
                                       "SpinLockHolder::~SpinLockHolder"};
static const char *const of_clocks[] = {"ProfileData::Add",          "ProfileData::prof_handler",
                                        "CpuProfiler::prof_handler", "__FRAME_END__",
                                        "__pthread_sighandler",      "__restore"};

static void gather(struct perl_stacks *stacks);
static void drop_handler(struct perl_stacks *stacks);
static int64_t common_second(const struct perl_stacks *stacks);
static const char *outer_name(const struct perl_stacks *stacks, uint32_t location);
static void remove_frame(struct perl_stacks *stacks, struct perl_stack *stack, uint32_t at);
static void drop_noise(struct perl_stacks *stacks);
static bool is_noise(const struct perl_stacks *stacks, uint32_t location);
static bool among(const char *name, const char *const *list, size_t count);
static bool is_allocator(const struct perl_stacks *stacks, uint32_t location);
static void drop_frames(struct perl_stacks *stacks, const char *pattern, bool keep);

void perl_stacks_filter(struct perl_stacks *stacks, const char *pattern, bool keep)
{
    size_t kept = 0;
    char address[20];
    if (pattern[0] == '\0')
        return;
    struct compat_pattern *wanted = compat_pattern(pattern);
    for (size_t i = 0; i < stacks->count; i++) {
        const struct perl_stack *stack = &stacks->stacks[i];
        bool fits = false;
        for (uint32_t k = 0; k < stack->count && !fits; k++) {
            uint32_t location = stacks->path[stack->first + k];
            perl_address(stacks->from, location, k == 0 && !stack->cut, stacks->words->command,
                         address);
            fits = compat_pattern_fits(wanted, address);
            for (uint32_t n = stacks->first_name[location];
                 n < stacks->first_name[location + 1] && !fits; n++)
                fits = compat_pattern_fits(wanted, stacks->names[n].name) ||
                       compat_pattern_fits(wanted, stacks->names[n].place);
        }
        if (fits == keep)
            stacks->stacks[kept++] = *stack;
    }
    stacks->count = kept;
    compat_pattern_free(wanted);
}

void perl_stacks_make(struct perl_stacks *stacks, const struct perl_profile *from,
                      const struct compat_words *words)
{
    memset(stacks, 0, sizeof *stacks);
    stacks->from = from;
    stacks->words = words;
    perl_names_make(stacks);
    gather(stacks);
    if (from->kind == PROFILE_CPU)
        drop_handler(stacks);
    drop_noise(stacks);
    drop_frames(stacks, compat_text(words, COMPAT_RETAIN), true);
    drop_frames(stacks, compat_text(words, COMPAT_EXCLUDE), false);
}

/* Each stack of the profile once. */
static void gather(struct perl_stacks *stacks)
{
    const struct profile *profile = &stacks->from->profile;
    const struct profile_samples *samples = &profile->samples;
    size_t all = profile->stacks.count, length = 0;
    uint32_t *known = compat_room(NULL, all, sizeof *known);
    memset(known, 0, all * sizeof *known);
    stacks->stacks = compat_room(NULL, samples->count, sizeof *stacks->stacks);
    for (size_t i = 0; i < samples->count; i++) {
        uint32_t stack = samples->stacks[i];
        if (known[stack] == 0) {
            uint32_t frames = profile_depth_of(profile, stack);
            stacks->stacks[stacks->count] = (struct perl_stack){(uint32_t)length, frames, 0, false};
            known[stack] = (uint32_t)++stacks->count;
            length += frames;
        }
        stacks->stacks[known[stack] - 1].value += stacks->from->values[i];
        stacks->total += stacks->from->values[i];
    }
    stacks->path = compat_room(NULL, length, sizeof *stacks->path);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t frames;
        const uint32_t *path = profile_frames_of(profile, i, &frames);
        if (known[i] > 0 && frames > 0)
            memcpy(stacks->path + stacks->stacks[known[i] - 1].first, path, frames * sizeof *path);
    }
    free(known);
}

/* Stack frames of the handler that took the samples. */
static void drop_handler(struct perl_stacks *stacks)
{
    bool google = stacks->words->command == COMPAT_GOOGLE;
    for (int64_t second; (second = common_second(stacks)) >= 0;) {
        const char *name = outer_name(stacks, (uint32_t)second);
        if (stacks->words->value[COMPAT_NO_AUTO_SIGNAL_FRM].on) {
            fprintf(
                stderr,
                "All second stack frames are same: `%s'.\nMight be stack trace capturing bug.\n",
                name);
            return;
        }
        fprintf(stderr, "Removing %s from all stack traces.\n", name);
        for (size_t i = 0; i < stacks->count; i++) {
            struct perl_stack *stack = &stacks->stacks[i];
            const uint32_t *path = stacks->path + stack->first;
            remove_frame(stacks, stack, 1);
            if (google && stack->count > 1 &&
                profile_location_at(&stacks->from->profile, path[1])->address ==
                    profile_location_at(&stacks->from->profile, path[0])->address)
                remove_frame(stacks, stack, 1);
        }
    }
}

/* The second address of all stacks, if it is one; else -1. */
static int64_t common_second(const struct perl_stacks *stacks)
{
    int64_t second = -1;
    for (size_t i = 0; i < stacks->count; i++) {
        const struct perl_stack *stack = &stacks->stacks[i];
        if (stack->count < 2)
            return -1;
        uint32_t here = stacks->path[stack->first + 1];
        if (second >= 0 && second != here)
            return -1;
        second = here;
    }
    return second;
}

/* The name that the caller's side of an address has. */
static const char *outer_name(const struct perl_stacks *stacks, uint32_t location)
{
    return stacks->names[stacks->first_name[location + 1] - 1].name;
}

static void remove_frame(struct perl_stacks *stacks, struct perl_stack *stack, uint32_t at)
{
    uint32_t *path = stacks->path + stack->first;
    memmove(path + at, path + at + 1, (stack->count - at - 1) * sizeof *path);
    stack->count--;
}

/* jeprof takes away all up to the last of such frames, google-pprof only those. */
static void drop_noise(struct perl_stacks *stacks)
{
    bool before = stacks->words->command == COMPAT_JEPROF;
    size_t locations = stacks->from->profile.locations.count;
    bool *noisy = compat_room(NULL, locations, sizeof *noisy);
    for (uint32_t i = 0; i < locations; i++)
        noisy[i] = is_noise(stacks, i);
    for (size_t i = 0; i < stacks->count; i++) {
        struct perl_stack *stack = &stacks->stacks[i];
        uint32_t *path = stacks->path + stack->first, kept = 0;
        for (uint32_t k = 0; k < stack->count; k++) {
            bool noise = noisy[path[k]];
            if (!noise)
                path[kept++] = path[k];
            else if (before)
                kept = 0;
            stack->cut |= noise && kept == 0;
        }
        stack->count = kept;
    }
    free(noisy);
}

/* Whether the frame is none of the program's. */
static bool is_noise(const struct perl_stacks *stacks, uint32_t location)
{
    const char *name = outer_name(stacks, location);
    switch (stacks->from->kind) {
    case PROFILE_HEAP:
    case PROFILE_GROWTH: {
        const char *bare = name[0] == '_' ? name + 1 : name;
        bool jemalloc = stacks->words->command == COMPAT_JEPROF;
        return among(name, of_heaps, COUNT_OF(of_heaps)) ||
               among(bare, of_heaps, COUNT_OF(of_heaps)) ||
               (jemalloc && (among(name, of_jemalloc, COUNT_OF(of_jemalloc)) ||
                             among(bare, of_jemalloc, COUNT_OF(of_jemalloc)))) ||
               is_allocator(stacks, location) || strstr(name, "TCMalloc") ||
               strncmp(name, "tcmalloc::", 10) == 0;
    }
    case PROFILE_CONTENTION:
        return among(name, of_locks, COUNT_OF(of_locks));
    case PROFILE_CPU:
        return among(name, of_clocks, COUNT_OF(of_clocks));
    default:
        return false;
    }
}

static bool among(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, list[i]) == 0)
            return true;
    return false;
}

/* Whether the code is an allocator's library. Those come without symbols as a rule, and the real
 * ones, which go by names alone, take much of it for `malloc_usable_size`. */
static bool is_allocator(const struct perl_stacks *stacks, uint32_t location)
{
    static const char *const files[] = {"libjemalloc", "libtcmalloc", "libmemoir"};
    const struct profile *profile = &stacks->from->profile;
    uint32_t mapping = profile_location_at(profile, location)->mapping;
    const char *path =
        mapping > 0 ? profile_text(profile, profile_mapping_at(profile, mapping)->path) : "";
    for (size_t i = 0; i < COUNT_OF(files); i++)
        if (strncmp(name_base(path), files[i], strlen(files[i])) == 0)
            return true;
    return false;
}

/* --retain and --exclude: frames by name. */
static void drop_frames(struct perl_stacks *stacks, const char *pattern, bool keep)
{
    if (pattern[0] == '\0')
        return;
    struct compat_pattern *wanted = compat_pattern(pattern);
    for (size_t i = 0; i < stacks->count; i++) {
        struct perl_stack *stack = &stacks->stacks[i];
        uint32_t *path = stacks->path + stack->first, kept = 0;
        for (uint32_t k = 0; k < stack->count; k++) {
            if (compat_pattern_fits(wanted, outer_name(stacks, path[k])) == keep)
                path[kept++] = path[k];
            stack->cut |= kept == 0;
        }
        stack->count = kept;
    }
    compat_pattern_free(wanted);
}

struct perl_stacks perl_stacks_copy(const struct perl_stacks *from)
{
    struct perl_stacks copy = *from;
    copy.stacks = compat_room(NULL, from->count, sizeof *copy.stacks);
    memcpy(copy.stacks, from->stacks, from->count * sizeof *copy.stacks);
    return copy;
}

double perl_stacks_sum(const struct perl_stacks *stacks)
{
    double sum = 0;
    for (size_t i = 0; i < stacks->count; i++)
        sum += stacks->stacks[i].value;
    return sum;
}

void perl_stacks_free(struct perl_stacks *stacks)
{
    for (size_t i = 0; i < stacks->names_count; i++) {
        free(stacks->names[i].name);
        free(stacks->names[i].place);
        free(stacks->names[i].full);
    }
    free(stacks->names);
    free(stacks->first_name);
    free(stacks->path);
    free(stacks->stacks);
}
