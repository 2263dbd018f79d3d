import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe } from '@jest/globals'
import { backends } from './backends.ts'
import { readJson } from './servers/lock.ts'
import type { RabbitVersion } from './servers/rabbitmq/version.ts'
import { inRun } from './servers/test-run.ts'

const HAVE = fileURLToPath(new URL('servers/rabbitmq/have.ts', import.meta.url))

export const rabbitVersions = {
  /**
   * Whether `startPrivateRabbit({ version })` can work on this machine. The first one of a run to ask waits until it is
   * fetched: jest wants to know before a test file's first test.
   */
  canHave(version: RabbitVersion): boolean {
    return whyNot(version) === ''
  },

  /** The tests in it need that version, and are skipped, with the reason in their title, where it cannot be had. */
  describeOn(version: RabbitVersion, title: string, body: () => void): void {
    const reason = whyNot(version)
    const why = `no RabbitMQ ${version}: ${reason.replaceAll(/\s+/g, ' ')}`
    // oxlint-disable-next-line jest/valid-title, jest/valid-describe-callback -- both are the caller's
    if (reason === '') return describe(title, body)
    // oxlint-disable-next-line jest/no-disabled-tests, jest/valid-describe-callback -- only where it cannot run
    describe.skip(`${title} (not run: ${why})`, body)
  },
}

/** Empty where it can be had. Told once per run: without a network it takes its time to fail. */
function whyNot(version: RabbitVersion): string {
  if (!backends.has('rabbitmq')) return 'BACKENDS leaves rabbitmq out'
  const outcome = inRun('shared', `rabbitmq-${version}.json`)
  const known = readJson(outcome)
  if (typeof known === 'string') return known
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', HAVE, version], { encoding: 'utf8' })
  const reason = status === 0 ? '' : stderr.trim()
  writeFileSync(outcome, JSON.stringify(reason))
  return reason
}
