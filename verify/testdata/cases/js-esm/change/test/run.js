// Runs every file of this folder that ends in -test.js.
import fs from 'node:fs';

let failed = 0;
for (const file of fs.readdirSync(import.meta.dirname).filter((name) => name.endsWith('-test.js'))) {
  for (const [name, test] of Object.entries((await import(`./${file}`)).default)) {
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
