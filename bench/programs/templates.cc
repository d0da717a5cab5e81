// SPDX-License-Identifier: MIT
// A C++ source that keeps a compiler busy: many standard headers, and templates of ours that
// instantiate containers, algorithms and functors for types of their own. It is compiled
// by the benchmark (g++ -std=c++17 -S), never run.
#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

template <int N> struct Unit {
    double value = N;
    std::string name = "unit " + std::to_string(N);
    bool operator<(const Unit &other) const
    {
        return value < other.value;
    }
};

template <int N> struct Shelf {
    std::map<std::string, std::vector<Unit<N>>> rows;
    std::unordered_map<int, std::shared_ptr<Unit<N>>> index;
    std::deque<std::optional<Unit<N>>> waiting;

    void add(const std::string &key, double value)
    {
        Unit<N> unit;
        unit.value = value;
        rows[key].push_back(unit);
        index.emplace(static_cast<int>(value), std::make_shared<Unit<N>>(unit));
        waiting.emplace_back(unit);
    }

    double total() const
    {
        double sum = 0;
        for (const auto &[key, units] : rows)
            sum += std::accumulate(units.begin(), units.end(), 0.0,
                                   [](double s, const Unit<N> &u) { return s + u.value; });
        return sum;
    }

    void sort()
    {
        for (auto &row : rows)
            std::stable_sort(row.second.begin(), row.second.end());
    }
};

template <int N> using Value = std::variant<int, std::string, Unit<N>, std::tuple<Unit<N>, int>>;

template <int N> std::string show(const Value<N> &value)
{
    return std::visit(
        [](const auto &v) -> std::string {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, int>)
                return std::to_string(v);
            else if constexpr (std::is_same_v<T, std::string>)
                return v;
            else if constexpr (std::is_same_v<T, Unit<N>>)
                return v.name;
            else
                return std::get<0>(v).name + std::to_string(std::get<1>(v));
        },
        value);
}

template <int N> double run(std::ostream &out)
{
    Shelf<N> shelf;
    std::mt19937 dice(N);
    for (int i = 0; i < 100; i++)
        shelf.add("row " + std::to_string(i % 7), dice() % 1000);
    shelf.sort();
    std::set<Unit<N>> units;
    std::list<std::function<double(double)>> steps;
    for (const auto &entry : shelf.index)
        steps.push_back([unit = entry.second](double x) { return x + unit->value; });
    double sum = shelf.total();
    for (const auto &step : steps)
        sum = step(sum);
    std::vector<Value<N>> values{N, std::string("text"), Unit<N>{}, std::tuple{Unit<N>{}, N}};
    for (const auto &value : values)
        out << show<N>(value) << '\n';
    return sum;
}

template <int... N> double run_all(std::ostream &out, std::integer_sequence<int, N...>)
{
    return (run<N>(out) + ...);
}

int main()
{
    std::ostringstream out;
    double sum = run_all(out, std::make_integer_sequence<int, 1>{});
    std::string text = out.str();
    auto count = std::count(text.begin(), text.end(), '\n');
    std::cout << sum << ' ' << count << '\n';
    return 0;
}
