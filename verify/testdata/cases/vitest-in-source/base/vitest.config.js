export default { test: { includeSource: ['src/*.js'] } };
