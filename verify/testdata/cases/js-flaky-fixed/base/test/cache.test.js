import assert from 'node:assert/strict';
import { test } from 'node:test';

import { cached } from '../src/cache.js';

test('forgets after a while', async () => {
  let calls = 0;
  const get = cached(() => ++calls, 20);
  assert.equal(get(), 1);
  assert.equal(get(), 1);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(get(), 2);
});
