// Runs every file of this folder that ends in -test.js.
const fs = require('node:fs');
const path = require('node:path');

let failed = 0;
for (const file of fs.readdirSync(__dirname).filter((name) => name.endsWith('-test.js'))) {
  for (const [name, test] of Object.entries(require(path.join(__dirname, file)))) {
    try {
      test();
      console.log(`ok ${name}`);
    } catch (error) {
      failed++;
      console.log(`not ok ${name}: ${error.message}`);
    }
  }
}
process.exit(failed ? 1 : 0);
