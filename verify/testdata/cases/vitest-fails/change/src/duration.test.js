import { parse } from './duration.js';

test.each([['1h30m', 5400], ['45s', 45], ['2m', 120]])('%s', (text, expected) => {
  expect(parse(text)).toBe(expected);
});

test.each(['', 'm'])('refuses "%s"', (text) => {
  expect(() => parse(text)).toThrow('not a duration');
});

test.fails.each(['5', '1h 30m', '-1h'])('refuses "%s"', (text) => {
  expect(() => parse(text)).toThrow('not a duration');
});
