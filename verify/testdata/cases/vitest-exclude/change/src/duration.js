const seconds = { d: 86400, h: 3600, m: 60, s: 1 };

/** Returns the seconds of a duration such as 1h30m. */
export function parse(text) {
  if (!/\d/.test(text)) throw new Error(`not a duration: ${text}`);
  return [...text.matchAll(/(\d+)([dhms])/g)].reduce((sum, [, n, unit]) => sum + n * seconds[unit], 0);
}
