import { Client } from 'pg'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { DURABLE_NOTE } from './durable-note.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { answers, kafkaNodeJoined, untilAnswers } from '../../test/kit/servers/answers.ts'
import { CATALOGUE, SERVER_NAMES, type ServerName } from '../../test/kit/servers/catalogue.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import type { PrivateInstance } from '../../test/kit/servers/private-instance.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { startPrivateMariadb } from '../../test/kit/servers/private-mariadb.ts'
import { startPrivatePostgres } from '../../test/kit/servers/private-postgres.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { startPrivateRedis } from '../../test/kit/servers/private-redis.ts'
import { startedAt } from '../../test/kit/servers/process-tree.ts'
import { server, SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { describeFailure, findServer, WAYS, type Way } from '../../test/kit/servers/ways.ts'

const present = SERVER_NAMES.filter((name) => backends.has(name))

describe('server', () => {
  for (const name of present) {
    it(
      `finds a ${name} that answers, the same for everybody`,
      async () => {
        const [one, other] = await Promise.all([server(name), server(name)])
        expect(one).toEqual(other)
        await expect(answers(name, endpointOf(one))).resolves.toBeUndefined()
      },
      SERVER_WITHIN_MS,
    )
  }

  it('refuses what BACKENDS leaves out', async () => {
    const before = process.env['BACKENDS']
    process.env['BACKENDS'] = 'memory'
    try {
      await jest.isolateModulesAsync(async () => {
        const narrowed = await import('../../test/kit/servers/server.ts')
        await expect(narrowed.server('redis')).rejects.toThrow('BACKENDS leaves redis out')
      })
    } finally {
      if (before === undefined) delete process.env['BACKENDS']
      else process.env['BACKENDS'] = before
    }
  })
})

describe('the search for a server', () => {
  const { testVariable } = CATALOGUE.redis
  const before = process.env[testVariable]
  afterEach(() => {
    if (before === undefined) delete process.env[testVariable]
    else process.env[testVariable] = before
  })

  it('names all five ways, and why each failed, when none leads to one', async () => {
    delete process.env[testVariable]
    const closed = WAYS.map(({ title }): Way => ({ title, find: () => Promise.reject(new Error(`no ${title}`)) }))
    const error = await findServer('redis', closed).catch(String)
    expect(error).toContain('1. the environment: CONSUME_ONCE_TEST_REDIS_URL is not set')
    expect(error).toContain("2. this machine's usual port: no this machine's usual port")
    expect(error).toContain('3. docker compose: no docker compose')
    expect(error).toContain('4. programs of this machine: no programs of this machine')
    expect(error).toContain('5. programs installed now: no programs installed now')
    expect(error).toContain('BACKENDS=memory,pglite,postgres,mariadb,rabbitmq,kafka')
  })

  it('tries the ways in order, and ends with the first server that answers', async () => {
    delete process.env[testVariable]
    const closed: Way = { title: 'closed', find: () => Promise.reject(new Error('closed')) }
    const open: Way = { title: 'open', find: () => Promise.resolve('first') }
    const next: Way = { title: 'next', find: () => Promise.resolve('second') }
    expect(await findServer('redis', [closed, open, next])).toBe('first')
  })

  it('tries nothing else when the environment names one that does not answer, and keeps its password', async () => {
    process.env[testVariable] = 'redis://:secret@127.0.0.1:1'
    const error = await findServer('redis').catch(String)
    expect(error).toMatch(/CONSUME_ONCE_TEST_REDIS_URL names redis:\/\/:\*\*\*@127\.0\.0\.1:1, which does not answer/)
    expect(error).not.toContain('secret')
  })

  it('indents what a failed command said below its way', () => {
    const text = describeFailure('kafka', [{ title: 'programs', reason: '`java`: exit 1:\nno memory' }])
    expect(text).toContain('  1. programs: `java`: exit 1:\n     no memory')
  })
})

describe('a private instance', () => {
  const started: PrivateInstance[] = []
  afterEach(async () => {
    await Promise.all(started.splice(0).map((instance) => instance.stop()))
  })
  const begin = async <T extends PrivateInstance>(starting: Promise<T>): Promise<T> => {
    const instance = await starting
    started.push(instance)
    return instance
  }

  it('gets ports that no other process gets', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, freePort))
    expect(new Set(ports).size).toBe(50)
  })

  for (const name of present) {
    it(`of ${name} keeps its data over a kill, and leaves nothing once stopped`, async () => {
      const instance = await begin(START[name]())
      const at = endpointOf(instance)
      const [pid = 0] = instance.pids
      const note = uniqueName('note')
      await DURABLE_NOTE[name].write(at, note, instance)

      await instance.kill()
      expect(startedAt(pid)).toBeUndefined()
      expect(instance.pids).toEqual([])
      await expect(answers(name, at)).rejects.toThrow('ECONNREFUSED')

      await instance.restart()
      expect(endpointOf(instance)).toBe(at)
      expect(await DURABLE_NOTE[name].isThere(at, note)).toBe(true)

      const [again = 0] = instance.pids
      await Promise.all([instance.stop(), instance.stop()])
      expect(startedAt(again)).toBeUndefined()
      await expect(answers(name, at)).rejects.toThrow('ECONNREFUSED')
    }, 60_000)
  }

  if (backends.has('postgres')) {
    it('is silent while frozen, also on open connections, and answers once thawed', async () => {
      const postgres = await begin(startPrivatePostgres())
      const client = new Client({ connectionString: postgres.url })
      await client.connect()
      postgres.freeze()
      const pending = client.query('select 1')
      expect(
        await Promise.race([pending.then(() => 'answer'), answers('postgres', postgres.url).catch(String)]),
      ).toMatch(/timeout|no answer/)
      postgres.thaw()
      expect((await pending).rowCount).toBe(1)
      await client.end()
    })
  }

  if (backends.has('redis')) {
    it('restarts cleanly while it runs, and removes its data when it cannot start', async () => {
      const redis = await begin(startPrivateRedis())
      await redis.restart()
      await expect(answers('redis', redis.url)).resolves.toBeUndefined()
      await expect(startPrivateRedis({ args: ['--no-such-option', '1'] })).rejects.toThrow(/no-such-option/)
    })
  }

  if (backends.has('kafka')) {
    it('of three Kafka brokers goes on without one of them', async () => {
      const kafka = await begin(startPrivateKafka({ brokers: 3 }))
      const [, second] = kafka.nodes
      const [first = '', other = ''] = kafka.brokers
      await second?.kill()
      expect(kafka.pids).toHaveLength(2)
      await expect(answers('kafka', other)).rejects.toThrow('ECONNREFUSED')
      // It may have led the others: they elect anew.
      const topic = uniqueName('topic')
      await untilAnswers(() => DURABLE_NOTE.kafka.write(first, topic), { withinMs: 60_000, died: () => undefined })
      await second?.restart()
      await expect(kafkaNodeJoined(other)).resolves.toBeUndefined()
    }, 180_000) // Three JVMs, on a machine that is busy.
  }
})

type Addressed = { readonly url: string } | { readonly brokers: string[] }

const START: Readonly<Record<ServerName, () => Promise<PrivateInstance & Addressed>>> = {
  redis: startPrivateRedis,
  postgres: startPrivatePostgres,
  mariadb: startPrivateMariadb,
  rabbitmq: startPrivateRabbit,
  kafka: startPrivateKafka,
}

function endpointOf(address: Addressed): string {
  return 'url' in address ? address.url : address.brokers.join(',')
}
