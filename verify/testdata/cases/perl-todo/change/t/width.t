use strict;
use warnings;
use Test::More;
use Wrap;

our $TODO = 'indentation';
for my $width (5 .. 20) {
    my @long = grep { length > $width } Wrap::wrap('a bc def ghij klmno', $width);
    is @long, 0, "width $width";
}
done_testing;
