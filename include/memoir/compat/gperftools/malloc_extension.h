/* SPDX-License-Identifier: MIT */
/*
 * gperftools' questions about the allocator, in C++, for programs that say #include
 * <gperftools/malloc_extension.h>. The order of the virtual functions is that of gperftools: a
 * program that was built with its header runs with memoir, and the other way round. What each
 * answers here is in docs/COMPATIBILITY.md.
 */
#ifndef BASE_MALLOC_EXTENSION_H_
#define BASE_MALLOC_EXTENSION_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

static const int kMallocHistogramSize = 64;
typedef std::string MallocExtensionWriter;

namespace base
{
struct MallocRange;
}

/* A source of memory of the program's own. memoir notes it and takes memory from the kernel. */
class PERFTOOLS_DLL_DECL SysAllocator
{
  public:
    SysAllocator()
    {
    }
    virtual ~SysAllocator();
    virtual void *Alloc(size_t size, size_t *actual_size, size_t alignment) = 0;
};

class PERFTOOLS_DLL_DECL MallocExtension
{
  public:
    virtual ~MallocExtension();

    static void Initialize();
    /* The allocator's own, or the registered one. */
    static MallocExtension *instance();
    static void Register(MallocExtension *implementation);

    virtual bool VerifyAllMemory();
    virtual bool VerifyNewMemory(const void *p);
    virtual bool VerifyArrayNewMemory(const void *p);
    virtual bool VerifyMallocMemory(const void *p);
    virtual bool MallocMemoryStats(int *blocks, size_t *total, int histogram[kMallocHistogramSize]);
    virtual void GetStats(char *buffer, int buffer_length);

    /* Heap profiles as text, for google-pprof. */
    virtual void GetHeapSample(MallocExtensionWriter *writer);
    virtual void GetHeapGrowthStacks(MallocExtensionWriter *writer);

    typedef void(RangeFunction)(void *, const base::MallocRange *);
    virtual void Ranges(void *arg, RangeFunction func);

    /* False if there is no such property or it can't be set. */
    virtual bool GetNumericProperty(const char *property, size_t *value);
    virtual bool SetNumericProperty(const char *property, size_t value);

    virtual void MarkThreadIdle();
    virtual void MarkThreadBusy();
    virtual SysAllocator *GetSystemAllocator();
    virtual void SetSystemAllocator(SysAllocator *a);
    virtual void ReleaseToSystem(size_t num_bytes);
    virtual void ReleaseFreeMemory();
    virtual void SetMemoryReleaseRate(double rate);
    virtual double GetMemoryReleaseRate();
    virtual size_t GetEstimatedAllocatedSize(size_t size);
    virtual size_t GetAllocatedSize(const void *p);

    enum Ownership { kUnknownOwnership = 0, kOwned, kNotOwned };
    virtual Ownership GetOwnership(const void *p);

    struct FreeListInfo {
        size_t min_object_size;
        size_t max_object_size;
        size_t total_bytes_free;
        const char *type;
    };
    virtual void GetFreeListSizes(std::vector<FreeListInfo> *v);

    /* Count, bytes, depth and frames of each stack, then 0. The caller deletes the array. */
    virtual void **ReadStackTraces(int *sample_period);
    virtual void **ReadHeapGrowthStackTraces();

    virtual size_t GetThreadCacheSize();
    virtual void MarkThreadTemporarilyIdle();
};

namespace base
{
struct MallocRange {
    enum Type { INUSE, FREE, UNMAPPED, UNKNOWN };

    uintptr_t address;
    size_t length;
    Type type;
    double fraction; /* of it that is in use */
};
} // namespace base

#endif
