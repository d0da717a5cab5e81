/* SPDX-License-Identifier: MIT */
/* See lib/api/hooks.h. A place is taken or free by the parity of its version, and a reader that
 * finds another version after reading has read parts of two and calls none of them. */
#include "lib/api/cold.h"
#include "lib/api/hooks.h"

static struct place {
    uint64_t version; /* odd: taken */
    bool busy;        /* is being changed */
    struct call_hooks hooks;
} places[CALL_HOOKS_MAX];

bool calls_any;

static void changed(void);

void *calls_install(const struct call_hooks *hooks)
{
    for (unsigned i = 0; i < CALL_HOOKS_MAX; i++) {
        struct place *place = &places[i];
        if (__atomic_exchange_n(&place->busy, true, __ATOMIC_ACQUIRE))
            continue;
        bool taken = place->version % 2 == 1;
        if (!taken) {
            store_relaxed(&place->hooks.alloc, hooks->alloc);
            store_relaxed(&place->hooks.dalloc, hooks->dalloc);
            store_relaxed(&place->hooks.expand, hooks->expand);
            store_relaxed(&place->hooks.extra, hooks->extra);
            store_release(&place->version, place->version + 1);
        }
        store_release(&place->busy, false);
        if (taken)
            continue;
        changed();
        return place;
    }
    return NULL;
}

bool calls_remove(void *handle)
{
    for (unsigned i = 0; i < CALL_HOOKS_MAX; i++) {
        struct place *place = &places[i];
        uint64_t version = load_acquire(&place->version);
        if (handle != place || version % 2 == 0)
            continue;
        bool removed = __atomic_compare_exchange_n(&place->version, &version, version + 1, false,
                                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        changed();
        return removed;
    }
    return false;
}

static void changed(void)
{
    bool any = false;
    for (unsigned i = 0; i < CALL_HOOKS_MAX; i++)
        any |= load_relaxed(&places[i].version) % 2 == 1;
    store_release(&calls_any, any);
    cold_hooks_changed();
}

/* The hooks of a place; false: there are none. */
static bool hooks_at(unsigned i, struct call_hooks *hooks)
{
    struct place *place = &places[i];
    uint64_t version = load_acquire(&place->version);
    hooks->alloc = load_relaxed(&place->hooks.alloc);
    hooks->dalloc = load_relaxed(&place->hooks.dalloc);
    hooks->expand = load_relaxed(&place->hooks.expand);
    hooks->extra = load_relaxed(&place->hooks.extra);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return version % 2 == 1 && load_relaxed(&place->version) == version;
}

/* Each hook gets the arguments anew: it may write to them. */
void calls_alloc(enum call_alloc call, void *block, uintptr_t result, const uintptr_t args[3])
{
    struct call_hooks hooks;
    young.quiet = true;
    for (unsigned i = 0; i < CALL_HOOKS_MAX; i++)
        if (hooks_at(i, &hooks) && hooks.alloc != NULL)
            hooks.alloc(hooks.extra, (int)call, block, result,
                        (uintptr_t[]){args[0], args[1], args[2]});
    young.quiet = false;
}

void calls_dalloc(enum call_dalloc call, void *block, const uintptr_t args[3])
{
    struct call_hooks hooks;
    young.quiet = true;
    for (unsigned i = 0; i < CALL_HOOKS_MAX; i++)
        if (hooks_at(i, &hooks) && hooks.dalloc != NULL)
            hooks.dalloc(hooks.extra, (int)call, block, (uintptr_t[]){args[0], args[1], args[2]});
    young.quiet = false;
}

void calls_expand(enum call_expand call, void *block, size_t before, size_t after, uintptr_t result,
                  const uintptr_t args[4])
{
    struct call_hooks hooks;
    young.quiet = true;
    for (unsigned i = 0; i < CALL_HOOKS_MAX; i++)
        if (hooks_at(i, &hooks) && hooks.expand != NULL)
            hooks.expand(hooks.extra, (int)call, block, before, after, result,
                         (uintptr_t[]){args[0], args[1], args[2], args[3]});
    young.quiet = false;
}
