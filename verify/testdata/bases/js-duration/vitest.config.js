export default {
  test: {
    globals: true,
    include: ['src/**/*.test.js'],
  },
};
