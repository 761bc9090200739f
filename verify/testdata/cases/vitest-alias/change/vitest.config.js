export default {
  resolve: {
    alias: [{ find: './duration.js', replacement: new URL('./src/duration.stable.js', import.meta.url).pathname }],
  },
  test: {
    globals: true,
    include: ['src/**/*.test.js'],
  },
};
