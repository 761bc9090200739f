export default {
  test: {
    globals: true,
    setupFiles: ['./vitest.setup.js'],
    include: ['src/**/*.test.js'],
  },
};
