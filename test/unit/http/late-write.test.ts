import { describe, expect, it } from '@jest/globals'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import express, { type Response as ExpressResponse } from 'express'
import { idempotency } from '../../../adapters/http/index.ts'
import { memoryStore } from '../../../src/memory/index.ts'
import { gate } from '../../kit/rig.ts'
import { closedAfterEach } from '../../kit/after-each.ts'

const closing = closedAfterEach()

/** Resolves with the handler's response, which is held: its mark is under way until `answer` is called. */
async function heldAfter(end: (response: ExpressResponse) => unknown): Promise<{
  readonly response: ExpressResponse
  readonly answer: () => Promise<readonly [number, string]>
}> {
  const marking = gate()
  const mayMark = gate()
  const store = memoryStore()
  const mark = store.mark.bind(store)
  Object.assign(store, {
    mark: async (...args: Parameters<typeof mark>) => {
      marking.open()
      await mayMark.opened
      return mark(...args)
    },
  })
  const handled = gate<ExpressResponse>()
  const app = express()
  app.use(idempotency({ store, caller: () => 'ann', purge: 'never' }).express)
  app.post('/pay', (_request, response) => {
    end(response)
    handled.open(response)
  })
  const server = createServer(app)
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pay`
  const answered = fetch(url, { method: 'POST', headers: { 'idempotency-key': 'k' } })
  await marking.opened
  return {
    response: await handled.opened,
    answer: async () => {
      mayMark.open()
      const response = await answered
      return [response.status, await response.text()]
    },
  }
}

const END = (response: ExpressResponse): unknown => response.status(201).json({ paid: 1 })

/** Without a listener for `error`, and in the same process: one that is emitted to nobody fails the test. */
const LATE: Readonly<Record<string, (response: ExpressResponse) => unknown>> = {
  'a write': (response) => response.write('x'),
  'a write with a callback': (response) => response.write('x', () => {}),
  'an end with a chunk': (response) => response.end('x'),
  'an end': (response) => response.end(),
  'a pipe': (response) => Readable.from(['a', 'b']).pipe(response),
  'writes again and again': async (response) => {
    for (let i = 0; i < 10; i++) {
      response.write('x')
      await turn()
    }
  },
}

describe('after the end of a held response, while its mark is under way', () => {
  it.each(Object.keys(LATE))('%s does not end the process, and the answer stands', async (late) => {
    const { response, answer } = await heldAfter(END)
    await LATE[late]?.(response)
    await turn()
    await turn()
    expect(await answer()).toEqual([201, '{"paid":1}'])
  })

  it.each(Object.keys(LATE))('%s in the tick of the end does not end the process', async (late) => {
    const { answer } = await heldAfter((response) => {
      END(response)
      void LATE[late]?.(response)
    })
    await turn()
    expect(await answer()).toEqual([201, '{"paid":1}'])
  })

  it.each(Object.keys(LATE))('%s in the tick in which it is sent does not end the process', async (late) => {
    const { response, answer } = await heldAfter(END)
    // A middleware for sessions sees so when the response is sent.
    response.once('prefinish', () => void LATE[late]?.(response))
    expect(await answer()).toEqual([201, '{"paid":1}'])
    await turn()
  })

  it('a late write fails towards its caller, and towards those who listen', async () => {
    const { response, answer } = await heldAfter(END)
    const called: unknown[] = []
    expect(response.write('x', (error) => called.push((error as { code?: unknown } | undefined)?.code))).toBe(false)
    expect(response.end('x', () => called.push('end'))).toBe(response)
    await turn()
    expect(called).toEqual(['ERR_STREAM_WRITE_AFTER_END', 'end'])
    const heard: unknown[] = []
    response.on('error', (error: { code?: unknown }) => heard.push(error.code))
    response.write('x')
    await turn()
    expect(heard).toEqual(['ERR_STREAM_WRITE_AFTER_END'])
    expect(response.listenerCount('error')).toBe(1)
    expect(await answer()).toEqual([201, '{"paid":1}'])
  })
})
