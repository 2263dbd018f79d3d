// examples/sqs as a process, on ElasticMQ, which has the API of SQS. Asked is the server, and the calls that the provider has kept.
import { createRequire } from 'node:module'
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeEach, expect, it, jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { eventually } from '../../test/kit/eventually.ts'
import { uniqueName } from '../../test/kit/namespace.ts'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { addressesOfAll } from '../../test/kit/servers/addresses.ts'
import { startElasticMq, type ElasticMq } from './elasticmq.ts'

jest.setTimeout(180_000)

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly printed: string
}

/** It ran until its queue was empty. */
const STOPPED = { code: null, signal: 'SIGTERM' }

let mq: ElasticMq
let redis: Redis
let redisUrl: string
let prefix: string
beforeAllOpen(async (own) => {
  const { haveOwnPackages } = createRequire(import.meta.url)('../../test/kit/own-packages.cjs') as {
    readonly haveOwnPackages: (folder: string) => void
  }
  haveOwnPackages('examples/sqs')
  mq = own(await startElasticMq())
  redisUrl = (await addressesOfAll())['REDIS_URL'] ?? ''
  redis = new Redis(redisUrl)
  own(() => redis.disconnect())
}, 600_000)
beforeEach(() => {
  prefix = uniqueName('sqs')
})

/** A call of the API, as XML. */
async function call(url: string, action: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ Action: action, ...more }) })
  const text = await response.text()
  if (!response.ok) throw new Error(`${action}: ${text}`)
  return text
}

async function newQueue(attributes: Readonly<Record<string, string>> = {}, suffix = ''): Promise<string> {
  const named = Object.entries(attributes).flatMap(([name, value], at) => [
    [`Attribute.${at + 1}.Name`, name],
    [`Attribute.${at + 1}.Value`, value],
  ])
  const QueueName = `${prefix}${suffix}`
  const [, url = ''] = /<QueueUrl>(.*)<\/QueueUrl>/.exec(
    await call(`${mq.endpoint}/`, 'CreateQueue', { QueueName, ...Object.fromEntries(named) }),
  ) as readonly string[]
  return url
}

async function send(
  queue: string,
  paymentId: string,
  cents = 1250,
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  await call(queue, 'SendMessage', { MessageBody: JSON.stringify({ paymentId, cents }), ...more })
}

/** Those that can be received, and those that a worker has. */
async function left(queue: string): Promise<readonly number[]> {
  const xml = await call(queue, 'GetQueueAttributes', { 'AttributeName.1': 'All' })
  return ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'].map((name) =>
    Number(new RegExp(`<Name>${name}</Name>\\s*<Value>(\\d+)<`).exec(xml)?.[1] ?? Number.NaN),
  )
}

/** A worker, which is stopped when its queue is empty. */
async function work(queue: string, more: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const loader = pathToFileURL(resolve('node_modules/tsx/dist/loader.mjs')).href
  const aws = { AWS_REGION: 'elasticmq', AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' }
  const env = { AWS_ENDPOINT_URL_SQS: mq.endpoint, ...aws, REDIS_URL: redisUrl, PREFIX: prefix, QUEUE_URL: queue }
  const child = spawn(process.execPath, ['--import', loader, 'examples/sqs/payments.ts'], {
    env: { ...process.env, NODE_OPTIONS: '', ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const ended = new Promise<Ended>(
    (settle) => void child.once('close', (code, signal) => settle({ code, signal, printed })),
  )
  const isDone = async (): Promise<boolean> =>
    child.exitCode !== null || child.signalCode !== null || (await left(queue)).every((count) => count === 0)
  try {
    await eventually(isDone, 60_000)
  } finally {
    child.kill('SIGTERM')
  }
  return ended
}

async function charged(): Promise<readonly string[]> {
  const calls = await redis.lrange(`${prefix}:calls`, 0, -1)
  return calls.map((one) => one.replace(/ .*/, '')).toSorted()
}

it('what a producer sends twice is charged once, and all of it is deleted', async () => {
  const queue = await newQueue()
  for (const id of ['p-1', 'p-1', 'p-2', 'p-2', 'p-2']) await send(queue, id)
  expect(await work(queue)).toMatchObject(STOPPED)
  expect(await charged()).toEqual(['p-1', 'p-2'])
  expect(await left(queue)).toEqual([0, 0])
  await send(queue, 'p-1')
  expect(await work(queue)).toMatchObject(STOPPED)
  expect(await charged()).toEqual(['p-1', 'p-2'])
})

it('a worker that dies before the delete costs a redelivery and no charge', async () => {
  const queue = await newQueue({ VisibilityTimeout: '2' })
  await send(queue, 'p-1')
  expect(await work(queue, { DIES: 'before the delete' })).toMatchObject({ signal: 'SIGKILL' })
  expect(await charged()).toEqual(['p-1'])
  expect(await left(queue)).not.toEqual([0, 0])
  expect(await work(queue)).toMatchObject(STOPPED)
  expect(await charged()).toEqual(['p-1'])
  expect(await left(queue)).toEqual([0, 0])
})

it('a visibility timeout that ends while the function runs delivers it to another worker, which waits for the result', async () => {
  const queue = await newQueue({ VisibilityTimeout: '1' })
  await send(queue, 'p-1')
  const slow = { ANSWER_MS: '4000' }
  const workers = await Promise.all([work(queue, slow), work(queue, slow)])
  expect(workers).toMatchObject([STOPPED, STOPPED])
  expect(await charged()).toEqual(['p-1'])
  expect(await left(queue)).toEqual([0, 0])
})

it('what fails each time, and another payload under a known ID, end in the dead-letter queue of SQS', async () => {
  const dead = await newQueue({}, '-dead')
  const deadLetterTargetArn = `arn:aws:sqs:elasticmq:000000000000:${prefix}-dead`
  const queue = await newQueue({
    VisibilityTimeout: '1',
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 }),
  })
  await send(queue, 'p-1')
  await send(queue, 'p-bad', -1)
  expect(await work(queue)).toMatchObject(STOPPED)
  await send(queue, 'p-1', 99)
  expect(await work(queue)).toMatchObject({ ...STOPPED, printed: expect.stringContaining('ONCE_CONFLICT') })
  await eventually(async () => (await left(dead))[0] === 2)
  expect(await charged()).toEqual(['p-1', 'p-bad', 'p-bad'])
})

it('a FIFO queue, one message at a time: the next of a group waits until what failed is done or dead', async () => {
  const dead = await newQueue({ FifoQueue: 'true' }, '-dead.fifo')
  const deadLetterTargetArn = `arn:aws:sqs:elasticmq:000000000000:${prefix}-dead.fifo`
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 })
  const queue = await newQueue({ FifoQueue: 'true', VisibilityTimeout: '1', RedrivePolicy }, '.fifo')
  const sent: readonly (readonly [string, number])[] = [
    ['p-bad', -1],
    ['p-1', 1250],
    ['p-2', 1250],
  ]
  for (const [id, cents] of sent) await send(queue, id, cents, { MessageGroupId: 'g', MessageDeduplicationId: id })
  expect(await work(queue, { AT_ONCE: '1' })).toMatchObject(STOPPED)
  const calls = await redis.lrange(`${prefix}:calls`, 0, -1)
  expect(calls.map((one) => one.replace(/ .*/, ''))).toEqual(['p-bad', 'p-bad', 'p-1', 'p-2'])
  expect((await left(dead))[0]).toBe(1)
})
