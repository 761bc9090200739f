import assert from 'node:assert/strict';
import { test } from 'node:test';

import { applyCoupon } from '#coupon';

test('percent are rounded to cents', () => {
  assert.equal(applyCoupon(999, { code: 'TEN', percent: 10 }), 899);
  assert.equal(applyCoupon(991, { code: 'TEN', percent: 10 }), 892);
  assert.equal(applyCoupon(995, { code: 'TEN', percent: 10 }), 895);
});

test('a fixed amount', () => {
  assert.equal(applyCoupon(2000, { code: 'FIVE', cents: 500 }), 1500);
});

test('never less than nothing', () => {
  assert.equal(applyCoupon(300, { code: 'FIVE', cents: 500 }), 0);
});

test('expired coupons are refused', () => {
  const coupon = { code: 'OLD', cents: 500, until: new Date('2024-01-31') };
  assert.throws(() => applyCoupon(2000, coupon, new Date('2024-02-01')), /OLD has expired/);
});
