const assert = require('assert');
const { match } = require('../lib/match');

describe.only('optional parameters', () => {
  it('may be left out', () => {
    assert.deepEqual(match('/users/:id?', '/users'), { id: undefined });
  });
});
