import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { readJson } from '../../test/kit/servers/lock.ts'
import { inRun } from '../../test/kit/servers/test-run.ts'
import type { Versioned, VersionOf } from '../../test/kit/servers/versions.ts'

const HAVE = fileURLToPath(new URL('../../test/kit/servers/have.ts', import.meta.url))

/** For tests that need one version of a server. */
interface ServerVersions<V extends string> {
  /**
   * True if a private server of that version can start on this machine. The first one of a run to ask waits until it is
   * fetched: jest wants to know before a test file's first test.
   */
  canHave(version: V): boolean
  /** The tests in it need that version, and are skipped, with the reason in their title, where it cannot be had. */
  describeOn(version: V, title: string, body: () => void): void
}

export const rabbitVersions: ServerVersions<VersionOf<'rabbitmq'>> = serverVersions('rabbitmq', 'RabbitMQ')

export function serverVersions<N extends Versioned>(name: N, server: string = name): ServerVersions<VersionOf<N>> {
  return {
    canHave: (version) => whyNot(name, version) === '',
    describeOn(version, title, body) {
      const reason = whyNot(name, version)
      const why = `no ${server} ${version}: ${reason.replaceAll(/\s+/g, ' ')}`
      // oxlint-disable-next-line jest/valid-title, jest/valid-describe-callback -- both are the caller's
      if (reason === '') return describe(title, body)
      // oxlint-disable-next-line jest/no-disabled-tests, jest/valid-describe-callback -- only where it cannot run
      describe.skip(`${title} (not run: ${why})`, body)
    },
  }
}

/** Empty if the server is available. Determined once per run: without a network it takes time to fail. */
function whyNot(name: Versioned, version: string): string {
  if (!backends.has(name)) return `BACKENDS leaves ${name} out`
  const outcome = inRun('shared', `${name}-${version}.json`)
  const known = readJson(outcome)
  if (typeof known === 'string') return known
  const { status, stderr } = spawnSync(process.execPath, ['--import', 'tsx', HAVE, name, version], { encoding: 'utf8' })
  const reason = status === 0 ? '' : stderr.trim()
  writeFileSync(outcome, JSON.stringify(reason))
  return reason
}
