// node test/kit/own-packages.cjs FOLDER...: installs what the manifest of a folder names, where it is not there. A clone does
// without what only the ORMs (examples/orm) or the packaging need.

const { execFileSync } = require('node:child_process')
const { existsSync, readFileSync } = require('node:fs')
const path = require('node:path')

const ROOT = path.resolve(__dirname, '../..')

/** `undefined`: there is none. */
function manifestOf(folder) {
  const file = path.join(folder, 'package.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Names of packages that are not there in the version of the manifest, which is exact. */
function missingIn(folder) {
  const { dependencies, devDependencies } = manifestOf(folder)
  return Object.entries({ ...dependencies, ...devDependencies })
    .filter(([name, version]) => manifestOf(path.join(folder, 'node_modules', name))?.version !== version)
    .map(([name]) => name)
}

/** @throws Error if npm fails, which has said why */
function haveOwnPackages(name) {
  const folder = path.resolve(ROOT, name)
  const missing = missingIn(folder)
  if (missing.length === 0) return
  console.error(`Installing what ${name}/package.json names and is not there: ${missing.join(', ')}`)
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: folder,
    // On stderr: the output of tests may be JSON.
    stdio: ['ignore', process.stderr, process.stderr],
    shell: process.platform === 'win32',
  })
}

module.exports = { haveOwnPackages }
if (require.main === module) process.argv.slice(2).forEach(haveOwnPackages)
