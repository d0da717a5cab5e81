/* SPDX-License-Identifier: MIT */
/*
 * Whose memory is it? Frames of allocators and of the libraries that everybody uses stand between
 * malloc and the code that wanted the memory; what they allocate belongs to who called them. The
 * list is data, and `memoir help blame` prints it.
 *
 * An entry is a kind and a word. Allocators are first; they are functions, too. A function's is its
 * whole name without return type and arguments, or with * at the end its beginning; a module's is
 * the beginning of its file's name; a source's is part of its path, a header's all of it, if its
 * folder is not known. `rust` is a function whose
 * source, if it is known, is that of Rust's library: other languages have a core of their own.
 */
#include "tool/report/view.h"

#include <string.h>

#include "base/compiler.h"

const char *const blame_patterns[] = {
    "allocator malloc",
    "allocator calloc",
    "allocator realloc",
    "allocator reallocarray",
    "allocator memalign",
    "allocator aligned_alloc",
    "allocator posix_memalign",
    "allocator valloc",
    "allocator pvalloc",
    "allocator free",
    "allocator cfree",
    "allocator strdup",
    "allocator strndup",
    "allocator __strdup",
    "allocator __strndup",
    "allocator __libc_malloc*",
    "allocator __libc_calloc*",
    "allocator __libc_realloc*",
    "allocator __libc_memalign*",
    "allocator __GI___libc_*",
    "allocator __interceptor_*",
    "allocator __malloc*",
    "allocator _int_malloc*",
    "allocator _int_realloc*",
    "allocator _int_memalign*",
    "allocator operator new*",
    "allocator operator delete*",
    "allocator _Znw*",
    "allocator _Zna*",
    "allocator _Zdl*",
    "allocator _Zda*",
    "allocator tc_malloc*",
    "allocator tc_calloc*",
    "allocator tc_realloc*",
    "allocator tc_new*",
    "allocator tc_memalign*",
    "allocator tc_valloc*",
    "allocator tcmalloc::*",
    "allocator je_*",
    "allocator prof_backtrace*",
    "allocator prof_alloc_prep*",
    "allocator mallocx*",
    "allocator rallocx*",
    "allocator xallocx*",
    "allocator mi_malloc*",
    "allocator mi_calloc*",
    "allocator mi_realloc*",
    "allocator mi_zalloc*",
    "allocator mi_new*",
    "allocator _mi_*",
    "allocator memoir_*",
    "allocator __rust_alloc*",
    "allocator __rust_realloc*",
    "allocator __rg_*",
    "allocator __rdl_*",
    /* C library and start of programs */
    "module libc.so",
    "module libc-2",
    "module ld-linux",
    "module ld-musl",
    "module ld-2",
    "module libpthread",
    "module libm.so",
    "module libdl",
    /* C++ libraries, in their files or inlined */
    "module libstdc++",
    "module libc++",
    "module libgcc_s",
    "module libsupc++",
    "function std::*",
    "function __gnu_cxx::*",
    "function __cxxabiv1::*",

    "function _ZSt*",
    "function _ZNSt*",
    "function _ZNKSt*",
    "function _ZN9__gnu_cxx*",
    "function __cxa_*",

    "function __allocator*",
    "function _ZNSa*",

    "source /include/c++/",
    "source /c++/v1/",
    /* the same where a format has no folders: DHAT, massif */
    "header basic_string.h",
    "header basic_string.tcc",
    "header new_allocator.h",
    "header allocator.h",
    "header alloc_traits.h",
    "header stl_vector.h",
    "header vector.tcc",
    "header stl_tree.h",
    "header stl_map.h",
    "header stl_list.h",
    "header stl_deque.h",
    "header deque.tcc",
    "header hashtable.h",
    "header hashtable_policy.h",
    "header stl_construct.h",
    "header stl_uninitialized.h",
    "header stl_algobase.h",
    "header shared_ptr_base.h",
    "header shared_ptr.h",
    "header std_function.h",
    /* allocators as libraries */
    "module libmemoir",
    "module libjemalloc",
    "module libtcmalloc",
    "module libmimalloc",
    "module libheaptrack",
    "module vgpreload",
    "module libprofiler",
    "module libasan",
    "module liblsan",
    "module libtsan",
    /* Rust */
    "rust alloc::*",
    "rust core::*",
    "rust <alloc::*",
    "rust <core::*",
    "rust <std::*",
    "rust hashbrown::*",
    "rust <hashbrown::*",
    "function __rustc::*",
    "rust <T as alloc::*",
    "rust <T as core::*",
    "rust <F as core::*",
    /* GLib */
    "function g_malloc*",
    "function g_realloc*",
    "function g_try_*",
    "function g_strdup*",
    "function g_strndup*",
    "function g_strconcat*",
    "function g_slice_*",
    "function g_memdup*",
    "function g_list_*",
    "function g_slist_*",
    "function g_queue_*",
    "function g_hash_table_*",
    "function g_array_*",
    "function g_ptr_array_*",
    "function g_byte_array_*",
    "function g_string_*",
    "function g_tree_*",
    "function g_strsplit*",
    "function g_build_*",
    "function g_bytes_*",
    "function g_variant_*",
    "function g_aligned_alloc*",
    /* Python, and wrappers by their usual names */
    "function PyMem_*",
    "function _PyMem_*",
    "function PyObject_Malloc",
    "function _PyObject_Malloc",
    "function PyObject_Calloc",
    "function _PyObject_Calloc",
    "function PyObject_Realloc",
    "function _PyObject_Realloc",
    "function _PyObject_Arena*",
    "function pymalloc_*",
    "function new_arena",
    "function allocate_from_new_pool",
    "function arena_map_get",
    "function xmalloc",
    "function xcalloc",
    "function xrealloc",
    "function xstrdup",
    "function xstrndup",
    "function xmemdup",
    /* Qt */
    "function QArrayData::*",
    "function QTypedArrayData*",
    "function QArrayDataPointer*",
    "function QList<*",
    "function QVector<*",
    "function QVarLengthArray<*",
    "function QHash<*",
    "function QHashData::*",
    "function QHashPrivate::*",
    "function QMap<*",
    "function QMapData*",
    "function QSet<*",
    "function QString::*",
    "function QByteArray::*",
    "function QListData::*",
    "function QStringBuilder<*",
    "function QtPrivate::*",
    "function QStringList::*",
    "function qMalloc*",
    "function qRealloc*",
};
const size_t blame_patterns_count = COUNT_OF(blame_patterns);

static bool word_fits(const char *word, const char *name)
{
    size_t length = strlen(word);
    if (length > 0 && word[length - 1] == '*')
        return strncmp(word, name, length - 1) == 0;
    return strcmp(word, name) == 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Behind the return type that names of C++ templates begin with. */
static const char *qualified(const char *name)
{
    const char *start = name;
    unsigned depth = 0;
    if (strncmp(name, "decltype", 8) == 0) {
        const char *space = strstr(name, ") ");
        return space ? space + 2 : name;
    }
    for (const char *at = name; *at; at++) {
        if (depth == 0 && strncmp(at, "operator", 8) == 0)
            break;
        if (*at == '<')
            depth++;
        else if (*at == '>' && depth > 0 && at[-1] != '-')
            depth--;
        else if (depth == 0 && *at == '(' && strncmp(at, "(anonymous", 10) != 0)
            break;
        else if (depth == 0 && *at == '(')
            at = strchr(at, ')') ? strchr(at, ')') : at;
        else if (depth == 0 && *at == ' ' && at[1] == '[')
            break;
        else if (depth == 0 && *at == ' ')
            start = at + 1;
    }
    return *start ? start : name;
}

bool blame_is_allocator(const char *function)
{
    const char *name = qualified(function);
    for (size_t i = 0; i < blame_patterns_count && blame_patterns[i][0] == 'a'; i++)
        if (word_fits(strchr(blame_patterns[i], ' ') + 1, name))
            return true;
    return false;
}

bool blame_is_library(const char *function, const char *file, const char *module)
{
    const char *name = qualified(function), *short_module = base_name(module);
    bool rust = file[0] == '\0' || strstr(file, "/rustc/") || strstr(file, "library/");
    for (size_t i = 0; i < blame_patterns_count; i++) {
        const char *entry = blame_patterns[i], *word = strchr(entry, ' ') + 1;
        bool fits = entry[0] == 'm'   ? strncmp(short_module, word, strlen(word)) == 0
                    : entry[0] == 's' ? strstr(file, word) != NULL
                    : entry[0] == 'h' ? strcmp(file, word) == 0
                                      : (entry[0] != 'r' || rust) && word_fits(word, name);
        if (fits)
            return true;
    }
    return false;
}
