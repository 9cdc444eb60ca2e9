# Prints a row for each name as getaddrinfo.c does with -r, through Perl's Socket::getaddrinfo.
use strict;
use warnings;
use Socket qw(getaddrinfo getnameinfo SOCK_STREAM EAI_NODATA EAI_NONAME NI_NUMERICHOST NIx_NOSERV);
use Time::HiRes qw(time);

for my $name (@ARGV) {
    my $start = time;
    my ($error, @found) = getaddrinfo($name, "443", { socktype => SOCK_STREAM });
    my @words = map { (getnameinfo($_->{addr}, NI_NUMERICHOST, NIx_NOSERV))[1] } @found;
    @words = ($error == EAI_NODATA ? "EAI_NODATA" : $error == EAI_NONAME ? "EAI_NONAME" : "$error") if $error;
    printf "%s %s %d\n", $name, join(" ", @words), (time - $start) * 1000;
}
