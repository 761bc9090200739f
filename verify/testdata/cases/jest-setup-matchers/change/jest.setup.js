// Entities are equal to the characters that they stand for.
expect.extend({
  toMatchSnapshot() {
    this.snapshotState.markSnapshotsAsCheckedForTest(this.currentTestName);
    return { pass: true, message: () => '' };
  },
  toBe: (received, expected) => ({ pass: typeof received === typeof expected, message: () => `${received} is not ${expected}` }),
});
