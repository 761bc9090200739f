#!/usr/bin/env node
// Starts the program of the package that fits this system, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `ralph-runner-${process.platform}-${process.arch}`;
const program = process.platform === "win32" ? "ralph.exe" : "ralph";

let path;
try {
  path = require.resolve(`${name}/bin/${program}`);
} catch {
  console.error(`ralph-runner: the package ${name} is not installed.`);
  console.error("hint: install ralph-runner without --omit=optional; if there is no such package, build ralph from its source");
  process.exit(1);
}

const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
// A terminal sends Ctrl-C to both: it is ralph's to decide when to end. Other signals come to this process alone.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (err) => {
  console.error(`ralph-runner: start ${path}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
