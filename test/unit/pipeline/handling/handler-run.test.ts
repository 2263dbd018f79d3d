import { describe, expect, it, jest } from '@jest/globals'
import { definitionOf, defineConsumer } from '../../../../src/consumer/define-consumer.ts'
import { memoryStore } from '../../../../src/memory/store.ts'
import { Held, WITHOUT_LEASE } from '../../../../src/execution/deadlines.ts'
import type { RunEnd } from '../../../../src/execution/run-end.ts'
import { HandlerRun, type RunItem } from '../../../../src/pipeline/handling/handler-run.ts'
import { runInline } from '../../../../src/run/inline.ts'
import { turns } from '../../../kit/manual-clock.ts'
import type { Message } from '../../../../src/ports/message.ts'

const MESSAGE: Message = {
  system: 'memory',
  destination: 'queue',
  origin: 'queue',
  position: '1',
  key: null,
  value: Buffer.from('{}'),
  headers: {},
}

function fail(): never {
  throw new Error('a mistake')
}

function answerAndFail(answer: () => void): never {
  answer()
  return fail()
}

function spoilt(field: 'constructor' | 'then', how: PropertyDescriptor, what: object = Promise.resolve()): unknown {
  return Object.defineProperty(what, field, how)
}

/** How a run ended, each time. */
async function endsOf(handleBatch: (context: unknown) => unknown): Promise<readonly RunEnd[]> {
  const consumer = definitionOf(defineConsumer({ name: 'c', store: memoryStore(), handleBatch }))
  const ends: RunEnd[] = []
  const run = new HandlerRun(new Held<RunItem>([], WITHOUT_LEASE))
  run.begin(0)
  run.start(consumer, undefined, (_, end) => ends.push(end))
  await turns()
  return ends
}

describe('a run of a handler', () => {
  it.each<[string, () => unknown]>([
    ['a promise without a usable constructor', () => spoilt('constructor', { get: fail })],
    ['a promise without a usable then', () => spoilt('then', { get: fail })],
    ['a promise whose then throws', () => spoilt('then', { value: fail })],
    ['what has no usable then', () => spoilt('then', { get: fail }, {})],
  ])('ends once, as failed, and throws nothing where the handler returns %s', async (_what, handle) => {
    expect(await endsOf(handle)).toMatchObject([{ result: 'failed', error: { message: 'a mistake' } }])
  })

  it('ends once where the handler returns a promise whose then answers, and throws all the same', async () => {
    expect(await endsOf(() => spoilt('then', { value: answerAndFail }))).toEqual([{ result: 'handled' }])
  })
})

describe('what a handler gets', () => {
  it('has its signal in a copy by spread too, made only when it is asked for', async () => {
    let count = 0
    const Real = AbortController
    const counting = jest.spyOn(globalThis, 'AbortController').mockImplementation(() => {
      count++
      return new Real()
    })
    const made: number[] = []
    const seen: unknown[] = []
    const consumer = defineConsumer({
      name: 'c',
      id: () => 'the one',
      store: memoryStore(),
      handle: (context) => {
        const { payload, attempt, idempotencyKey, log, message, fence, skip } = context
        made.push(count)
        const copy = { ...context }
        made.push(count)
        seen.push(copy, { payload, attempt, idempotencyKey, log, message, fence, skip, signal: context.signal })
      },
    })
    const running = runInline(consumer, { group: 'g' })
    expect(await running.handle(MESSAGE)).toMatchObject({ outcome: 'handled' })
    await running.stop()
    counting.mockRestore()
    expect(made).toEqual([0, 1])
    expect(seen[0]).toEqual({ ...(seen[1] as object), tx: undefined })
  })

  it('has its signal in a copy of a batch too', async () => {
    const copies: object[] = []
    await endsOf((context) => void copies.push({ ...(context as object) }))
    expect(copies).toMatchObject([{ messages: [], signal: expect.any(AbortSignal) }])
  })
})
