/* SPDX-License-Identifier: MIT */
/* Part of mimalloc.h: allocators for containers in C++. */
#ifndef MIMALLOC_STL_H
#define MIMALLOC_STL_H

#include <mimalloc-heap.h>

#ifdef __cplusplus
#include <cstddef>
#if __cplusplus >= 201103L
#include <type_traits>
#include <utility>
#endif

/* What the allocators for containers below share. */
template <class T> struct _mi_stl_allocator_common {
    typedef T value_type;
    typedef std::size_t size_type;
    typedef std::ptrdiff_t difference_type;
    typedef T &reference;
    typedef T const &const_reference;
    typedef T *pointer;
    typedef T const *const_pointer;

#if __cplusplus >= 201103L
    using propagate_on_container_copy_assignment = std::true_type;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;
    template <class U, class... Args> void construct(U *place, Args &&...args)
    {
        ::new (static_cast<void *>(place)) U(std::forward<Args>(args)...);
    }
    template <class U> void destroy(U *object) mi_attr_noexcept
    {
        object->~U();
    }
#else
    void construct(pointer place, const_reference value)
    {
        ::new (static_cast<void *>(place)) T(value);
    }
    void destroy(pointer object)
    {
        object->~T();
    }
#endif
    size_type max_size() const mi_attr_noexcept
    {
        return ~static_cast<size_type>(0) / 2 / sizeof(T);
    }
    pointer address(reference value) const
    {
        return &value;
    }
    const_pointer address(const_reference value) const
    {
        return &value;
    }
};

/* Containers whose memory comes from mi_new_n. */
template <class T> struct mi_stl_allocator : public _mi_stl_allocator_common<T> {
    typedef typename _mi_stl_allocator_common<T>::size_type size_type;
    typedef typename _mi_stl_allocator_common<T>::value_type value_type;
    typedef typename _mi_stl_allocator_common<T>::pointer pointer;
    template <class U> struct rebind {
        typedef mi_stl_allocator<U> other;
    };
#if __cplusplus >= 201103L
    using is_always_equal = std::true_type;
#endif
    mi_stl_allocator() mi_attr_noexcept
    {
    }
    mi_stl_allocator(const mi_stl_allocator &) mi_attr_noexcept
    {
    }
    template <class U> mi_stl_allocator(const mi_stl_allocator<U> &) mi_attr_noexcept
    {
    }
    mi_stl_allocator &operator=(const mi_stl_allocator &) mi_attr_noexcept
    {
        return *this;
    }
    mi_stl_allocator select_on_container_copy_construction() const
    {
        return *this;
    }
    mi_decl_nodiscard T *allocate(size_type count, const void * = 0)
    {
        return static_cast<T *>(mi_new_n(count, sizeof(T)));
    }
    void deallocate(T *block, size_type)
    {
        mi_free(block);
    }
};

template <class T, class U>
bool operator==(const mi_stl_allocator<T> &, const mi_stl_allocator<U> &) mi_attr_noexcept
{
    return true;
}
template <class T, class U>
bool operator!=(const mi_stl_allocator<T> &, const mi_stl_allocator<U> &) mi_attr_noexcept
{
    return false;
}

#if __cplusplus >= 201103L
#define MI_HAS_HEAP_STL_ALLOCATOR 1
#include <memory>

/* Containers in a heap, which all copies of an allocator share. It is deleted, or destroyed, with
    the
 * last of them, unless the program gave it to the first. */
template <class T, bool _mi_destroy>
struct _mi_heap_stl_allocator_common : public _mi_stl_allocator_common<T> {
    typedef typename _mi_stl_allocator_common<T>::size_type size_type;
    typedef typename _mi_stl_allocator_common<T>::value_type value_type;
    typedef typename _mi_stl_allocator_common<T>::pointer pointer;
    using is_always_equal = std::false_type;

    _mi_heap_stl_allocator_common(mi_heap_t *given) : heap(given, [](mi_heap_t *) {})
    {
    }
    mi_decl_nodiscard T *allocate(size_type count, const void * = 0)
    {
        return static_cast<T *>(mi_heap_alloc_new_n(heap.get(), count, sizeof(T)));
    }
    void collect(bool force)
    {
        mi_heap_collect(heap.get(), force);
    }
    template <class U>
    bool is_equal(const _mi_heap_stl_allocator_common<U, _mi_destroy> &other) const
    {
        return heap == other.heap;
    }

  protected:
    std::shared_ptr<mi_heap_t> heap;
    template <class U, bool D> friend struct _mi_heap_stl_allocator_common;

    _mi_heap_stl_allocator_common()
        : heap(mi_heap_new(), _mi_destroy ? &destroy_heap : &delete_heap)
    {
    }
    _mi_heap_stl_allocator_common(const _mi_heap_stl_allocator_common &other) noexcept
        : heap(other.heap)
    {
    }
    template <class U>
    _mi_heap_stl_allocator_common(
        const _mi_heap_stl_allocator_common<U, _mi_destroy> &other) noexcept
        : heap(other.heap)
    {
    }
    _mi_heap_stl_allocator_common &operator=(const _mi_heap_stl_allocator_common &) = default;

  private:
    static void delete_heap(mi_heap_t *heap)
    {
        if (heap != NULL)
            mi_heap_delete(heap);
    }
    static void destroy_heap(mi_heap_t *heap)
    {
        if (heap != NULL)
            mi_heap_destroy(heap);
    }
};

template <class T> struct mi_heap_stl_allocator : public _mi_heap_stl_allocator_common<T, false> {
    typedef typename _mi_heap_stl_allocator_common<T, false>::size_type size_type;
    template <class U> struct rebind {
        typedef mi_heap_stl_allocator<U> other;
    };
    mi_heap_stl_allocator()
    {
    }
    mi_heap_stl_allocator(mi_heap_t *heap) : _mi_heap_stl_allocator_common<T, false>(heap)
    {
    }
    template <class U>
    mi_heap_stl_allocator(const mi_heap_stl_allocator<U> &other) noexcept
        : _mi_heap_stl_allocator_common<T, false>(other)
    {
    }
    mi_heap_stl_allocator select_on_container_copy_construction() const
    {
        return *this;
    }
    void deallocate(T *block, size_type)
    {
        mi_free(block);
    }
};

/* Blocks are freed with the heap only. */
template <class T>
struct mi_heap_destroy_stl_allocator : public _mi_heap_stl_allocator_common<T, true> {
    typedef typename _mi_heap_stl_allocator_common<T, true>::size_type size_type;
    template <class U> struct rebind {
        typedef mi_heap_destroy_stl_allocator<U> other;
    };
    mi_heap_destroy_stl_allocator()
    {
    }
    mi_heap_destroy_stl_allocator(mi_heap_t *heap) : _mi_heap_stl_allocator_common<T, true>(heap)
    {
    }
    template <class U>
    mi_heap_destroy_stl_allocator(const mi_heap_destroy_stl_allocator<U> &other) noexcept
        : _mi_heap_stl_allocator_common<T, true>(other)
    {
    }
    mi_heap_destroy_stl_allocator select_on_container_copy_construction() const
    {
        return *this;
    }
    void deallocate(T *, size_type)
    {
    }
};

template <class T, class U>
bool operator==(const mi_heap_stl_allocator<T> &a, const mi_heap_stl_allocator<U> &b) noexcept
{
    return a.is_equal(b);
}
template <class T, class U>
bool operator!=(const mi_heap_stl_allocator<T> &a, const mi_heap_stl_allocator<U> &b) noexcept
{
    return !a.is_equal(b);
}
template <class T, class U>
bool operator==(const mi_heap_destroy_stl_allocator<T> &a,
                const mi_heap_destroy_stl_allocator<U> &b) noexcept
{
    return a.is_equal(b);
}
template <class T, class U>
bool operator!=(const mi_heap_destroy_stl_allocator<T> &a,
                const mi_heap_destroy_stl_allocator<U> &b) noexcept
{
    return !a.is_equal(b);
}
#endif /* C++11 */

#endif /* __cplusplus */

#endif
