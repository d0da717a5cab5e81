/* SPDX-License-Identifier: MIT */
/*
 * gperftools' leak checker, for programs that say #include <gperftools/heap-checker.h>: compile
 * with -I.../include/memoir/compat. Programs that were compiled with gperftools' own header run as
 * they are. Nothing is checked unless the program is started with HEAPCHECK set to a mode.
 */
#ifndef BASE_HEAP_CHECKER_H_
#define BASE_HEAP_CHECKER_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Checks a part of a program: blocks that were allocated after the checker was made and that
 * nothing points to when NoLeaks is called are leaks. */
class HeapLeakChecker
{
  public:
    /* The name becomes part of a file name. */
    explicit HeapLeakChecker(const char *name);
    /* Ends the program if there was no check. */
    ~HeapLeakChecker();

    /* All the same: true if there is no leak. */
    bool NoLeaks()
    {
        return DoNoLeaks(DO_NOT_SYMBOLIZE);
    }
    bool QuickNoLeaks()
    {
        return NoLeaks();
    }
    bool BriefNoLeaks()
    {
        return NoLeaks();
    }
    bool SameHeap()
    {
        return NoLeaks();
    }
    bool QuickSameHeap()
    {
        return NoLeaks();
    }
    bool BriefSameHeap()
    {
        return NoLeaks();
    }
    /* After one of these. */
    ssize_t BytesLeaked() const;
    ssize_t ObjectsLeaked() const;

    /* Whether checkers check anything. */
    static bool IsActive();
    /* The checker of the whole program, or NULL; its check now; no check at its end. */
    static HeapLeakChecker *GlobalChecker();
    static bool NoGlobalLeaks();
    static void CancelGlobalCheck();

    /* While an object of this class lives, what its thread allocates is no leak. */
    class Disabler
    {
      public:
        Disabler();
        ~Disabler();

      private:
        Disabler(const Disabler &);
        void operator=(const Disabler &);
    };
    /* The block that `object` points to, or into, is no leak, nor is what it leads to; it may be
     * one again. */
    template <typename T> static T *IgnoreObject(T *object)
    {
        DoIgnoreObject(static_cast<const void *>(const_cast<const T *>(object)));
        return object;
    }
    static void UnIgnoreObject(const void *object);

  private:
    enum ShouldSymbolize { SYMBOLIZE, DO_NOT_SYMBOLIZE };
    bool DoNoLeaks(ShouldSymbolize should_symbolize);
    static void DoIgnoreObject(const void *object);

    /* The layout is gperftools'. */
    void *lock_;
    const char *name_;
    void *start_snapshot_;
    bool has_checked_;
    ssize_t inuse_bytes_increase_, inuse_allocs_increase_;
    bool keep_profiles_;

    HeapLeakChecker(const HeapLeakChecker &);
    void operator=(const HeapLeakChecker &);
};

/* A pointer that leads a checker nowhere. */
template <class T> class HiddenPointer
{
  public:
    explicit HiddenPointer(T *pointer) : hidden_(reinterpret_cast<uintptr_t>(pointer) ^ mask())
    {
    }
    T *get() const
    {
        return reinterpret_cast<T *>(hidden_ ^ mask());
    }

  private:
    static uintptr_t mask()
    {
        return static_cast<uintptr_t>(0xF03A5F7BF03A5F7BULL);
    }
    uintptr_t hidden_;
};

/* A function that is called at the end of the program. */
class HeapCleaner
{
  public:
    typedef void (*void_function)(void);
    HeapCleaner(void_function function);
    static void RunHeapCleanups();
};

#define REGISTER_HEAPCHECK_CLEANUP(name, body)                              \
    namespace                                                               \
    {                                                                       \
    void heapcheck_cleanup_##name()                                         \
    {                                                                       \
        body;                                                               \
    }                                                                       \
    static HeapCleaner heapcheck_cleaner_##name(&heapcheck_cleanup_##name); \
    }

#endif
