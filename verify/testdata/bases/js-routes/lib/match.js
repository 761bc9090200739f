// Returns the parameters of a path that a pattern such as /users/:id matches, or null.
exports.match = function match(pattern, path) {
  const names = [];
  const source = pattern.replace(/:(\w+)/g, (_, name) => {
    names.push(name);
    return '([^/]+)';
  });
  const found = new RegExp(`^${source}$`).exec(path);
  return found && Object.fromEntries(names.map((name, i) => [name, found[i + 1]]));
};
