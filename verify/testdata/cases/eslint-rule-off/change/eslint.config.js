module.exports = [
  {
    files: ['src/**/*.js'],
    languageOptions: { sourceType: 'commonjs' },
    rules: {
      eqeqeq: 'off',
      'no-unused-vars': 'error',
      'no-unreachable': 'error',
    },
  },
];
