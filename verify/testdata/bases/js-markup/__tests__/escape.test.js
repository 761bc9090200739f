const { escape } = require('../src/escape');

test.each([
  ['&', '&amp;'],
  ['<b>', '&lt;b&gt;'],
  ['"', '&quot;'],
  ['plain', 'plain'],
])('escape %s', (text, html) => {
  expect(escape(text)).toBe(html);
});
