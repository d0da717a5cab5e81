# SPDX-License-Identifier: MIT
# helper: sourced by old_commands.sh. CPU profiles of gperftools, where libprofiler is installed.
# shellcheck shell=sh disable=SC2154
profiler=$(ldconfig -p 2>/dev/null | sed -n 's/.*libprofiler\.so\.0 .* => //p' | head -n 1)
if [ -n "$profiler" ]; then
    CPUPROFILE=$place/cpu.prof LD_PRELOAD=$profiler ./plain 1 60000000 >/dev/null 2>&1
    if [ -s cpu.prof ]; then
        same google-pprof --text plain cpu.prof
        same google-pprof --text --cum plain cpu.prof
        same google-pprof --text --focus=burn_more plain cpu.prof
        same google-pprof --text --files plain cpu.prof
    fi
fi

# Waiting for locks, by hand: addresses of functions of a program that is not moved.
build -O0 -no-pie "$sources/plain.c" -L. -lshared -Wl,-rpath,"$place" -o fixed
address_of() {
    nm fixed | awk -v name="$1" '$3 == name { print "0x" $1 }'
}
inside() { # FUNCTION: some address in it
    printf '0x%x' $(($(address_of "$1") + 8))
}
{
    echo '--- contention'
    echo 'cycles/second = 2000000000'
    echo 'sampling period = 100'
    echo "  40000 20 @ $(inside keep_small) $(inside main)"
    echo "  10000 5 @ $(inside keep_large) $(inside main)"
} >locks.contention
for option in --text --contentions --mean_delay --total_delay; do
    same google-pprof --text "$option" fixed locks.contention
    same jeprof --text "$option" fixed locks.contention
done

# How the heap grew.
{
    echo 'heap profile:      2:  4194304 [     2:  4194304] @ growth'
    echo "     1:  3145728 [     1:  3145728] @ $(inside keep_small) $(inside main)"
    echo "     1:  1048576 [     1:  1048576] @ $(inside keep_large) $(inside main)"
    echo 'MAPPED_LIBRARIES:'
    echo "00400000-00500000 r-xp 00000000 00:00 0 $place/fixed"
} >grown.growth
same google-pprof --text fixed grown.growth
same jeprof --text --show_bytes fixed grown.growth

# Names of addresses.
{
    echo "00400000-00500000 r-xp 00000000 00:00 0 $place/fixed"
    inside keep_small && echo
    inside main && echo
    echo 0x10
} >asked
jeprof --symbols fixed <asked >real.out 2>/dev/null
links/jeprof --symbols fixed <asked >ours.out 2>/dev/null
head -n 2 real.out | cmp -s - real.out || true
[ "$(head -n 2 real.out)" = "$(head -n 2 ours.out)" ] ||
    fail "--symbols: $(tr '\n' ' ' <ours.out), not $(tr '\n' ' ' <real.out)"
