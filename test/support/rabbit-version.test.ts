import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { backends } from './backends.ts'
import { rabbitVersions } from './rabbit-versions.ts'
import { answers } from './servers/answers.ts'
import { inCache } from './servers/cache.ts'
import { withRabbit } from './servers/clients.ts'
import { DURABLE_NOTE } from './durable-note.ts'
import { uniqueName } from './namespace.ts'
import { startPrivateRabbit } from './servers/private-rabbit.ts'
import { startedAt } from './servers/process-tree.ts'
import { unpackRabbit } from './servers/rabbitmq/programs.ts'
import { RABBITMQ_VERSION_VARIABLE, RABBITMQ_VERSIONS, askedRabbitVersion } from './servers/rabbitmq/version.ts'
import { SERVER_WITHIN_MS } from './servers/server.ts'
import { findServer, waysTo } from './servers/ways.ts'

const PROXIES = ['http_proxy', 'https_proxy'] as const
const before = { ...process.env }
const set = (name: string, value: string | undefined): void => {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
afterEach(() => {
  for (const name of [RABBITMQ_VERSION_VARIABLE, 'CO_CACHE', ...PROXIES]) set(name, before[name])
})

const titles = (name: 'rabbitmq' | 'redis'): readonly string[] => waysTo(name).map(({ title }) => title)

describe('the version of RabbitMQ', () => {
  it.each([undefined, '', ' '])('is whatever there is where %p is asked for', (asked) => {
    set(RABBITMQ_VERSION_VARIABLE, asked)
    expect(askedRabbitVersion()).toBeUndefined()
    expect(titles('rabbitmq')).toEqual(titles('redis'))
  })

  it('that is asked for is started, and no other server is taken for it', () => {
    set(RABBITMQ_VERSION_VARIABLE, '4.3')
    expect(titles('rabbitmq')).toEqual(['programs of this machine', 'programs installed now'])
    expect(titles('redis')).toHaveLength(4)
  })

  it.each(['4', '4.3.6', '3.9', 'latest'])('%s is refused', async (asked) => {
    set(RABBITMQ_VERSION_VARIABLE, asked)
    const refusal = `CONSUME_ONCE_TEST_RABBITMQ_VERSION: expected one of 3.10, 4.0, 4.3, got ${asked}`
    await expect(findServer('rabbitmq')).rejects.toThrow(refusal)
    await expect(startPrivateRabbit()).rejects.toThrow(refusal)
  })
})

if (backends.has('rabbitmq')) {
  for (const version of RABBITMQ_VERSIONS) {
    rabbitVersions.describeOn(version, `a private RabbitMQ ${version}`, () => {
      it(
        'is of that version, keeps its data over a kill, is silent while frozen, and leaves nothing once stopped',
        async () => {
          const rabbit = await startPrivateRabbit({ version })
          const [first = 0] = rabbit.pids
          try {
            expect(await versionOf(rabbit.url)).toMatch(new RegExp(`^${version.replace('.', '\\.')}\\.`))
            const note = uniqueName('note')
            await DURABLE_NOTE.rabbitmq.write(rabbit.url, note)
            await rabbit.kill()
            expect(startedAt(first)).toBeUndefined()
            await expect(answers('rabbitmq', rabbit.url)).rejects.toThrow('ECONNREFUSED')
            await rabbit.restart()
            expect(await DURABLE_NOTE.rabbitmq.isThere(rabbit.url, note)).toBe(true)
            rabbit.freeze()
            await expect(answers('rabbitmq', rabbit.url)).rejects.toThrow(/ETIMEDOUT|no answer/)
            rabbit.thaw()
            await answers('rabbitmq', rabbit.url)
          } finally {
            await rabbit.stop()
          }
          await expect(answers('rabbitmq', rabbit.url)).rejects.toThrow('ECONNREFUSED')
          expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(inCache())
        },
        SERVER_WITHIN_MS,
      )
    })
  }

  rabbitVersions.describeOn('4.3', 'a RabbitMQ of another Debian', () => {
    it('cannot be fetched without a network, says what was tried, and leaves nothing half done', async () => {
      const cache = mkdtempSync(join(tmpdir(), 'consume-once-cache-'))
      set('CO_CACHE', cache)
      for (const proxy of PROXIES) set(proxy, 'http://127.0.0.1:1')
      try {
        await expect(unpackRabbit('4.3')).rejects.toThrow(/^Debian sid was not fetched from .*127\.0\.0\.1:1/s)
        expect(readdirSync(join(cache, 'consume-once'))).toEqual([])
      } finally {
        rmSync(cache, { recursive: true })
      }
    })
  })
}

function versionOf(url: string): Promise<string> {
  return withRabbit(url, async ({ connection }) => connection.serverProperties.version)
}
