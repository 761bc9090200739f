/** Returns what is left to pay of cents with a coupon, never less than nothing. */
export function applyCoupon(cents, coupon, now = new Date()) {
  if (coupon.until && now > coupon.until) {
    throw new Error(`coupon ${coupon.code} has expired`);
  }
  const off = coupon.percent ? Math.round((cents * coupon.percent) / 100) : coupon.cents;
  return Math.max(0, cents - off);
}
