/* SPDX-License-Identifier: MIT */
/*
 * See lib/watch/unloaded.h. Rows of `gone` are written once, before the count that shows them.
 *
 * Reading an object's headers takes some system calls, under a lock of the loader that dlopen and
 * pthread_create need, so only new objects are read. The loader counts what it has loaded and
 * unloaded: while either count stands, no object has taken the place of another, and one at a place
 * that is known is the one that was there.
 */
#include "lib/watch/unloaded.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/maps.h"
#include "base/os.h"

/* Loaded objects that are compared, in static memory; bytes of notes: a build id has 36. */
enum { LOADED_MAX = 1024, NOTES_MAX = 1024 };

struct known {
    struct unloaded object;
    uintptr_t base, parts; /* what the loader says of its place */
};

static BULK struct known loaded[LOADED_MAX];
static BULK bool seen[LOADED_MAX];
static unsigned loaded_count;
static unsigned long long adds, subs; /* the loader's counts at the last look; never both 0 */
static BULK struct unloaded gone[UNLOADED_MAX];
static unsigned gone_count;

/* One pass over all objects. */
struct look {
    bool begun;
    bool same;   /* nothing was loaded or unloaded since the last one */
    bool places; /* an object at a known place is known */
};

static int object_visit(struct dl_phdr_info *info, size_t size, void *context);
static void gone_add(const struct unloaded *object, uint32_t nodes);

void unloaded_look(uint32_t nodes)
{
    static uint8_t busy;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    memset(seen, 0, loaded_count * sizeof seen[0]);
    struct look now = {0};
    dl_iterate_phdr(object_visit, &now);
    for (unsigned i = now.same ? 0 : loaded_count; i-- > 0;)
        if (!seen[i]) {
            gone_add(&loaded[i].object, nodes);
            loaded[i] = loaded[--loaded_count];
            seen[i] = seen[loaded_count];
        }
    store_release(&busy, 0);
}

unsigned unloaded_count(void)
{
    return load_acquire(&gone_count);
}

const struct unloaded *unloaded_at(unsigned at)
{
    return &gone[at];
}

/* Reads the build id. The loader does not use notes, so it never checked the address that the
 * object's header gives for them. */
static void id_read(uintptr_t at, size_t size, struct unloaded *object)
{
    uint8_t notes[NOTES_MAX], id[MAPS_ID_MAX];
    size = size < sizeof notes ? size : sizeof notes;
    if (!os_peek(notes, at, size))
        return;
    unsigned length = maps_note_id(notes, size, id);
    if (length <= UNLOADED_ID) {
        memcpy(object->id, id, length);
        object->id_length = (uint8_t)length;
    }
}

static void object_read(const struct dl_phdr_info *info, struct unloaded *object)
{
    const char *path = info->dlpi_name;
    memset(object, 0, sizeof *object);
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        ElfW(Phdr) part;
        if (!os_peek(&part, (uintptr_t)&info->dlpi_phdr[i], sizeof part))
            break;
        uintptr_t start = info->dlpi_addr + part.p_vaddr, end = start + part.p_memsz;
        if (part.p_type == PT_LOAD && part.p_flags & PF_X && start < end && object->end == 0) {
            object->start = start;
            object->end = end;
            object->offset = part.p_offset;
        } else if (part.p_type == PT_NOTE && object->id_length == 0) {
            id_read(start, part.p_memsz, object);
        }
    }
    if (strlen(path) >= sizeof object->path)
        path = strrchr(path, '/') + 1;
    for (size_t i = 0; i < sizeof object->path - 1 && path[i] != '\0'; i++)
        object->path[i] = path[i];
}

static bool is_same(const struct unloaded *a, const struct unloaded *b)
{
    return a->start == b->start && a->end == b->end && a->id_length == b->id_length &&
           memcmp(a->id, b->id, a->id_length) == 0 && strcmp(a->path, b->path) == 0;
}

static void look_begin(struct look *look, const struct dl_phdr_info *info)
{
    bool added = info->dlpi_adds != adds, removed = info->dlpi_subs != subs;
    *look = (struct look){.begun = true, .same = !added && !removed, .places = !added || !removed};
    adds = info->dlpi_adds;
    subs = info->dlpi_subs;
}

static unsigned place_find(const struct dl_phdr_info *info)
{
    unsigned at = 0;
    while (at < loaded_count &&
           (loaded[at].base != info->dlpi_addr || loaded[at].parts != (uintptr_t)info->dlpi_phdr))
        at++;
    return at;
}

static int object_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    struct look *look = context;
    struct unloaded object;
    (void)size;
    if (!look->begun)
        look_begin(look, info);
    if (look->same)
        return 1;
    if (info->dlpi_name == NULL || strchr(info->dlpi_name, '/') == NULL)
        return 0; /* the program itself, and the kernel's vdso */
    unsigned at = look->places ? place_find(info) : loaded_count;
    if (at < loaded_count) {
        seen[at] = true;
        return 0;
    }
    object_read(info, &object);
    if (object.start >= object.end || object.path[0] == '\0')
        return 0;
    at = 0;
    while (at < loaded_count && !is_same(&loaded[at].object, &object))
        at++;
    if (at < LOADED_MAX) {
        loaded[at] = (struct known){object, info->dlpi_addr, (uintptr_t)info->dlpi_phdr};
        loaded_count += at == loaded_count;
        seen[at] = true;
    }
    return 0;
}

/* An object that comes and goes alone at its place has one row, whose `nodes` grow. One that
 * alternates with others has a row for each time, as long as there are few. */
static void gone_add(const struct unloaded *object, uint32_t nodes)
{
    /* Three quarters are kept for objects of other places. */
    enum { REPEATED_MAX = UNLOADED_MAX / 4 };
    unsigned count = gone_count, at = count, max = UNLOADED_MAX;
    while (at > 0 && (gone[at - 1].end <= object->start || object->end <= gone[at - 1].start))
        at--;
    if (at > 0 && is_same(&gone[at - 1], object)) {
        store_relaxed(&gone[at - 1].nodes, nodes);
        return;
    }
    for (unsigned i = 0; i < count; i++)
        if (is_same(&gone[i], object))
            max = REPEATED_MAX;
    if (count >= max)
        return;
    gone[count] = *object;
    gone[count].nodes = nodes;
    store_release(&gone_count, count + 1);
}
