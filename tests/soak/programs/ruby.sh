#!/bin/sh
# SPDX-License-Identifier: MIT
# ruby gives the same answers under the library.
. "$(dirname "$0")/../../programs/same.sh"
need ruby

cat >"$place/work.rb" <<'END'
srand(1)
map = Hash.new { |h, k| h[k] = [] }
100_000.times { |i| map["k#{i * 7919 % 997}"] << i.to_s * (i % 7) }
puts map.size, map.values.sum { |l| l.sum(&:size) }, map.keys.sort.first(3).inspect
text = map.values.flatten.join(" ")
puts text.size, text.scan(/12+3/).size, text.gsub(/9(\d)/, '\1x').hash == text.gsub(/9(\d)/, '\1x').hash
puts 4.times.map { |t| Thread.new { (1..20_000).map { |i| (i * t).to_s }.join.size } }.map(&:value).inspect
pid = fork { exit!((1..10_000).map { |i| "s#{i}" }.size % 251) }
Process.wait(pid); puts $?.exitstatus, `echo child`
GC.start
puts (1..300).reduce(:*).to_s.size, [3, 1, 2].sort_by { |x| -x }.inspect, "é".encode("UTF-16LE").bytes.inspect
END
work() {
    LC_ALL=C.UTF-8 ruby "$place/work.rb"
}
same "ruby" work
finish
