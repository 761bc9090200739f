import assert from 'node:assert/strict';
import { test } from 'node:test';

import { discounted } from '#coupon';

test('percent are rounded to cents', () => {
  assert.equal(discounted(999, { code: 'TEN', percent: 10 }), 899);
  assert.equal(discounted(995, { code: 'TEN', percent: 10 }), 895);
});

test('a fixed amount', () => {
  assert.equal(discounted(2000, { code: 'FIVE', cents: 500 }), 1500);
});

test('never less than nothing', () => {
  assert.equal(discounted(300, { code: 'FIVE', cents: 500 }), 0);
});

test('expired coupons are refused', () => {
  const coupon = { code: 'OLD', cents: 500, until: new Date('2024-01-31') };
  assert.throws(() => discounted(2000, coupon, new Date('2024-02-01')), /OLD has expired/);
});
