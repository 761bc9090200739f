package Wrap;
use strict;
use warnings;

# Returns lines of at most $width characters; words are never cut.
sub wrap {
    my ($text, $width) = @_;
    my @lines = ('');
    for my $word (split ' ', $text) {
        my $joined = $lines[-1] eq '' ? $word : "$lines[-1] $word";
        if (length $joined <= $width || $lines[-1] eq '') { $lines[-1] = $joined }
        else { push @lines, $word }
    }
    return @lines;
}

1;
