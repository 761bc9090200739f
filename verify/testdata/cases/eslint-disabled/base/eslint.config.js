module.exports = [{ rules: { 'no-unused-vars': 'error', eqeqeq: 'error', 'no-undef': 'error' }, languageOptions: { sourceType: 'commonjs', globals: { module: 'writable', require: 'readonly' } } }];
