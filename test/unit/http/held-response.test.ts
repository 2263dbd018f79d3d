import { describe, expect, it } from '@jest/globals'
import {
  createServer,
  OutgoingMessage,
  request as httpRequest,
  ServerResponse,
  type IncomingMessage,
  type RequestListener,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HELD } from '../../../adapters/http/held.ts'
import { idempotency } from '../../../adapters/http/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

/** Writes down what a handler sees; the code of what is thrown. */
type Note = (what: () => unknown) => void
type Law = (response: ServerResponse, note: Note) => unknown

interface Seen {
  readonly noted: readonly unknown[]
  readonly status: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
  readonly trailers: unknown
}

/** Two subjects: a response of node itself, and one that is held. */
const SUBJECTS: Readonly<Record<string, (listener: RequestListener) => RequestListener>> = {
  node: (listener) => listener,
  held: (listener) => {
    const protect = idempotency({ store: memoryStore(), caller: () => 'ann', purge: 'never' }).express
    return (request, response) => protect(request, response, () => listener(request, response))
  },
}

/** How the bytes go over the wire, which is for whoever sends them last to say. */
const OF_TRANSFER = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length'])

async function see(subject: string, law: Law): Promise<Seen> {
  const noted: unknown[] = []
  const note: Note = (what) => {
    try {
      noted.push(what())
    } catch (error) {
      noted.push((error as { code?: unknown }).code ?? String(error))
    }
  }
  let answered: Promise<void> | undefined
  const listener: RequestListener = (_request, response) => {
    response.on('error', (error: { code?: unknown }) => noted.push(['error event', error.code]))
    answered = Promise.resolve(law(response, note)).then(() => undefined)
  }
  const server = createServer(SUBJECTS[subject]?.(listener))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = httpRequest({ port, method: 'POST', headers: { 'idempotency-key': 'k' } }, resolve)
    sent.on('error', reject).end()
  })
  let body = ''
  for await (const chunk of answer.setEncoding('latin1')) body += String(chunk)
  await answered
  // Errors of a write after the end are emitted on the next tick.
  await new Promise((resolve) => setImmediate(resolve))
  const headers = Object.fromEntries(
    Object.entries(answer.headers)
      .filter(([name]) => !OF_TRANSFER.has(name))
      .map(([name, value]) => [name, name === 'date' ? 'a date' : value]),
  )
  const { statusCode, statusMessage, trailers } = answer
  return { noted, status: `${statusCode} ${statusMessage}`, headers, body, trailers }
}

const flags = (response: ServerResponse): unknown => [response.headersSent, response.writableEnded, response.finished]

const LAWS: Readonly<Record<string, Law>> = {
  'nothing is sent at first': (response, note) => {
    note(() => flags(response))
    note(() => [response.statusCode, response.getHeaderNames()])
    response.end()
    note(() => flags(response))
  },
  'headers can be set, read, appended and removed, with their case': (response, note) => {
    response.setHeader('X-One', '1')
    response.setHeader('x-list', ['a', 'b'])
    note(() => response.appendHeader('X-List', 'c') === response)
    note(() => response.setHeaders(new Map([['x-two', '2']])) === response)
    note(() => [response.getHeader('x-one'), response.hasHeader('X-LIST'), response.getHeaders()])
    response.removeHeader('x-one')
    note(() => response.getHeaderNames())
    response.end('x')
  },
  'bad headers and a bad status are refused': (response, note) => {
    note(() => response.setHeader('bad name', '1'))
    note(() => response.setHeader('x', 'a\r\nx-injected: 1'))
    note(() => response.setHeader('x', undefined as unknown as string))
    note(() => response.writeHead(42))
    note(() => response.writeHead(200, 'a\r\nb'))
    response.statusMessage = 'OK'
    response.end()
  },
  'writeHead sends the head: a second one fails, and no header changes': (response, note) => {
    response.setHeader('x-one', '1')
    note(() => response.writeHead(202, 'Taken', { 'X-Two': '2', 'x-one': 'one' }) === response)
    note(() => flags(response))
    note(() => response.writeHead(500))
    note(() => response.setHeader('x-three', '3'))
    note(() => response.appendHeader('x-one', '3'))
    note(() => response.removeHeader('x-one'))
    note(() => response.setHeaders(new Map([['x', '1']])))
    response.statusCode = 500
    response.statusMessage = 'Not taken'
    response.end('taken')
  },
  'writeHead takes flat and paired lists of headers': (response) => {
    response.setHeader('x-one', '1')
    response.writeHead(201, ['x-two', '2', 'x-list', 'a', 'x-list', 'b'])
    response.end()
  },
  'a first write sends the head': (response, note) => {
    response.statusCode = 203
    response.setHeader('x-one', '1')
    note(() => typeof response.write('a'))
    note(() => flags(response))
    note(() => response.setHeader('x-two', '2'))
    note(() => response.writeHead(500))
    response.statusCode = 500
    response.end('b')
  },
  'flushHeaders sends the head': (response, note) => {
    response.statusCode = 203
    response.flushHeaders()
    note(() => flags(response))
    note(() => response.setHeader('x-two', '2'))
    response.end('x')
  },
  'the end freezes status and headers': (response, note) => {
    response.statusCode = 201
    response.setHeader('x-one', '1')
    note(() => response.end('first') === response)
    note(() => flags(response))
    response.statusCode = 500
    note(() => response.statusCode)
    note(() => response.setHeader('Content-Length', '4'))
    note(() => response.removeHeader('x-one'))
    note(() => response.appendHeader('x-one', '2'))
    note(() => response.writeHead(500, { 'x-one': '2' }))
    note(() => response.flushHeaders())
  },
  // And the one difference: where nobody listens for the error, node ends the process. A held response does not, because
  // it is sent a round trip of the store after its end (see late-write.test.ts).
  'a write after the end fails': async (response, note) => {
    response.end('first')
    note(() => response.write('second'))
    await new Promise<void>((resolve) => {
      response.write('third', (error) => {
        note(() => (error as { code?: unknown } | undefined)?.code)
        resolve()
      })
    })
  },
  'a second end adds nothing': (response, note) => {
    response.end('first')
    note(() => response.end() === response)
    note(() => response.end('second') === response)
    note(() => response.end(Buffer.from('third')) === response)
  },
  // With an error, if the response was sent by then.
  'a second end calls back': async (response) => {
    response.end('first')
    await new Promise<void>((resolve) => void response.end(() => resolve()))
  },
  'finish comes once, after the end, and says that all is sent': async (response, note) => {
    await new Promise<void>((resolve) => {
      response.on('finish', () => {
        note(() => ['finish', response.writableFinished, flags(response)])
        resolve()
      })
      response.end('first', () => note(() => 'callback'))
      note(() => flags(response))
    })
  },
  'the callback of an end, and listeners before and after it, are called in order': async (response, note) => {
    await new Promise<void>((resolve) => {
      response.on('finish', () => note(() => 'before'))
      response.end('first', () => note(() => 'first'))
      response.on('finish', () => note(() => 'between'))
      response.on('finish', resolve)
    })
  },
  'callbacks of writes are called, in order': async (response, note) => {
    await new Promise<void>((resolve) => {
      response.write('a', () => note(() => 'a'))
      response.write(Buffer.from('b'), () => note(() => 'b'))
      response.write('63', 'hex', () => {
        note(() => 'c')
        resolve()
      })
    })
    response.end('ZA==', 'base64')
  },
  'chunks that are neither text nor bytes are refused': (response, note) => {
    note(() => response.write(null))
    note(() => response.write(undefined))
    note(() => response.write(5))
    note(() => response.write({}))
    response.end('x')
  },
  'an empty chunk sends the head': (response, note) => {
    note(() => typeof response.write(''))
    note(() => flags(response))
    response.end('')
    note(() => flags(response))
  },
  'a status without a body has none': (response) => {
    response.statusCode = 204
    response.end('nothing')
  },
  'a status has its own message': (response) => {
    response.statusCode = 201
    response.statusMessage = 'Paid'
    response.end()
  },
  'text is sent in its encoding': (response) => {
    response.write('é', 'latin1')
    response.write('é')
    response.end('6869', 'hex')
  },
  'a stream can be piped': async (response, note) => {
    response.statusCode = 201
    await pipeline(Readable.from(['a', 'b', 'c']), response)
    note(() => flags(response))
  },
  'a large stream can be piped': async (response) => {
    await pipeline(Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(10_000, 'x'))), response)
  },
  'writes can be corked': (response, note) => {
    response.cork()
    response.write('a')
    note(() => response.writableCorked)
    response.write('b')
    response.uncork()
    note(() => response.writableCorked)
    response.end('c')
  },
  'trailers follow the body': (response) => {
    response.setHeader('trailer', 'x-sum')
    response.setHeader('transfer-encoding', 'chunked')
    response.write('a')
    response.addTrailers({ 'x-sum': '1' })
    response.end()
  },
  'a strict length is kept': (response, note) => {
    response.strictContentLength = true
    response.setHeader('content-length', '2')
    note(() => response.write('abc'))
    note(() => flags(response))
    response.strictContentLength = false
    response.end('ab')
  },
  'a date can be left out': (response, note) => {
    response.removeHeader('date')
    note(() => response.sendDate)
    response.end('x')
  },
  'the second answer of a handler fails at its first header': (response, note) => {
    response.statusCode = 201
    response.setHeader('Content-Length', '4')
    response.end('paid')
    note(() => {
      response.statusCode = 500
      response.setHeader('Content-Length', '60')
      response.end('HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 1\r\n\r\nx')
    })
  },
}

describe('the laws of a response', () => {
  it.each(Object.keys(LAWS))('%s, for a held response as for one of node [T293]', async (name) => {
    const law = LAWS[name] as Law
    const [own, held] = [await see('node', law), await see('held', law)]
    expect(held).toEqual(own)
  })

  it('keeps a copy of the bytes that a handler writes', async () => {
    const { body } = await see('held', (response) => {
      const chunk = Buffer.from('first')
      response.write(chunk)
      chunk.fill('x')
      response.end()
    })
    expect(body).toBe('first')
  })
})

/** Of a response of node, and with no part in what it answers: they need not wait for the end of a handler. */
const NOT_HELD = new Set([
  'constructor',
  '_finish',
  'assignSocket',
  'detachSocket',
  '_headers',
  'connection',
  '_headerNames',
  '_renderHeaders',
  '_send',
  '_writeRaw',
  '_isLenientHeaderValidation',
  '_storeHeader',
  '_flush',
  '_flushOutput',
  'setTimeout',
  'writableObjectMode',
  // Calls writeHead of the response.
  '_implicitHeader',
  // Informational responses before the head.
  'writeContinue',
  'writeProcessing',
  'writeEarlyHints',
  'writeInformation',
  // A response is no source.
  'pipe',
  // Of the connection.
  'socket',
  'errored',
  'closed',
  'writableHighWaterMark',
])

it('every name of a response of this node is held, or known to need no hold', () => {
  const names = [ServerResponse.prototype, OutgoingMessage.prototype].flatMap((one) => Object.getOwnPropertyNames(one))
  expect(names.filter((name) => !HELD.includes(name) && !NOT_HELD.has(name))).toEqual([])
})
