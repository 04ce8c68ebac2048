#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs nobody here wrote: perl, with fork, sort, regular expressions, threads,
# File::Find.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_real.sh"
need_command perl

cat >"$TMP/one.pl" <<'END'
use strict; use warnings; use File::Find; use List::Util qw(sum); use Data::Dumper;
my @files; find(sub { push @files, $File::Find::name if /\.h$/ }, '/usr/include/linux');
my %by; for my $f (sort @files) { my ($w) = $f =~ m{/([^/]+)\.h$}; push @{$by{length $w}}, $w }
print "$_: ", scalar(@{$by{$_}}), "\n" for sort { $a <=> $b } keys %by;
my $text = join ' ', map { $_ * 7919 % 10007 } 1 .. 20011;
my $n = 0; $n++ while $text =~ /\b(\d)(\d*)\1\b/g; print "$n\n";
my @s = sort { $a <=> $b } split / /, $text; print "$s[0] $s[-1] ", sum(@s), "\n";
$Data::Dumper::Sortkeys = 1; print length(Dumper(\%by)), "\n";
eval { die { code => 23 } }; print $@->{code}, "\n";
exit 13;
END
cat >"$TMP/forks.pl" <<'END'
use strict; $| = 1; my @pids; pipe(my $r, my $w);
for my $n (1 .. 11) { my $pid = fork; if (!$pid) { close $r; my @x = map { "x" x $_ } 1 .. 499;
	syswrite $w, sprintf("%02d %d\n", $n, length join '', @x); exit $n } push @pids, $pid }
close $w; print sort <$r>; my $sum = 0; for (@pids) { waitpid $_, 0; $sum += $? >> 8 } print "$sum\n";
print `echo from a child`; system('sh', '-c', 'exit 3'); print $? >> 8, "\n";
kill 'TERM', $$;
END
cat >"$TMP/threads.pl" <<'END'
use threads; use threads::shared; my $n :shared = 0;
my @t = map { my $k = $_; threads->create(sub { for (1 .. 101) { my %h = map { $_ => "v$_" } 1 .. 31; lock $n; $n += $k } $k }) } 1 .. 5;
my $sum = 0; $sum += $_->join for @t; print "$n $sum\n";
END
PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
export PERL_HASH_SEED PERL_PERTURB_KEYS
real_same one -- perl "$TMP/one.pl"
real_estimate one

real_same forks -- perl "$TMP/forks.pl"
if perl -Mthreads -e 1 2>/dev/null; then
	real_same threads -- perl "$TMP/threads.pl"
fi
