const assert = require('node:assert/strict');
const { parse } = require('../lib/color');

exports['six digits'] = () => assert.deepEqual(parse('#ff8000'), [255, 128, 0]);
exports['upper case'] = () => assert.deepEqual(parse('#FF8000'), [255, 128, 0]);
for (const text of ['ff8000', '#ff80', '#ff80000', '#gg0000', ' #ff8000']) {
  exports[`refuses "${text}"`] = () => assert.throws(() => parse(text), /not a color/);
}
