# SPDX-License-Identifier: MIT
# A perl program with fixed work: text generated, split, counted in hashes of hashes, sorted and
# rewritten by regular expressions; prints a checksum. Its own generator of random numbers, and
# sorted keys, make the output the same everywhere.
use strict;
use warnings;

my $rounds = shift // 4;
my $state  = 42;

sub dice { my ($n) = @_; $state = ($state * 1103515245 + 12345) % 2147483648; ($state >> 8) % $n }

sub sentence {
    my @words = map { ("a" .. "z")[dice(26)] x (1 + dice(5)) . dice(300) } 1 .. 4 + dice(12);
    return ucfirst(join(" ", @words)) . ".";
}

my $check = 0;
for my $round (1 .. $rounds) {
    my (%count, %follows, @lines);
    push @lines, sentence() for 1 .. 6000;
    for my $line (@lines) {
        my $last = "";
        for my $word (split /[ .]+/, lc $line) {
            $count{$word}++;
            $follows{$last}{$word}++ if dice(8) == 0;
            $last = $word;
        }
    }
    my $text = join "\n", @lines;
    $text =~ s/([a-z]+)(\d+)/<$2:$1>/g;
    my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    my @records = map {
        { word => $_, n => $count{$_}, next => [sort keys %{ $follows{$_} || {} }] }
    } @top;
    my $report = join ";",
        map { "$_->{word}=$_->{n}," . scalar @{ $_->{next} } } @records[0 .. 999];
    $check = ($check * 31 + $_) % 4294967296 for unpack "C*", substr($report, 0, 20000);
    $check = ($check + length $text) % 4294967296;
}
printf "words %08x\n", $check;
