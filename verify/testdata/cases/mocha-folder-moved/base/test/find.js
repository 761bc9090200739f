const assert = require('assert');
const { find } = require('..');

describe('find', () => {
  it('finds words', async () => {
    assert.deepStrictEqual(await find(['apple', 'pear'], 'pp'), ['apple']);
  });
  it('is quick', async () => {
    const list = Array.from({ length: 50 }, (_, i) => `w${i}`);
    assert.strictEqual((await find(list, 'w4')).length, 11);
  });
});
