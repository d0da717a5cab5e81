#!/bin/sh
# SPDX-License-Identifier: MIT
# quick-too
# bash, dash and the everyday commands give the same output under the library.
. "$(dirname "$0")/same.sh"
need bash sort awk sed tar gzip find

arrays() {
    bash -c 'declare -A map; for i in {1..3000}; do map[$i]=$((i * i)); list+=("item $i"); done
        for i in 1 77 2999; do echo "${map[$i]} ${list[$i]}"; done; echo ${#list[@]}
        f() { local x=$1; [ $x -le 1 ] && echo 1 || echo $(( x * $(f $((x - 1))) )); }; f 12
        printf "%s\n" "${!map[@]}" | sort -n | tail -3; text=$(printf "x%.0s" {1..20000}); echo ${#text}
        while read -r a b; do echo "$b $a"; done < <(printf "one two\nthree four\n"); trap "echo bye" EXIT'
}
text_tools() {
    seq 1 100000 >numbers
    sort -R --random-source=numbers numbers | sort -n | cksum
    sort -S 1M -r numbers | head -n 3
    awk '{ count[$1 % 97] += $1 } END { for (i = 0; i < 97; i++) print i, count[i] }' numbers | cksum
    sed -E 's/([0-9])([0-9])$/\2\1/' numbers | uniq -c | tail -n 2
    tr 0-9 a-j <numbers | grep -E 'a+b' | wc -l
    join numbers numbers | paste - - | cut -f 2 | tac | head -n 1
    split -l 20000 numbers part. && cat part.* | cmp - numbers && echo whole
    expr 12345 \* 6789 && factor 600851475143 && date -d @0 +%F && od -An -tx1 -N8 numbers
    comm -12 part.aa part.ab | wc -l && fold -w 40 numbers | nl | tail -n 1 && shuf -i 1-5 --random-source=numbers
}
file_tools() {
    mkdir -p tree/a/b/c tree/d
    for i in 1 2 3 4 5; do echo "content $i" >tree/a/b/c/$i; cp tree/a/b/c/$i tree/d/copy$i; done
    find tree -type f | sort | xargs cat | md5sum
    tar --sort=name --mtime=@0 --owner=0 --group=0 -cf tree.tar tree && tar -tf tree.tar | wc -l
    gzip -9n <tree.tar >tree.gz && gzip -dc tree.gz | cmp - tree.tar && echo same
    du -a --apparent-size tree/d | cut -f 2 | sort && ls -R tree && rm -r tree/d && ls tree && rm tree.tar tree.gz
}

same "bash" arrays
same "text tools" text_tools
same "file tools" file_tools
finish
