import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fetchAll } from '../src/fetch.js';

test('one attempt if it succeeds', async () => {
  let calls = 0;
  assert.equal(await fetchAll(async () => ++calls), 1);
});

test('rejects with the last error', async () => {
  assert.rejects(fetchAll(async () => {
    throw new Error('down');
  }), /down/).catch(() => {});
});
