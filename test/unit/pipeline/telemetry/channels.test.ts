import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, describe, expect, it } from '@jest/globals'
import { listenTo } from '../../../kit/listen-to.ts'
import { endRigs, startRig, STYLES } from '../../../kit/rig.ts'

const ends: (() => void)[] = []

afterEach(async () => {
  await endRigs()
  for (const end of ends.splice(0)) end()
})

/** What is told on a tracing channel: the phase, and its fields. */
function toldOn(name: string): ReturnType<typeof listenTo>['told'] {
  const { told, end } = listenTo(name)
  ends.push(end)
  return told
}

describe.each(STYLES)('diagnostics channels ($strategy, $handler)', (style) => {
  it('tell each step of a message', async () => {
    const claims = toldOn('consume_once:claim')
    const runs = toldOn('consume_once:handle')
    const marks = toldOn('consume_once:mark')
    const settles = toldOn('consume_once:settle')
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver('a')
    const { message } = rig.source.deliveries[0] ?? {}
    const about = { consumer: 'consumer', messages: [expect.objectContaining({ message })] }
    for (const told of [claims, runs, marks]) {
      expect(told.map(([phase]) => phase)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
      expect(told[0]?.[1]).toMatchObject(about)
    }
    expect(runs[0]?.[1]).toMatchObject({ messages: [{ attempt: 1 }] })
    expect(settles).toMatchObject([
      ['start', { consumer: 'consumer', message, outcome: 'handled' }],
      ['end', { result: true }],
    ])
  })

  it('tell what a handler throws, and nothing of it changes', async () => {
    const runs = toldOn('consume_once:handle')
    const error = new Error('busy')
    const rig = await startRig({
      style,
      maxAttempts: 1,
      effect: () => {
        throw error
      },
    })
    await rig.deliver('a')
    expect(rig.outcomes()).toEqual(['dead-lettered'])
    expect(runs.find(([phase]) => phase === 'error')?.[1]).toMatchObject({ error })
  })

  it('tell each outcome, without an observer of the consumer', async () => {
    const told: unknown[] = []
    const listen = (event: unknown): void => void told.push(event)
    subscribe('consume_once:delivery', listen)
    ends.push(() => unsubscribe('consume_once:delivery', listen))
    const rig = await startRig({ style, effect: (work) => work.apply() })
    await rig.deliver('a')
    await rig.deliver('a')
    expect(told).toMatchObject([
      { type: 'delivery', consumer: 'consumer', outcome: 'handled', durations: { totalMs: 0 } },
      { outcome: 'duplicate' },
    ])
  })
})

it('a subscriber can put the handler into a context of its own', async () => {
  const storage = new AsyncLocalStorage<object>()
  const { start } = tracingChannel<object, object>('consume_once:handle')
  start.bindStore(storage, (about) => about)
  ends.push(() => start.unbindStore(storage))
  const seen: unknown[] = []
  const rig = await startRig({ effect: () => void seen.push(storage.getStore()) })
  await rig.deliver('a')
  expect(seen).toMatchObject([{ consumer: 'consumer' }])
})
