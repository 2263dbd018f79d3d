import { createHook } from 'node:async_hooks'
import { createServer, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry'
import { afterEach, describe, expect, it } from '@jest/globals'
import { NoEffectError, TerminalError } from '../../../../src/index.ts'
import type { RunItem } from '../../../../src/pipeline/handling/handler-run.ts'
import { Deadlines } from '../../../../src/execution/deadlines.ts'
import { isOutage } from '../../../../src/foundation/outage.ts'
import { isThenable } from '../../../../src/foundation/thenable.ts'
import { Decoding } from '../../../../src/pipeline/handling/decoding.ts'
import { systemClock } from '../../../../src/foundation/clock.ts'
import { systemEntropy } from '../../../../src/foundation/entropy.ts'
import { defineConsumer, definitionOf } from '../../../../src/consumer/define-consumer.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import type { Message } from '../../../../src/ports/message.ts'

const servers: Server[] = []

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    await new Promise((resolve) => void server.close(resolve))
  }
})

async function serving(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer as never)
  servers.push(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** Schema 7, and nothing behind it. */
const AVRO = Buffer.from([0, 0, 0, 0, 7])

/** The error of the client. */
function decode(host: string, value: Buffer = AVRO): Promise<unknown> {
  return errorOf(new SchemaRegistry({ host, retry: { retries: 0 } }).decode(value))
}

describe('an error of the registry client of kafkajs', () => {
  it('says nothing about the payload when nobody listens', async () => {
    const host = await serving(() => {})
    const [server] = servers.splice(0)
    await new Promise((resolve) => void server?.close(resolve))
    const error = await decode(host)
    // It calls that 400. Should this change, the rule for it can go.
    expect(error).toMatchObject({ name: 'ResponseError', status: 400 })
    expect(isOutage(error)).toBe(true)
  })

  it('says nothing about the payload when the connection breaks', async () => {
    expect(isOutage(await decode(await serving((request) => request.socket.destroy())))).toBe(true)
  })

  it.each([
    [500, true],
    [503, true],
    [429, true],
    [401, true],
    [403, true],
    [404, false],
    [422, false],
  ])('with status %i: %s', async (status, isOne) => {
    const body = JSON.stringify({ error_code: status * 100 + 1, message: 'as a registry says it' })
    const host = await serving((_, response) => {
      response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' }).end(body)
    })
    expect(isOutage(await decode(host))).toBe(isOne)
  })

  it('is about the payload when that is no Avro of a registry', async () => {
    expect(isOutage(await decode('http://127.0.0.1:1', Buffer.from('{}')))).toBe(false)
  })
})

describe('an error', () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED', syscall: 'connect', errno: -111 })

  it.each([
    ['of a socket', refused, true],
    ['of fetch', new TypeError('fetch failed', { cause: refused }), true],
    ['of several addresses', new AggregateError([refused]), true],
    ['of axios', Object.assign(new Error('timeout'), { isAxiosError: true, code: 'ECONNABORTED' }), true],
    ['of the client of Confluent', Object.assign(new Error('x; Error code: 50001'), { status: 500 }), true],
    ['of the client of Confluent, 404', Object.assign(new Error('x; Error code: 40403'), { status: 404 }), false],
    ['with an answer', Object.assign(new Error('x'), { response: { status: 502 } }), true],
    ['of a time-out', new DOMException('x', 'TimeoutError'), true],
    ['of a certificate', Object.assign(new Error('expired'), { code: 'CERT_HAS_EXPIRED' }), true],
    ['of zlib', Object.assign(new Error('incorrect header check'), { code: 'Z_DATA_ERROR', errno: -3 }), false],
    ['of JSON', new SyntaxError('Unexpected token'), false],
    ['by the user: again', new NoEffectError('later'), true],
    ['by the user: never', new TerminalError('never', { cause: refused }), false],
    ['with a status of its own', Object.assign(new Error('x'), { status: 700 }), false],
    ['that is text', 'ECONNREFUSED', false],
    ['that is nothing', undefined, false],
    ['that is its own cause', ownCause(), false],
    [
      'that throws when it is read',
      new Proxy(
        {},
        {
          get: () => {
            throw refused
          },
        },
      ),
      false,
    ],
  ])('%s', (_, error, isOne) => {
    expect(isOutage(error)).toBe(isOne)
  })

  it('of a real socket has what is looked for', async () => {
    const error = await new Promise((resolve) => connect(1, '127.0.0.1').on('error', resolve))
    expect(isOutage(error)).toBe(true)
  })
})

describe('a decoder that answers at once', () => {
  it('makes no promise', () => {
    const consumer = definitionOf(
      defineConsumer({ name: 'c', store: memoryStore(), decode: () => ({ a: 1 }), handle: () => {} }),
    )
    const store = { isDown: false, renew: async () => [] }
    const deadlines = new Deadlines<RunItem>({ consumer, clock: systemClock, store })
    const services = { consumer, clock: systemClock, entropy: systemEntropy, observe: () => {}, deadlines }
    const decoding = new Decoding(services)
    const message = { value: Buffer.from('{}'), headers: {} } as unknown as Message
    let promises = 0
    const hook = createHook({ init: (_, type) => void (type === 'PROMISE' && promises++) }).enable()
    for (let at = 0; at < 1_000; at++) {
      const decoded = decoding.decode(message)
      if (isThenable(decoded)) throw new Error('a promise')
    }
    hook.disable()
    expect(promises).toBe(0)
  })
})

function ownCause(): Error {
  const error: Error & { cause?: unknown } = new Error('round')
  error.cause = error
  return error
}
