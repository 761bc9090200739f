import { parse } from './duration.js';

test('days', () => {
  expect(parse('2d12h')).toBe(216000);
});
