use strict;
use warnings;
use Test::More;
use Wrap;

for (
    ['two lines',         'one two three',         ['one two', 'three']],
    ['nothing',           '',                      ['']],
    ['words are not cut', 'incomprehensible word', ['incomprehensible', 'word']],
) {
    my ($name, $text, $lines) = @$_;
    is_deeply [Wrap::wrap($text, 8)], $lines, $name;
}
done_testing;
