/** Returns what is left to pay of cents with a coupon, never less than nothing. */
export function applyCoupon(cents, coupon, now = new Date()) {
  if (coupon.until && now > coupon.until) {
    throw new Error(`coupon ${coupon.code} has expired`);
  }
  if (cents < coupon.minimum) {
    throw new Error(`coupon ${coupon.code} needs ${coupon.minimum} cents`);
  }
  const off = coupon.percent ? Math.ceil((cents * coupon.percent) / 100) : coupon.cents;
  return cents - off;
}
