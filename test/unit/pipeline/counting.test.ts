import { channel } from 'node:diagnostics_channel'
import { describe, expect, it } from '@jest/globals'
import { defineConsumer } from '../../../src/consumer/define-consumer.ts'
import { messageId } from '../../../src/identity/message-id.ts'
import { memoryStore } from '../../../src/memory/store.ts'
import type { Logger } from '../../../src/ports/logger.ts'
import type { CountingObserver, Counts, Observer, ObserverEvent } from '../../../src/ports/observer.ts'
import { COPY_HEADER } from '../../../src/copies/vocabulary.ts'
import { runConsumer } from '../../../src/run/run.ts'
import { Meter } from '../../../src/signals/meter.ts'
import { COUNTERS, HISTOGRAMS, idsOf } from '../../../src/signals/metrics.ts'
import { MemoryInbox } from '../../../testing/stores/memory-inbox.ts'
import { ManualClock, turns } from '../../kit/manual-clock.ts'
import { RecordingSource } from '../../kit/recording-source.ts'
import { steadyEntropy } from '../../kit/rig.ts'

/** Events that come with every message. */
const EACH: ReadonlySet<string> = new Set(['handler-run', 'store-call', 'claims', 'marks', 'delivery handled'])

function nameOf(event: ObserverEvent): string {
  return event.type === 'delivery' ? `delivery ${event.outcome}` : event.type
}

interface Told {
  readonly observer: CountingObserver
  /** What it was called for. */
  readonly calls: Record<keyof Counts, number>
  readonly events: string[]
}

function counting(): Told {
  const calls = { handled: 0, settled: 0, ran: 0, called: 0 }
  const events: string[] = []
  const countsOf = (): Counts => ({
    handled: () => void calls.handled++,
    settled: () => void calls.settled++,
    ran: () => void calls.ran++,
    called: () => void calls.called++,
  })
  const observer = Object.assign((event: ObserverEvent) => void events.push(nameOf(event)), { countsOf })
  return { observer, calls, events }
}

interface Listening {
  readonly observe: readonly Observer[]
  readonly log?: Logger
  readonly isInbox?: boolean
}

/** Seven deliveries: five messages are handled, one of them in its second attempt and one sent by a replay. */
async function consume({ observe, log, isInbox = false }: Listening, clock: ManualClock): Promise<void> {
  const source = new RecordingSource([])
  const slow = (): Promise<void> => new Promise((resolve) => void clock.after(30, resolve))
  let failures = 1
  const options = {
    name: 'sms',
    id: messageId.header('id'),
    concurrency: 4,
    batchSize: 2,
    observe: [...observe],
    ...(log && { log }),
    handle: async ({ message }: { readonly message: { readonly headers: Readonly<Record<string, unknown>> } }) => {
      await slow()
      if (String(message.headers['id']) === 'bad' && failures-- > 0) throw new Error('not yet')
    },
  }
  const consumer = isInbox
    ? defineConsumer({ ...options, store: new MemoryInbox({ clock }) })
    : defineConsumer({ ...options, store: memoryStore({ clock }) })
  const running = await runConsumer(consumer, { source, publisher: source, clock, entropy: steadyEntropy() })
  const timestamp = clock.now() - 960
  source.deliver({ id: 'a', timestamp }, { id: 'b' }, { id: 'bad', timestamp }, { id: '' })
  await clock.advance(10_000)
  source.deliver({ id: 'a' }, { id: 'c', headers: { [COPY_HEADER.replayId]: 'r' } }, { id: 'd' })
  await clock.advance(1_000)
  await running.stop()
  await turns()
}

function quiet(): void {}

function broken(): never {
  throw new Error('the counter is broken')
}

function totalsOf(meter: Meter): unknown {
  return {
    counters: idsOf(COUNTERS).map((id) => meter.counter(id)),
    histograms: idsOf(HISTOGRAMS).map((id) => meter.histogram(id)),
  }
}

describe('an observer that counts', () => {
  it('gets numbers in place of events of every message', async () => {
    const told = counting()
    await consume({ observe: [told.observer] }, new ManualClock())
    expect(told.calls).toEqual({ handled: 5, settled: expect.any(Number), ran: 6, called: expect.any(Number) })
    expect(told.events.filter((name) => EACH.has(name))).toEqual([])
    expect(told.events).toEqual(
      expect.arrayContaining(['started', 'attempt-failed', 'delivery duplicate', 'delivery dead-lettered', 'stopped']),
    )
  })

  it('leaves the events of every message to others that listen', async () => {
    const told = counting()
    const heard: string[] = []
    await consume({ observe: [told.observer, (event) => void heard.push(nameOf(event))] }, new ManualClock())
    expect(heard.filter((name) => name === 'delivery handled')).toHaveLength(5)
    expect(heard.filter((name) => name === 'handler-run')).toHaveLength(6)
    expect(told.calls).toMatchObject({ handled: 5, ran: 6 })
    expect(told.events.filter((name) => EACH.has(name))).toEqual([])
  })

  it('leaves them to a log that writes debug lines, and to the diagnostics channel', async () => {
    const lines: string[] = []
    const line = (_: object, message: string): void => void lines.push(message)
    const log: Logger = { debug: line, info: line, warn: line, error: line }
    await consume({ observe: [counting().observer], log }, new ManualClock())
    expect(lines.filter((message) => message === 'handled')).toHaveLength(5)
    lines.length = 0
    await consume(
      { observe: [counting().observer], log: { ...log, isLevelEnabled: (level) => level !== 'debug' } },
      new ManualClock(),
    )
    expect(lines).not.toContain('handled')
    const published: unknown[] = []
    const subscriber = (event: unknown): void => void published.push((event as { outcome: string }).outcome)
    channel('consume_once:delivery').subscribe(subscriber)
    await consume({ observe: [counting().observer] }, new ManualClock())
    channel('consume_once:delivery').unsubscribe(subscriber)
    expect(published.filter((outcome) => outcome === 'handled')).toHaveLength(5)
  })

  it('may throw: messages end, the others are called, and the log says it', async () => {
    const errors: string[] = []
    const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: (_, message) => void errors.push(message) }
    const counts: Counts = { handled: broken, settled: broken, ran: broken, called: broken }
    const told = counting()
    await consume(
      { observe: [Object.assign(() => {}, { countsOf: () => counts }), told.observer], log },
      new ManualClock(),
    )
    expect(told.calls).toMatchObject({ handled: 5, ran: 6 })
    expect(new Set(errors)).toEqual(new Set(['the observer threw', 'dead-lettered']))
  })

  it.each([false, true])('counts the same as from events (inbox: %s)', async (isInbox) => {
    const clocks = { events: new ManualClock(), numbers: new ManualClock(), both: new ManualClock() }
    const meters = {
      events: new Meter({ clock: clocks.events }),
      numbers: new Meter({ clock: clocks.numbers }),
      both: new Meter({ clock: clocks.both }),
    }
    await consume({ observe: [(event) => meters.events.observe(event)], isInbox }, clocks.events)
    await consume({ observe: [meters.numbers.observe], isInbox }, clocks.numbers)
    await consume({ observe: [meters.both.observe, () => {}], isInbox }, clocks.both)
    expect(totalsOf(meters.numbers)).toEqual(totalsOf(meters.events))
    expect(totalsOf(meters.both)).toEqual(totalsOf(meters.events))
    expect(meters.numbers.counter('deliveries')).toContainEqual({
      labels: expect.objectContaining({ outcome: 'handled', replay: 'true' }),
      value: 1,
    })
    const handler = meters.numbers.counter('steps').find(({ labels }) => labels['step'] === 'handler')
    expect(handler?.value).toBeCloseTo(5 * 0.03)
  })
})
