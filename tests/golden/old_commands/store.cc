// SPDX-License-Identifier: MIT
// Memory as optimised C++ takes it: inlined functions, templates, containers, operator new, a
// lambda in a thread; and work for a CPU profile. Nothing is given back at the end.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

static void *volatile hold;
static volatile unsigned long sink;

namespace store
{
struct Row {
    std::string name;
    std::vector<int> cells;
};
// Inlined into whoever calls it where there is optimisation.
static inline Row make_row(int number)
{
    Row row;
    row.name = "a name that is too long to be kept in place " + std::to_string(number);
    row.cells.resize(static_cast<size_t>(number % 50 + 20));
    return row;
}
class Table
{
  public:
    __attribute__((noinline)) void grow(int count)
    {
        for (int i = 0; i < count; i++)
            rows.push_back(make_row(i));
    }
    __attribute__((noinline)) void index()
    {
        for (auto &row : rows)
            names[row.name] = row.cells.data();
    }
    size_t size() const
    {
        return rows.size();
    }

  private:
    std::vector<Row> rows;
    std::map<std::string, int *> names;
};
} // namespace store

static inline void *helper(size_t bytes)
{
    void *block = malloc(bytes);
    if (!block)
        abort();
    return block;
}

extern "C" __attribute__((noinline)) void twice(int count)
{
    for (int i = 0; i < count; i++) {
        hold = helper(100);
        hold = helper(20000);
    }
}

extern "C" __attribute__((noinline)) unsigned long burn(unsigned long rounds)
{
    unsigned long sum = sink;
    for (unsigned long i = 1; i < rounds; i++)
        sum += sum / i ^ i;
    return sink = sum;
}

static void work(int count)
{
    static auto &tables = *new std::vector<std::unique_ptr<store::Table>>;
    auto table = std::make_unique<store::Table>();
    table->grow(count);
    table->index();
    tables.push_back(std::move(table));
    sink++;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 2000;
    work(count);
    twice(50);
    std::thread other([count] {
        twice(count / 10);
        sink++;
    });
    other.join();
    if (argc > 2)
        burn(strtoul(argv[2], nullptr, 10));
    hold = new store::Table[3];
    hold = new char[123456];
    return 0;
}
