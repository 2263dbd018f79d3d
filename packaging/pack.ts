// npm run pack -- [FOLDER]: builds the package and puts its tarball into the folder, this one unless it is named.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { stage } from './stage.ts'

const [folder = '.'] = process.argv.slice(2)
const staged = mkdtempSync(join(tmpdir(), 'consume-once-package-'))
try {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' })
  stage('.', staged)
  execFileSync('npm', ['pack', '--pack-destination', resolve(folder)], { cwd: staged, stdio: 'inherit' })
} finally {
  rmSync(staged, { recursive: true })
}
