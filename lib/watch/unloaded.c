/* SPDX-License-Identifier: MIT */
/* See lib/watch/unloaded.h. Rows of `gone` are written once, before the count that shows them. */
#include "lib/watch/unloaded.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/compiler.h"
#include "base/file/maps.h"
#include "base/os.h"

/* Loaded objects that are compared, in static memory; bytes of notes: a build id has 36. */
enum { LOADED_MOST = 1024, NOTES_MOST = 1024 };

static BULK struct unloaded loaded[LOADED_MOST];
static BULK bool seen[LOADED_MOST];
static unsigned loaded_count;
static BULK struct unloaded gone[UNLOADED_MOST];
static unsigned gone_count;

static int object_visit(struct dl_phdr_info *info, size_t size, void *unused);
static void gone_add(const struct unloaded *object);

void unloaded_look(void)
{
    static uint8_t busy;
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    memset(seen, 0, loaded_count * sizeof seen[0]);
    dl_iterate_phdr(object_visit, NULL);
    for (unsigned i = loaded_count; i-- > 0;)
        if (!seen[i]) {
            gone_add(&loaded[i]);
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
    uint8_t notes[NOTES_MOST], id[MAPS_ID_MOST];
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
    const char *slash = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    memset(object, 0, sizeof *object);
    object->start = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        ElfW(Phdr) part;
        if (!os_peek(&part, (uintptr_t)&info->dlpi_phdr[i], sizeof part))
            break;
        uintptr_t start = info->dlpi_addr + part.p_vaddr, end = start + part.p_memsz;
        if (part.p_type == PT_LOAD && start < end) {
            object->start = start < object->start ? start : object->start;
            object->end = end > object->end ? end : object->end;
        } else if (part.p_type == PT_NOTE && object->id_length == 0) {
            id_read(start, part.p_memsz, object);
        }
    }
    for (size_t i = 0; slash != NULL && i < UNLOADED_NAME - 1 && slash[1 + i] != '\0'; i++)
        object->name[i] = slash[1 + i];
}

static bool is_same(const struct unloaded *a, const struct unloaded *b)
{
    return a->start == b->start && a->end == b->end && a->id_length == b->id_length &&
           memcmp(a->id, b->id, a->id_length) == 0 && strcmp(a->name, b->name) == 0;
}

static int object_visit(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct unloaded object;
    (void)size;
    (void)unused;
    object_read(info, &object);
    if (object.start >= object.end || object.name[0] == '\0') /* the program itself, and the
                                                                 kernel's vdso */
        return 0;
    unsigned at = 0;
    while (at < loaded_count && !is_same(&loaded[at], &object))
        at++;
    if (at == loaded_count && at < LOADED_MOST)
        loaded[loaded_count++] = object;
    if (at < LOADED_MOST)
        seen[at] = true;
    return 0;
}

static void gone_add(const struct unloaded *object)
{
    unsigned count = gone_count;
    for (unsigned i = 0; i < count; i++)
        if (is_same(&gone[i], object))
            return;
    if (count == UNLOADED_MOST)
        return;
    gone[count] = *object;
    store_release(&gone_count, count + 1);
}
