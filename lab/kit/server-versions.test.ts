import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { DURABLE_NOTE } from './durable-note.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { serverVersions } from './server-versions.ts'
import { answers } from '../../test/kit/servers/answers.ts'
import { inCache } from '../../test/kit/servers/cache.ts'
import { CATALOGUE } from '../../test/kit/servers/catalogue.ts'
import { unpack } from '../../test/kit/servers/debian/releases.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { startedAt } from '../../test/kit/servers/process-tree.ts'
import { RABBITMQ } from '../../test/kit/servers/rabbitmq/programs.ts'
import { reportedVersion } from '../../test/kit/servers/reported-version.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { askedVersion, VERSIONS, type Versioned, type VersionOf } from '../../test/kit/servers/versions.ts'
import { findServer, waysTo } from '../../test/kit/servers/ways.ts'

const NAMES = ['redis', 'postgres', 'mariadb', 'rabbitmq'] as const satisfies readonly Versioned[]
const PROXIES = ['http_proxy', 'https_proxy'] as const
const VARIABLES = NAMES.flatMap((name) => [VERSIONS[name].variable, CATALOGUE[name].testVariable])
const before = { ...process.env }
const set = (name: string, value: string | undefined): void => {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
afterEach(() => {
  for (const name of [...VARIABLES, 'CO_CACHE', ...PROXIES]) set(name, before[name])
})

type Starts = {
  readonly [N in Versioned]: (o: { version?: VersionOf<N> }) => Promise<PrivateInstance & { url: string }>
}

const START: Starts = {
  redis: startPrivateRedis,
  postgres: startPrivatePostgres,
  mariadb: startPrivateMariadb,
  rabbitmq: startPrivateRabbit,
}

const PRODUCTS = { redis: 'Redis', postgres: 'PostgreSQL', mariadb: 'MariaDB', rabbitmq: 'RabbitMQ' } as const
const OTHERS: Readonly<Record<string, string>> = { 'valkey-9': 'Valkey 9.', 'mysql-9': 'MySQL 9.' }

/** Versions that tests request. `npm run matrix` starts all others; fetching them for the first time takes minutes. */
const NEEDED: { readonly [N in Versioned]: readonly VersionOf<N>[] } = {
  redis: ['7.0', '8.0'],
  postgres: ['15'],
  mariadb: ['10.11'],
  rabbitmq: VERSIONS.rabbitmq.known,
}

/** How a server of that version begins to say what it is. */
function reportOf(name: Versioned, version: string): string {
  return OTHERS[version] ?? `${PRODUCTS[name]} ${version}.`
}

const titles = (name: Versioned): readonly string[] => waysTo(name).map(({ title }) => title)

describe.each(NAMES)('the version of %s', (name) => {
  const { variable, known } = VERSIONS[name]

  it.each([undefined, '', ' '])('is whatever is there where %p is asked for', (asked) => {
    set(variable, asked)
    expect(askedVersion(name)).toBeUndefined()
    expect(titles(name)).toHaveLength(4)
  })

  it.each(known)('%s that is asked for is started, and no other server is taken for it', (version) => {
    set(variable, version)
    expect(askedVersion(name)).toBe(version)
    for (const each of NAMES) expect(titles(each)).toHaveLength(each === name ? 2 : 4)
    expect(titles(name)).toEqual(['programs of this machine', 'programs installed now'])
  })

  it.each(['1', `${known[0]}.6`, 'latest'])('%s is refused', async (asked) => {
    set(variable, asked)
    const refusal = `${variable}: expected one of ${known.join(', ')}, got ${asked}`
    await expect(findServer(name)).rejects.toThrow(refusal)
    await expect(START[name]({})).rejects.toThrow(refusal)
  })
})

for (const name of NAMES.filter((one) => backends.has(one))) describePrivate(name, START[name])

function describePrivate<N extends Versioned>(name: N, start: Starts[N]): void {
  const { variable } = VERSIONS[name]
  const known: readonly VersionOf<N>[] = NEEDED[name]
  const versions = serverVersions(name)
  for (const version of known) {
    versions.describeOn(version, `a private ${name} ${version}`, () => {
      it(
        'is of that version, keeps its data over a kill, is silent while frozen, and leaves nothing once stopped',
        async () => {
          const instance = await start({ version })
          const [first = 0] = instance.pids
          try {
            expect(await reportedVersion(name, instance.url)).toContain(reportOf(name, version))
            const note = uniqueName('note')
            await DURABLE_NOTE[name].write(instance.url, note, instance)
            await instance.kill()
            expect(startedAt(first)).toBeUndefined()
            await expect(answers(name, instance.url)).rejects.toThrow('ECONNREFUSED')
            await instance.restart()
            expect(await DURABLE_NOTE[name].isThere(instance.url, note)).toBe(true)
            instance.freeze()
            await expect(answers(name, instance.url)).rejects.toThrow(/ETIMEDOUT|timed out|timeout|no answer/)
            instance.thaw()
            await answers(name, instance.url)
          } finally {
            await instance.stop()
          }
          await expect(answers(name, instance.url)).rejects.toThrow('ECONNREFUSED')
          expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(inCache())
        },
        SERVER_WITHIN_MS,
      )
    })
  }

  const last = known.at(-1) as VersionOf<N>
  versions.describeOn(last, `asking for ${name} ${last}`, () => {
    it(
      'makes it the shared server, and every private one of the run',
      async () => {
        set(variable, last)
        set(CATALOGUE[name].testVariable, undefined)
        expect(await reportedVersion(name, await findServer(name))).toContain(reportOf(name, last))
        await using instance = await start({})
        expect(await reportedVersion(name, instance.url)).toContain(reportOf(name, last))
      },
      SERVER_WITHIN_MS,
    )
  })
}

if (backends.has('rabbitmq')) {
  serverVersions('rabbitmq').describeOn('4.3', 'a server of another Debian', () => {
    it('cannot be fetched without a network, says what was tried, and leaves nothing half done', async () => {
      const cache = mkdtempSync(join(tmpdir(), 'consume-once-cache-'))
      set('CO_CACHE', cache)
      for (const proxy of PROXIES) set(proxy, 'http://127.0.0.1:1')
      try {
        await expect(unpack(RABBITMQ, '4.3')).rejects.toThrow(/^Debian sid was not fetched from .*127\.0\.0\.1:1/s)
        expect(readdirSync(join(cache, 'consume-once'))).toEqual([])
      } finally {
        rmSync(cache, { recursive: true })
      }
    })
  })
}
