// SPDX-License-Identifier: MIT
// Names that the old commands shorten: overloads, templates, members, namespaces.
#include <cstdlib>

static void *volatile hold;
static volatile int sink;

namespace outer
{
struct Cache {
    __attribute__((noinline)) void insert(int count) const
    {
        for (int i = 0; i < count; i++)
            hold = malloc(4000);
        sink++;
    }
    __attribute__((noinline)) static Cache *make(const char *name, int size)
    {
        hold = malloc(static_cast<size_t>(size));
        sink++;
        return name ? reinterpret_cast<Cache *>(hold) : nullptr;
    }
};
template <class T, int N> struct Table {
    __attribute__((noinline)) void fill(T value)
    {
        hold = malloc(sizeof(T) * N);
        sink += static_cast<int>(value);
    }
};
} // namespace outer

__attribute__((noinline)) void keep(int count)
{
    for (int i = 0; i < count; i++)
        hold = malloc(2000);
    sink++;
}

__attribute__((noinline)) void keep(double count)
{
    for (int i = 0; i < count; i++)
        hold = malloc(6000);
    sink++;
}

template <class T> __attribute__((noinline)) T *keep_all(T first, int count)
{
    hold = malloc(sizeof(T) * static_cast<size_t>(count));
    sink += static_cast<int>(first);
    return static_cast<T *>(hold);
}

int main()
{
    outer::Cache cache;
    outer::Table<int, 1000> numbers;
    outer::Table<double, 3000> more;
    cache.insert(30);
    outer::Cache::make("name", 100000);
    numbers.fill(1);
    more.fill(2);
    keep(10);
    keep(20.0);
    keep_all<int>(3, 50000);
    keep_all<char>('c', 90000);
    return 0;
}
