/* SPDX-License-Identifier: MIT */
/*
 * C++'s operators new and delete, defined by mimalloc's functions: for exactly one source file of a
 * program. See mimalloc.h.
 */
#ifndef MIMALLOC_NEW_DELETE_H
#define MIMALLOC_NEW_DELETE_H

#ifdef __cplusplus
#include <mimalloc.h>
#include <new>

mi_decl_nodiscard void *operator new(std::size_t size)
{
    return mi_new(size);
}
mi_decl_nodiscard void *operator new[](std::size_t size)
{
    return mi_new(size);
}
mi_decl_nodiscard void *operator new(std::size_t size, const std::nothrow_t &) mi_attr_noexcept
{
    return mi_new_nothrow(size);
}
mi_decl_nodiscard void *operator new[](std::size_t size, const std::nothrow_t &) mi_attr_noexcept
{
    return mi_new_nothrow(size);
}
void operator delete(void *p) mi_attr_noexcept
{
    mi_free(p);
}
void operator delete[](void *p) mi_attr_noexcept
{
    mi_free(p);
}
void operator delete(void *p, const std::nothrow_t &) mi_attr_noexcept
{
    mi_free(p);
}
void operator delete[](void *p, const std::nothrow_t &) mi_attr_noexcept
{
    mi_free(p);
}

#if __cplusplus >= 201402L
void operator delete(void *p, std::size_t size) noexcept
{
    mi_free_size(p, size);
}
void operator delete[](void *p, std::size_t size) noexcept
{
    mi_free_size(p, size);
}
#endif

#ifdef __cpp_aligned_new
mi_decl_nodiscard void *operator new(std::size_t size, std::align_val_t align)
{
    return mi_new_aligned(size, static_cast<std::size_t>(align));
}
mi_decl_nodiscard void *operator new[](std::size_t size, std::align_val_t align)
{
    return mi_new_aligned(size, static_cast<std::size_t>(align));
}
mi_decl_nodiscard void *operator new(std::size_t size, std::align_val_t align,
                                     const std::nothrow_t &) noexcept
{
    return mi_new_aligned_nothrow(size, static_cast<std::size_t>(align));
}
mi_decl_nodiscard void *operator new[](std::size_t size, std::align_val_t align,
                                       const std::nothrow_t &) noexcept
{
    return mi_new_aligned_nothrow(size, static_cast<std::size_t>(align));
}
void operator delete(void *p, std::align_val_t align) noexcept
{
    mi_free_aligned(p, static_cast<std::size_t>(align));
}
void operator delete[](void *p, std::align_val_t align) noexcept
{
    mi_free_aligned(p, static_cast<std::size_t>(align));
}
void operator delete(void *p, std::size_t size, std::align_val_t align) noexcept
{
    mi_free_size_aligned(p, size, static_cast<std::size_t>(align));
}
void operator delete[](void *p, std::size_t size, std::align_val_t align) noexcept
{
    mi_free_size_aligned(p, size, static_cast<std::size_t>(align));
}
void operator delete(void *p, std::align_val_t align, const std::nothrow_t &) noexcept
{
    mi_free_aligned(p, static_cast<std::size_t>(align));
}
void operator delete[](void *p, std::align_val_t align, const std::nothrow_t &) noexcept
{
    mi_free_aligned(p, static_cast<std::size_t>(align));
}
#endif
#endif

#endif
