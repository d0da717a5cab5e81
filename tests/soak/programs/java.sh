#!/bin/sh
# SPDX-License-Identifier: MIT
# java gives the same answers under the library: its compilers, collectors and threads call malloc
# a lot.
. "$(dirname "$0")/../../programs/same.sh"
need java

cat >"$place/Work.java" <<'END'
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import java.util.zip.*;
public class Work {
    static long work(int k) {
        Map<String, List<Integer>> map = new HashMap<>();
        for (int i = 0; i < 100000; i++) map.computeIfAbsent("k" + i * k % 977, x -> new ArrayList<>()).add(i);
        return map.values().stream().mapToLong(l -> l.stream().mapToLong(x -> x).sum()).sum();
    }
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(8);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 1; i <= 32; i++) { int k = i; results.add(pool.submit(() -> work(k))); }
        long sum = 0; for (Future<Long> f : results) sum += f.get();
        pool.shutdown();
        System.out.println(sum);
        byte[] data = new byte[5000000]; new Random(1).nextBytes(data);
        CRC32 crc = new CRC32(); Deflater d = new Deflater(9); d.setInput(data); d.finish();
        byte[] out = new byte[6000000]; crc.update(out, 0, d.deflate(out));
        System.out.println(crc.getValue());
        java.nio.ByteBuffer[] direct = new java.nio.ByteBuffer[500];
        for (int i = 0; i < 500; i++) direct[i] = java.nio.ByteBuffer.allocateDirect(i * 100 + 1);
        System.out.println(IntStream.range(0, 500).map(i -> direct[i].capacity()).sum());
        System.gc();
        System.out.println(IntStream.rangeClosed(1, 200).mapToObj(String::valueOf).collect(Collectors.joining(",")).length());
    }
}
END
work() {
    java -Xmx512m "$place/Work.java"
}
same "java" work
finish
