import { describe, expect, it } from '@jest/globals'
import { definitionOf, defineConsumer } from '../../src/define-consumer.ts'
import { memoryStore } from '../../src/memory/store.ts'
import { HandlerRun, type RunEnd } from '../../src/pipeline/handler-run.ts'
import { turns } from '../support/manual-clock.ts'

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
async function endsOf(handleBatch: () => unknown): Promise<readonly RunEnd[]> {
  const consumer = definitionOf(defineConsumer({ name: 'c', store: memoryStore(), handleBatch }))
  const ends: RunEnd[] = []
  new HandlerRun([]).start(consumer, undefined, 0, (_, end) => ends.push(end))
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
