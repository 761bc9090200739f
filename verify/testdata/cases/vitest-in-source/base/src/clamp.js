export const clamp = (x, lo, hi) => Math.min(Math.max(x, lo), hi);

if (import.meta.vitest) {
  const { expect, it } = import.meta.vitest;
  it('clamps', () => {
    expect(clamp(5, 0, 3)).toBe(3);
    expect(clamp(-5, 0, 3)).toBe(0);
  });
}
