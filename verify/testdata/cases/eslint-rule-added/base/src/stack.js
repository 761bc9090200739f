exports.push = (stack, item) => [...stack, item];

exports.top = (stack) => (stack.length === 0 ? null : stack[stack.length - 1]);
