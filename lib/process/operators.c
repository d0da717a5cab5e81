/* SPDX-License-Identifier: MIT */
/* See lib/process/operators.h. Not in the static archive, where the linker decides. */
#include "lib/process/operators.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "base/os.h"

extern void (*_ZSt15get_new_handlerv(void))(void) __attribute__((weak));
extern void *dlsym(void *handle, const char *name) __attribute__((weak));
extern int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data)
    __attribute__((weak));

#define SEEN(member, name) (found->member = (__typeof__(found->member))dlsym(RTLD_DEFAULT, name))

/* Asks only where there is a C++ library: other programs call no operators, and libc allocates a
 * message for a name that it does not find. */
bool operators_by_loader(struct operators *found, const struct operators *ours)
{
    if (_ZSt15get_new_handlerv == NULL || dlsym == NULL || os_static())
        return false;
    SEEN(make, "_Znwm");
    SEEN(make_array, "_Znam");
    SEEN(make_aligned, "_ZnwmSt11align_val_t");
    SEEN(make_array_aligned, "_ZnamSt11align_val_t");
    SEEN(drop, "_ZdlPv");
    SEEN(drop_array, "_ZdaPv");
    SEEN(drop_aligned, "_ZdlPvSt11align_val_t");
    SEEN(drop_array_aligned, "_ZdaPvSt11align_val_t");
    return memcmp(found, ours, sizeof *found) != 0;
}

struct question {
    uintptr_t pc;
    bool frees, yes;
};

/* What an object defines: the table of DT_GNU_HASH. */
struct names {
    const ElfW(Sym) * symbols;
    const char *texts;
    const uint32_t *hash;
};

static struct names names_of(const ElfW(Dyn) * dynamic, uintptr_t base)
{
    uintptr_t symbols = 0, texts = 0, hash = 0;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        uintptr_t at = dynamic->d_un.d_ptr;
        at += at < base ? base : 0; /* the loader has relocated some, and left others */
        if (dynamic->d_tag == DT_SYMTAB)
            symbols = at;
        else if (dynamic->d_tag == DT_STRTAB)
            texts = at;
        else if (dynamic->d_tag == DT_GNU_HASH)
            hash = at;
    }
    return (struct names){(const ElfW(Sym) *)symbols, (const char *)texts, (const uint32_t *)hash};
}

/* Whether the object defines a name. */
static bool defines(const struct names *names, const char *name)
{
    enum { BUCKETS, FIRST, BLOOM_WORDS, HEAD = 4 };
    const uint32_t *hash = names->hash;
    if (names->symbols == NULL || names->texts == NULL || hash == NULL || hash[BUCKETS] == 0)
        return false;
    uint32_t value = 5381;
    for (const char *at = name; *at != '\0'; at++)
        value = value * 33 + (unsigned char)*at;
    const uint32_t *buckets = hash + HEAD + hash[BLOOM_WORDS] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *values = buckets + hash[BUCKETS];
    uint32_t number = buckets[value % hash[BUCKETS]];
    for (bool last = number < hash[FIRST]; !last; number++) {
        uint32_t its = values[number - hash[FIRST]];
        if ((its | 1) == (value | 1) &&
            strcmp(names->texts + names->symbols[number].st_name, name) == 0)
            return true;
        last = (its & 1) != 0;
    }
    return false;
}

static int object_ask(struct dl_phdr_info *info, size_t size, void *context)
{
    struct question *question = context;
    const ElfW(Dyn) *dynamic = NULL;
    bool inside = false;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)start;
        inside |= part->p_type == PT_LOAD && question->pc - 1 - start < part->p_memsz;
    }
    if (!inside || dynamic == NULL)
        return inside;
    struct names names = names_of(dynamic, info->dlpi_addr);
    question->yes = defines(&names, question->frees ? "_ZdlPv" : "_Znwm");
    return 1;
}

bool operators_of_library(uintptr_t pc, bool frees)
{
    struct question question = {pc, frees, false};
    if (dl_iterate_phdr != NULL && !os_static())
        dl_iterate_phdr(object_ask, &question);
    return question.yes;
}
