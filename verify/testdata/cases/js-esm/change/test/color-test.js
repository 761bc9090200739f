import assert from 'node:assert/strict';

import { parse } from '../lib/color.js';

const tests = {};
export default tests;

tests['six digits'] = () => assert.deepEqual(parse('#ff8000'), [255, 128, 0]);
tests['upper case'] = () => assert.deepEqual(parse('#FF8000'), [255, 128, 0]);
for (const text of ['ff8000', '#ff80', '#ff80000', '#gg0000', ' #ff8000']) {
  tests[`refuses "${text}"`] = () => assert.throws(() => parse(text), /not a color/);
}
