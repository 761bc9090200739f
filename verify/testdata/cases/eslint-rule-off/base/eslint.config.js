module.exports = [
  {
    files: ['src/**/*.js'],
    languageOptions: { sourceType: 'commonjs' },
    rules: {
      eqeqeq: 'error',
      'no-unused-vars': 'error',
      'no-unreachable': 'error',
    },
  },
];
