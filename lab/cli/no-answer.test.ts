import { describe, expect, it, jest } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { backends } from '../../test/kit/backends.ts'
import { Cli, WITHIN_MS, type CliRun } from '../../test/kit/cli-process.ts'
import { withRedis } from '../../test/kit/servers/clients.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'

jest.setTimeout(WITHIN_MS)

const SECRET = 's3cret'
const CONFIGS = {
  redis: ['test/cli/plain-redis.config.ts', 'TEST_REDIS_URL', 'redis', 'mailer'],
  postgres: ['test/cli/postgres.config.ts', 'TEST_DATABASE_URL', 'postgres', 'in-inbox'],
  mariadb: ['test/cli/mysql.config.ts', 'TEST_DATABASE_URL', 'mysql', 'in-inbox'],
} as const
const READS = [['--parked'], ['--given-up'], ['--stats'], ['order-17']] as const

/** Takes connections and never answers. */
let silent: Server
const sockets = new Set<Socket>()
let cli: Cli

beforeAllOpen(async (own) => {
  cli = own(new Cli())
  silent = own(createServer((socket) => sockets.add(socket.on('error', () => {}))))
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve))
  own(() => sockets.forEach((socket) => socket.destroy()))
})

function inspect(store: keyof typeof CONFIGS, host: string, how: readonly string[]): Promise<CliRun> {
  const [config, variable, scheme, consumer] = CONFIGS[store]
  const url = `${scheme}://someone:${SECRET}@${host}/some`
  return cli.run(['inspect', consumer, ...how], {
    env: {
      CONSUME_ONCE_CONFIG: config,
      [variable]: store === 'redis' ? url.replace('someone', '').replace('/some', '') : url,
    },
  })
}

describe('consume-once inspect, while the store does not answer', () => {
  const cases = (Object.keys(CONFIGS) as (keyof typeof CONFIGS)[]).flatMap((store) =>
    READS.map((how) => [store, how] as const),
  )

  it.each(cases)('%s %s: names the address where nothing listens, in time', async (store, how) => {
    const host = `127.0.0.1:${await freePort()}`
    const run = await inspect(store, host, how)
    expect(run).toMatchObject({ exitCode: 4, stdout: '' })
    expect(run.stderr).toContain(host)
    expect(run.stderr).not.toContain(SECRET)
    // The limit of the store, which is shorter than that of the command.
    expect(run.stderr).not.toMatch(/STORE_UNREACHABLE.*\(--timeout\)/)
  })

  it.each(cases.filter(([, [how]]) => how === '--parked'))(
    '%s %s: names the address of a server that takes connections and never answers',
    async (store, how) => {
      const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`
      const run = await inspect(store, host, how)
      expect(run).toMatchObject({ exitCode: 4, stdout: '' })
      expect(run.stderr).toContain(host)
      expect(run.stderr).not.toContain(SECRET)
      expect(run.stderr).not.toMatch(/STORE_UNREACHABLE.*\(--timeout\)/)
    },
  )
})

const describeRedis = backends.has('redis') ? describe : describe.skip

describeRedis('consume-once inspect, on a Redis that refuses', () => {
  it('the password: says so, and shows none', async () => {
    await using redis = await startPrivateRedis()
    await withRedis(redis.url, (client) => client.call('ACL', 'SETUSER', 'default', 'resetpass', '>another'))
    const run = await inspect('redis', `127.0.0.1:${redis.port}`, ['--parked'])
    expect(run.stderr).toContain('WRONGPASS')
    expect(run.stderr).toContain(
      'does not know this user, or not with this password. Correct the address in the config',
    )
    expect(run.stderr).toContain(`127.0.0.1:${redis.port}`)
    expect(run.stderr).not.toMatch(new RegExp(`${SECRET}|another`))
    expect(run.exitCode).toBe(2)
  })
})

describe('a config that waits for a server at top level', () => {
  const SCHEMES = { 'node-redis': 'redis', ioredis: 'redis', pg: 'postgres', mysql2: 'mysql' } as const

  function load(client: keyof typeof SCHEMES, host: string): Promise<CliRun> {
    const who = SCHEMES[client] === 'redis' ? '' : 'someone'
    const url = `${SCHEMES[client]}://${who}:${SECRET}@${host}${who === '' ? '' : '/some'}`
    return cli.run(['inspect', 'sms', '--parked', '--timeout', '3'], {
      env: { CONSUME_ONCE_CONFIG: 'test/cli/waiting.config.ts', TEST_WAITS: client, TEST_WAITS_URL: url },
    })
  }

  it.each(Object.keys(SCHEMES) as (keyof typeof SCHEMES)[])(
    '%s: is given up after --timeout, with the file and the address that is silent',
    async (client) => {
      const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`
      const run = await load(client, host)
      expect(run).toMatchObject({ exitCode: 4, stdout: '' })
      expect(run.stderr).toMatch(/waiting\.config\.\w+: not loaded within 3 s \(--timeout\)/)
      expect(run.stderr).toContain(`No answer from ${host}.`)
      expect(run.stderr).not.toContain(SECRET)
    },
  )

  it('node-redis, where nothing listens: says so', async () => {
    const host = `127.0.0.1:${await freePort()}`
    const run = await load('node-redis', host)
    expect(run.stderr).toContain(`No answer from ${host} (ECONNREFUSED).`)
    expect(run.exitCode).toBe(4)
  })
})

function inspectOf(consumer: string, host: string): Promise<CliRun> {
  return cli.run(['inspect', consumer, '--parked'], {
    env: { CONSUME_ONCE_CONFIG: 'test/cli/lazy.config.ts', TEST_REDIS_URL: `redis://:${SECRET}@${host}` },
  })
}

describe('a config that connects without await', () => {
  it('needs no other server than that of the consumer', async () => {
    const host = `127.0.0.1:${(silent.address() as AddressInfo).port}`
    const other = await inspectOf('sms', host)
    expect(other).toMatchObject({ exitCode: 0 })
    const own = await inspectOf('mailer', host)
    expect(own).toMatchObject({ exitCode: 4, stdout: '' })
    expect(own.stderr).toContain(host)
    expect(own.stderr).not.toContain(SECRET)
  })
})
