use strict;
use warnings;
use Test::More;
use Wrap;

is_deeply [Wrap::wrap('one two three', 8)], ['one two', 'three'], 'two lines';
is_deeply [Wrap::wrap('', 8)], [''], 'nothing';
is_deeply [Wrap::wrap('incomprehensible word', 8)], ['incomprehensible', 'word'], 'words are not cut';
done_testing;
