import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { compile } from '../../bench/compiled.ts'
import type { Order } from '../../bench/contender-process.ts'
import { backends } from '../../test/kit/backends.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { server, sharedEndpoint, SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'

const CLIENTS = ['kafkajs', 'amqplib', 'ioredis', 'redis', 'pg', 'mysql2']
/** Says at the end which packages were loaded; clients are CommonJS, which the loader keeps by its file. */
const REPORTER = `data:text/javascript,import Module from 'node:module';
process.on('exit', () => process.stderr.write('loaded ' + Object.keys(Module._cache).join(' ')))`

let child = ''
beforeAll(async () => {
  child = await compile()
}, 60_000)

async function clientsLoadedBy(
  order: Omit<Order, 'job'>,
  servers: Order['job']['servers'],
): Promise<readonly string[]> {
  const job = { name: uniqueName('bench'), messages: 100, ids: 100, place: '', servers, isSmoke: true }
  const args = ['--expose-gc', '--import', REPORTER, child, JSON.stringify({ ...order, job } satisfies Order)]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  expect(JSON.parse(stdout)).toMatchObject({ messages: 100 })
  expect(stderr).toContain('loaded ')
  return CLIENTS.filter((name) => stderr.includes(`/node_modules/${name}/`))
}

describe('the process of a contender', () => {
  it('loads no client that its contender does not use', async () => {
    const order = { suite: 'cpu', scenario: 'batches', contender: 'handle' }
    expect(await clientsLoadedBy(order, {})).toEqual([])
  })

  if (backends.has('redis')) {
    it(
      'loads the client of its own server and no other',
      async () => {
        await server('redis')
        const order = { suite: 'redis', scenario: 'pairs-100', contender: 'redisLease' }
        expect(await clientsLoadedBy(order, { redis: await sharedEndpoint('redis') })).toEqual(['ioredis'])
      },
      SERVER_WITHIN_MS,
    )
  }
})
