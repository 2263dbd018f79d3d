// npm run release [-- --dry-run]: publishes this checkout, step by step, and ends at the first step that fails.
// A dry run goes through all steps, publishes nothing, and ends with 1 if a release would be refused.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { problemsOf, told } from './readiness.ts'
import { stepsOf } from './release-steps.ts'
import { manifestOf } from './stage.ts'

const isDryRun = process.argv.includes('--dry-run')
const { version } = manifestOf('.')
const folder = mkdtempSync(join(tmpdir(), 'consume-once-release-'))
try {
  process.exitCode = release() ? 0 : 1
} finally {
  rmSync(folder, { recursive: true })
}

function release(): boolean {
  console.log(`== release of ${version}${isDryRun ? ', dry run' : ''}\n\n== release:check: what must be filled in`)
  const problems = problemsOf('.')
  if (problems.length > 0) console.error(told(problems))
  let passed = problems.length === 0
  const withProvenance = process.env['GITHUB_ACTIONS'] === 'true'
  for (const { what, command, env } of stepsOf({ version, folder, isDryRun, withProvenance })) {
    if (!passed && !isDryRun) break
    const [program, ...args] = command
    console.log(`\n== ${what}: ${command.join(' ')}`)
    const { status } = spawnSync(program, args, { stdio: 'inherit', env: { ...process.env, ...env } })
    if (status !== 0) console.error(`release: ${program} ended with ${status}`)
    passed &&= status === 0
  }
  console.log(passed ? `\n== ${version} is ${isDryRun ? 'ready' : 'published'}` : `\n== ${version} is not published`)
  return passed
}
