export default {
  test: {
    globals: true,
    include: ['src/**/*.test.js'],
    exclude: ['src/duration.test.js'],
  },
};
