var depth = 3;

exports.depth = depth;
