import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { addItem, total } from '../src/cart.js';

const tea = { sku: 'tea', cents: 450, quantity: 2 };

describe('addItem', () => {
  it('adds a row', () => {
    assert.deepEqual(addItem([], tea), [tea]);
  });

  it('merges rows of one sku', () => {
    assert.deepEqual(addItem([{ ...tea }], { ...tea, quantity: 3 }), [{ ...tea, quantity: 5 }]);
  });

  it('leaves the cart that it was given alone', () => {
    const cart = [{ ...tea }];
    addItem(cart, tea);
    assert.deepEqual(cart, [tea]);
  });

  for (const quantity of [0, -1, 1.5, '2']) {
    it(`refuses ${JSON.stringify(quantity)} pieces`, () => {
      assert.throws(() => addItem([], { ...tea, quantity }), RangeError);
    });
  }
});

describe('total', () => {
  it('is the sum of all rows', () => {
    assert.equal(total([tea, { sku: 'cup', cents: 1200, quantity: 1 }]), 2100);
  });
});
