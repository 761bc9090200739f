import assert from 'node:assert/strict';
import { test } from 'node:test';

import { applyCoupon } from '#coupon';

for (const [name, cents, coupon, left] of [
  ['percent', 999, { percent: 10 }, 899],
  ['percent, rounded', 995, { percent: 10 }, 895],
  ['a fixed amount', 2000, { cents: 500 }, 1500],
  ['never less than nothing', 300, { cents: 500 }, 0],
]) {
  test(name, () => assert.equal(applyCoupon(cents, coupon), left));
}

test('expired coupons are refused', () => {
  const coupon = { code: 'OLD', cents: 500, until: new Date('2024-01-31') };
  assert.throws(() => applyCoupon(2000, coupon, new Date('2024-02-01')), /OLD has expired/);
});
