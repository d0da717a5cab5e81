#!/bin/sh
# SPDX-License-Identifier: MIT
# perl gives the same answers under the library.
. "$(dirname "$0")/same.sh"
need perl
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0

cat >"$place/work.pl" <<'END'
use strict; use warnings;
my %count; my @list;
for my $i (1 .. 100000) { my $k = "key" . ($i * 7919 % 5003); $count{$k} .= chr(97 + $i % 26); push @list, [$i, $k]; }
print scalar(keys %count), " ", length(join '', map { $count{$_} } sort keys %count), "\n";
my @sorted = sort { $a->[1] cmp $b->[1] || $b->[0] <=> $a->[0] } @list;
print join(",", map { "$_->[0]:$_->[1]" } @sorted[0 .. 4]), "\n";
my $text = join ' ', map { $_->[1] } @sorted; (my $copy = $text) =~ s/key(\d)(\d*)/$2$1/g;
print length($copy), " ", unpack("%32C*", $copy), "\n";
my $s = ''; $s .= "x" x ($_ % 100) for 1 .. 20000; print length($s), "\n";
if (my $pid = fork) { waitpid $pid, 0; print $? >> 8, "\n" } else { my @a = (1) x 100000; exit(@a % 251) }
print `echo from a child`; eval { die { code => 42 } }; print $@->{code}, "\n";
my $r; $r = sub { my $n = shift; $n < 2 ? $n : $r->($n - 1) + $r->($n - 2) }; print $r->(18), "\n";
END
work() {
    perl "$place/work.pl"
}

same "perl" work
finish
