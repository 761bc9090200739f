#!/usr/bin/env node
// Starts the program of the package that fits this system, and ends as it ends.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

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

// Signals come to this process alone, but for Ctrl-C on a terminal: that comes to both, and a second one would tell ralph to hurry.
const terminal = isatty(0);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !terminal) child.kill(signal);
  });
}
const child = spawn(path, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => {
  console.error(`ralph-runner: start ${path}: ${err.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  // npx puts ralph on no PATH, and the demo ends with commands that need it there.
  if (code === 0 && process.argv[2] === "demo" && process.env.npm_command === "exec") {
    console.log("  (before that, to have ralph on your PATH: npm install --global ralph-runner)");
  }
  process.exit(code ?? 128 + constants.signals[signal]);
});
