exports.push = (stack, item) => [...stack, item];

exports.top = (stack) => (stack.length === 0 ? null : stack[stack.length - 1]);

exports.find = (stack, item) => {
  for (let i = 0; i < stack.length; i++) {
    if (stack[stack.length - 1 - i] == item) return i;
  }
  return -1;
};
