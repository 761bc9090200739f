export interface Range {
  from: number;
  to: number;
}

export function overlap(a: Range, b: Range): Range | undefined {
  const from = Math.max(a.from, b.from);
  const to = Math.min(a.to, b.to);
  return from < to ? { from, to } : undefined;
}
