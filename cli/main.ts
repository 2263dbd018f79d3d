#!/usr/bin/env node
// This file imports nothing: what a static import names is linked before the first line runs, and an older Node then dies with a
// SyntaxError of a name that it lacks. `engines` of package.json says the same versions.

const LEAST = '20.19'

function isOlder(version: string, least: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor = 0, leastMinor = 0] = least.split('.').map(Number)
  return major < leastMajor || (major === leastMajor && minor < leastMinor)
}

const { node } = process.versions
if (isOlder(node, LEAST)) {
  process.stderr.write(
    `consume-once: expected Node.js ${LEAST} or newer, got ${node}: install one, or choose it in your version manager\n`,
  )
  process.exitCode = 2
} else {
  const { runTool } = await import('./tool.ts')
  // The tool is CommonJS in the package, where the loader of a config, which may be an ES module, does not exist.
  await runTool((url) => import(url))
}
