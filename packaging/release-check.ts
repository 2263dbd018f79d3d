// npm run release:check: whether this checkout may be published. Names what is missing, and what to write. Changes nothing.

import { spawnSync } from 'node:child_process'
import { problemsOf, told } from './readiness.ts'

const problems = problemsOf('.')
if (problems.length > 0) console.error(`release:check: ${problems.length} things are missing\n${told(problems)}`)
// The package as a stranger gets it, with publint and attw.
const { status } = spawnSync('npm', ['run', '--silent', 'package'], { stdio: 'inherit' })
if (status !== 0) console.error('release:check: npm run package failed')
if (problems.length === 0 && status === 0) console.log('release:check: ready to publish')
else process.exitCode = 1
