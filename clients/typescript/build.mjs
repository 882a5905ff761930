/**
 * Compiles src to dist, which is committed: the package then runs without a compiler, and so do the examples.
 *
 *     npm ci && npm run build
 *
 * With --check, it compiles to another folder and fails if dist is not the same. dist/sources.sha256 has the sum of the
 * sources, by which the tests notice a stale dist where there is no compiler.
 */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = import.meta.dirname;
const dist = join(root, "dist");

/** Compiles to a folder. */
function compile(folder) {
  const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", root, "--outDir", folder], { stdio: "inherit" });
  const sum = createHash("sha256");
  for (const name of readdirSync(join(root, "src")).sort()) sum.update(`${name}\n`).update(readFileSync(join(root, "src", name)));
  writeFileSync(join(folder, "sources.sha256"), `${sum.digest("hex")}\n`);
}

/** Returns the files of a folder with their contents. */
function contents(folder) {
  return new Map(readdirSync(folder).sort().map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

if (process.argv[2] === "--check") {
  const folder = mkdtempSync(join(tmpdir(), "dist-"));
  try {
    compile(folder);
    const [want, got] = [contents(folder), contents(dist)];
    const stale = [...new Set([...want.keys(), ...got.keys()])].filter((name) => want.get(name) !== got.get(name));
    if (stale.length > 0) {
      console.error(`dist is stale (${stale.join(", ")}): run npm run build`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
} else {
  rmSync(dist, { recursive: true, force: true });
  compile(dist);
}
