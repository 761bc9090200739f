import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cached } from '../src/cache.js';

test('forgets after a while', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let calls = 0;
  const get = cached(() => ++calls, 20);
  assert.equal(get(), 1);
  assert.equal(get(), 1);
  t.mock.timers.tick(20);
  assert.equal(get(), 2);
});
