#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout=600
# In real programs our walks and libunwind's are the same, frame by frame, at every place where
# they allocate: interpreters, compilers, a JIT, threads, C++ exceptions. A planted difference must
# be seen.
. "$(dirname "$0")/common.sh"

cd "$place" || exit 2
library=''
for path in /usr/lib/*/libunwind.so.8 /usr/lib64/libunwind.so.8 /usr/lib/libunwind.so.8; do
    [ -e "$path" ] && library=$path
done
[ -n "$library" ] || skip "libunwind8 is not installed"

build -O2 -fPIC -shared -ftls-model=initial-exec "$root/tests/programs/walks_agree_with_libunwind.c" \
    "$root/lib/watch/unwind.c" "$root/lib/watch/rules.c" "$root/lib/watch/own_stack.c" "$root/lib/watch/code.c" "$root/base/call.c" \
    "$root/base/cfi.c" "$root/base/cfi_expression.c" \
    "$root/base/object.c" "$root/base/loaded.c" "$root/base/os.c" "$root/base/os_clock.c" "$root/base/os_thread.c" "$root/base/os_memory.c" "$root/base/confine.c" \
    "$root/base/alternate.c" -o shim.so

walk() { # NAME LEAST COMMAND: at least LEAST walks, none of them different
    name=$1
    least=$2
    shift 2
    command -v "$1" >/dev/null || return 0
    rm -f verdict
    VERDICT=$place/verdict LD_PRELOAD=$place/shim.so "$@" >out 2>err </dev/null
    [ -e verdict ] || { fail "$name: no verdict: $(head -n 3 err)"; return; }
    awk '{ walks += $1; different += $2; cut += $3 }
        END { print walks + 0, different + 0, cut + 0 }' verdict >sums
    read -r walks different cut <sums
    echo "$name: $walks walks, $different different, $cut cut"
    [ "$walks" -ge "$least" ] || fail "$name: too few walks to say anything"
    [ "$different" -eq 0 ] || fail "$name: $different of $walks differ: $(head -n 40 err)"
}

cat >throws.cc <<'END'
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
template <int N> int dive(std::map<std::string, int> &seen, int seed)
{
    std::function<int(int)> next = [&seen](int x) { return dive<N - 1>(seen, x); };
    seen[std::string(30, 'a' + seed % 20) + std::to_string(seed)] = N;
    try {
        return next(seed * 7 + N) + 1;
    } catch (const std::runtime_error &error) {
        if (seed % 3)
            throw std::runtime_error(std::string(error.what()) + "again, and again, and again");
        return 0;
    }
}
template <> int dive<0>(std::map<std::string, int> &seen, int seed)
{
    if (seed % 2)
        throw std::runtime_error("a text that is too long for the small buffer" + std::to_string(seed));
    return (int)seen.size();
}
int main()
{
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([t] {
            std::map<std::string, int> seen;
            for (int i = 0; i < 300; i++)
                try {
                    dive<12>(seen, i + t);
                } catch (const std::exception &) {
                }
        });
    for (auto &thread : threads)
        thread.join();
}
END
if "$CXX" -O2 -pthread throws.cc -o throws 2>/dev/null; then
    walk exceptions 10000 ./throws
    PLANT=1 VERDICT=$place/planted LD_PRELOAD=$place/shim.so ./throws 2>/dev/null
    awk '{ exit $2 == 0 }' planted || fail "planted differences are not seen"
    walk 'a C++ compiler' 10000 "$CXX" -O2 -pthread throws.cc -o again
fi
walk python3 1000 "$(command -v /usr/bin/python3 || echo python3)" -c '
import json, re, threading
def work():
    for i in range(300):
        json.loads(json.dumps({str(k): [k] * 5 for k in range(i % 50)}))
        re.compile("a|b" * (i % 7) + "c%d" % i)
threads = [threading.Thread(target=work) for i in range(3)]
[t.start() for t in threads]; [t.join() for t in threads]'
walk perl 1000 perl -e 'my %h; $h{"k$_"} = [1 .. 5] for 1 .. 3000;
    my @s = sort { $a cmp $b } map { s/k/kk/r } keys %h; eval { die { x => "y" x $_ } } for 1 .. 100'
walk sqlite3 300 sqlite3 :memory: 'create table a(x, y); insert into a values (1, 2), (3, 4);
    create index i on a(y); select group_concat(x), sum(y) from a group by x order by y'
walk git 100 git -C "$root" log --stat -n 20
EVERY=7 walk node 1000 node -e 'let a = []; for (let i = 0; i < 3000; i++) a.push({x: i, s: "x" + i});
    JSON.parse(JSON.stringify(a)); a.map(o => o.s.replace(/x/g, "yy")).sort()'
cat >boxes.rs <<'END'
use std::collections::HashMap;
fn dive(left: u32, seen: &mut HashMap<String, Vec<Box<u32>>>) -> usize {
    seen.entry(format!("{}", left % 97)).or_default().push(Box::new(left));
    if left == 0 { seen.len() } else { dive(left - 1, seen) + 1 }
}
fn main() {
    let mut seen = HashMap::new();
    let work: Vec<_> = (0..100).map(|i| dive(i, &mut seen)).collect();
    println!("{}", work.iter().map(|x| x.to_string()).collect::<Vec<_>>().join(","));
}
END
if rustc -O boxes.rs >/dev/null 2>&1; then
    walk 'a program in Rust' 1000 ./boxes
fi
finish
