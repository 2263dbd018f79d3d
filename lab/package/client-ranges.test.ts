import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { server } from '../../test/kit/servers/server.ts'
import { HIGHEST, LOWEST, NEWER_NODE, ON_MEMORY, PROGRAMS } from './client-programs.ts'
import { Strangers, WITHIN_MS } from './installed.ts'

const strangers = new Strangers()
jest.setTimeout(WITHIN_MS)
beforeAll(() => strangers.pack())
afterAll(() => strangers[Symbol.dispose]())

describe.each([
  ['lowest', LOWEST],
  ['highest', HIGHEST],
])('with the %s version of each client', (end, versions) => {
  beforeAll(() =>
    strangers.install(
      end,
      Object.entries(versions).map(([name, version]) => `${name}@${version}`),
    ),
  )

  it.each(PROGRAMS)('%s: a message that comes twice is handled once', async (client, needs, program) => {
    const addresses = needs === undefined ? undefined : await server(needs)
    const at = addresses === undefined ? '' : 'url' in addresses ? addresses.url : addresses.brokers.join(',')
    const code = `${ON_MEMORY}\nconst at = ${JSON.stringify(at)}\nvoid (async () => {${program}\n})()`
    const node = ['--no-deprecation', '-e', code]
    const ran = NEWER_NODE.has(client)
      ? strangers.run(end, 'npx', ['--yes', '--package=node@24', '--', 'node', ...node])
      : strangers.run(end, 'node', node)
    expect(await ran).toBe('1\n')
  })
})
