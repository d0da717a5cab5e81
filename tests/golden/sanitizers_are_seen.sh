#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The control of tests/run: what a sanitizer reports of the command fails a test, even if the script
# itself is content with any end; and nothing else does.
# shellcheck source=tests/programs/common.sh
. "$(dirname "$0")/../programs/common.sh"
cd "$place" || exit 2
cat >planted.c <<'C'
#include <limits.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    volatile int most = INT_MAX;
    char *bytes = malloc(8);
    if (argc == 1)
        return 0;
    bytes[argv[1][0] == 'a' ? 8 : 0] = 1;
    return argv[1][0] == 'u' ? most + argc > 0 : 0;
}
C
export MEMOIR_LIB
for sanitizer in address undefined; do
    "$CC" -g -fsanitize=$sanitizer -fno-sanitize-recover=all planted.c -o "planted-$sanitizer" 2>err ||
        skip "no $sanitizer sanitizer: $(cat err)"
    for bug in none $sanitizer; do
        word=$bug
        [ $bug != none ] || word=''
        printf '#!/bin/sh\n./planted-%s %s\nexit 0\n' $sanitizer "$word" >script
        chmod +x script
        "$root/tests/run" sanitized-tool $sanitizer ./script >out 2>&1
        status=$?
        [ $bug = none ] || [ $status -eq 1 ] || fail "$sanitizer: status $status: $(cat out)"
        [ $bug != none ] || [ $sanitizer = address ] || [ $status -eq 0 ] || fail "$sanitizer, no bug: $(cat out)"
    done
    grep -q 'overflow' out || fail "$sanitizer: the report is not shown: $(cat out)"
done
finish
