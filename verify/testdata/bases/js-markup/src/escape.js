const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

exports.escape = (text) => text.replace(/[&<>"]/g, (char) => entities[char]);
