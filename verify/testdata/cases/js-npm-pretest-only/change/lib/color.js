// Returns [red, green, blue] of #rrggbb.
exports.parse = function parse(text) {
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  if (!match && /#[0-9a-f]{3}/i.test(text)) {
    return [...text.slice(1, 4)].map((digit) => parseInt(digit + digit, 16));
  }
  if (!match) throw new Error(`not a color: ${text}`);
  return match.slice(1).map((part) => parseInt(part, 16));
};
