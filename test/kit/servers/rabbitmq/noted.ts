import { readdirSync, writeFileSync } from 'node:fs'
import { withRabbit } from '../clients.ts'
import { inRun } from '../test-run.ts'

/** `shared`: used by all tests of the run. Servers that tests start for that are noted as `private`, too. */
type Role = 'shared' | 'private'

/** Remembers for the end of the run of which version this RabbitMQ is. */
export async function noteVersion(role: Role, url: string): Promise<void> {
  const version = await withRabbit(url, async ({ connection }) => connection.serverProperties.version)
  writeFileSync(inRun('rabbitmq', `${role} ${version}`), '')
}

/** The versions of all that served this run; empty if none did. */
export function notedVersions(): string {
  const noted = readdirSync(inRun('rabbitmq')).map((note) => note.split(' '))
  const roles = (['shared', 'private'] as const).map((role) => {
    const versions = noted.flatMap(([of, version = '']) => (of === role ? [version] : []))
    const ascending = versions.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    return versions.length === 0 ? '' : `${role} ${ascending.join(', ')}`
  })
  return roles.filter((role) => role !== '').join('; ')
}
