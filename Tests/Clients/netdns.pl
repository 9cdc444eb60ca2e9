# Prints a row for each name as getaddrinfo.c does with -r, through Perl's Net::DNS. Options before -- are of its resolver,
# such as udppacketsize=4096.
use strict;
use warnings;
use Net::DNS;
use Time::HiRes qw(time);

my %options;
while (defined(my $option = shift @ARGV)) {
    last if $option eq "--";
    my ($name, $value) = split /=/, $option;
    $options{$name} = $value;
}
my $resolver = Net::DNS::Resolver->new(%options);
for my $name (@ARGV) {
    my $start = time;
    my (@words, %errors);
    for my $type ("A", "AAAA") {
        my $reply = $resolver->query($name, $type);
        if ($reply) {
            push @words, map { $_->address } grep { $_->type eq $type } $reply->answer;
        } else {
            $errors{ $resolver->errorstring } = 1;
        }
    }
    @words = sort keys %errors unless @words;
    printf "%s %s %d\n", $name, join(" ", map { s/ /-/gr } @words), (time - $start) * 1000;
}
