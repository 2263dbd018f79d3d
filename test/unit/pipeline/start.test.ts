import { afterAll, describe, expect, it } from '@jest/globals'
import { defineConsumer, type Consumer } from '../../../src/consumer/define-consumer.ts'
import { BrokerError, ConfigError } from '../../../src/foundation/errors.ts'
import { messageId } from '../../../src/identity/message-id.ts'
import { MemoryBroker } from '../../../src/memory/broker.ts'
import { runMemory } from '../../../src/memory/run.ts'
import { memoryStore } from '../../../src/memory/store.ts'
import type { ObserverEvent } from '../../../src/ports/observer.ts'
import type { Intake } from '../../../src/ports/source.ts'
import type { Store } from '../../../src/ports/store.ts'
import { runConsumer } from '../../../src/run/run.ts'
import { ManualClock, turns } from '../../kit/manual-clock.ts'
import { RecordingSource } from '../../kit/recording-source.ts'
import { gate } from '../../kit/rig.ts'

/** A source that joins when the test lets it. */
class SlowSource extends RecordingSource {
  readonly joining = gate()
  opened = 0

  override async open(intake: Intake): Promise<void> {
    this.opened++
    await this.joining.opened
    await super.open(intake)
  }

  override health(): ReturnType<RecordingSource['health']> {
    return { ready: false, detail: 'joining' }
  }
}

const unhandled: unknown[] = []
const onUnhandled = (error: unknown): void => void unhandled.push(error)
process.on('unhandledRejection', onUnhandled)

afterAll(() => void process.off('unhandledRejection', onUnhandled))

function consumerOf(events: ObserverEvent[], store: Store = memoryStore()): Consumer {
  return defineConsumer({ name: 'sms', store, handle: () => {}, observe: (event) => void events.push(event) })
}

function never(): Promise<void> {
  return new Promise(() => {})
}

function storeThat(open: () => Promise<void>): ReturnType<typeof memoryStore> {
  return Object.assign(Object.create(memoryStore()) as ReturnType<typeof memoryStore>, { open })
}

describe('a start', () => {
  it('returns a handle that answers health before the source has joined', async () => {
    const source = new SlowSource()
    const opened = gate()
    const running = runConsumer(
      consumerOf(
        [],
        storeThat(() => opened.opened),
      ),
      { source, publisher: source },
    )
    expect(running.state).toBe('starting')
    expect(running.health()).toMatchObject({
      live: true,
      ready: false,
      state: 'starting',
      checks: { store: 'not open' },
    })
    opened.open()
    await turns()
    expect(running.health()).toMatchObject({ live: true, ready: false, checks: { source: 'joining', store: 'ok' } })
    source.joining.open()
    expect(await running.ready()).toBe('ready')
    expect(running.state).toBe('running')
    await running.stop()
  })

  it('resolves by await, and by ready(), when the source consumes', async () => {
    const source = new SlowSource()
    const running = runConsumer(consumerOf([]), { source, publisher: source })
    let isReady = false
    void running.ready().then(() => (isReady = true))
    await turns()
    expect(isReady).toBe(false)
    source.joining.open()
    const awaited = await running
    await turns()
    expect(isReady).toBe(true)
    expect(awaited.state).toBe('running')
    await awaited.stop()
    expect(await awaited.ready()).toBe('ready')
    expect(running.state).toBe('stopped')
  })

  it('that a stop cancels resolves with `stopped` at once, and the source is closed', async () => {
    const source = new SlowSource()
    const clock = new ManualClock()
    const events: ObserverEvent[] = []
    const running = runConsumer(consumerOf(events), { source, publisher: source, clock })
    await turns()
    const stopping = running.stop()
    expect(await running.ready()).toBe('stopped')
    expect((await running).state).toBe('draining')
    expect(source.calls).toEqual(['stopIntake', 'close'])
    source.joining.open()
    await stopping
    expect(running.state).toBe('stopped')
    expect(events.map(({ type }) => type)).toEqual(['started', 'stopped'])
    expect(clock.pending).toBe(0)
  })

  it('that fails after a stop was asked for rejects nothing, and an event has the cause', async () => {
    const source = new SlowSource()
    source.openFails = new BrokerError('BROKER_UNREACHABLE', 'wrong password')
    const events: ObserverEvent[] = []
    const running = runConsumer(consumerOf(events), { source, publisher: source })
    await turns()
    const stopping = running.stop()
    source.joining.open()
    await stopping
    expect(await running.ready()).toBe('stopped')
    expect(running.state).toBe('stopped')
    const detail = 'stop() was called during the start, which then failed: wrong password'
    expect(events.slice(1)).toMatchObject([{ type: 'source', event: 'start-cancelled', detail }, { type: 'stopped' }])
    expect(unhandled).toEqual([])
  })

  it('that failed before a stop was asked for rejects with its cause, also while it is cleaned up', async () => {
    const source = new SlowSource()
    const closing = gate()
    const close = source.close.bind(source)
    source.close = async () => {
      await closing.opened
      await close()
    }
    source.openFails = new BrokerError('BROKER_UNREACHABLE', 'wrong password')
    const running = runConsumer(consumerOf([]), { source, publisher: source })
    source.joining.open()
    await turns()
    expect(running.state).toBe('failed')
    const stopping = running.stop()
    closing.open()
    await expect(running.ready()).rejects.toThrow('wrong password')
    await stopping
    expect(running.state).toBe('stopped')
  })

  it('waits 5 s for a join that it cannot cut short, and no longer', async () => {
    const source = new SlowSource()
    const clock = new ManualClock()
    const running = runConsumer(consumerOf([]), { source, publisher: source, clock })
    await turns()
    let isStopped = false
    const stopping = running.stop().then(() => (isStopped = true))
    await clock.advance(4_999)
    expect(isStopped).toBe(false)
    await clock.advance(1)
    await stopping
    source.joining.open()
    await turns()
    expect(running.health()).toMatchObject({ ready: false, state: 'stopped' })
  })

  it('never opens the source when it was stopped while the store opened', async () => {
    const source = new SlowSource()
    const opened = gate()
    const running = runConsumer(
      consumerOf(
        [],
        storeThat(() => opened.opened),
      ),
      { source, publisher: source },
    )
    const stopping = running.stop()
    opened.open()
    await stopping
    await turns()
    expect(source.opened).toBe(0)
  })

  it('lets health tell the age of what is unfinished, although nobody observes', async () => {
    const source = new RecordingSource()
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const consumer = defineConsumer({ name: 'sms', id: messageId.header('id'), store, handle: never })
    const running = await runConsumer(consumer, { source, publisher: source, clock })
    source.deliver({ id: 'a' })
    await clock.advance(3_000)
    expect(running.health()).toMatchObject({ inFlight: 1, oldestUnfinishedMs: 3_000 })
    await Promise.all([running.stop({ deadlineMs: 0 }), clock.advance(60_000)])
  })

  it('that fails unwatched is told by health and by an event, and is no unhandled rejection', async () => {
    const source = new RecordingSource()
    source.openFails = new BrokerError('BROKER_UNREACHABLE', 'nobody there')
    const events: ObserverEvent[] = []
    const running = runConsumer(consumerOf(events), { source, publisher: source })
    await turns()
    expect(running.health()).toMatchObject({
      live: false,
      ready: false,
      state: 'failed',
      checks: { source: 'failed to start: nobody there' },
    })
    expect(events.filter(({ type }) => type !== 'started')).toMatchObject([
      { type: 'source', event: 'start-failed', detail: 'nobody there', isWarning: true },
    ])
    expect(source.calls).toEqual(['close'])
    expect(unhandled).toEqual([])
    await expect(running.ready()).rejects.toThrow('nobody there')
    await running.stop()
  })

  it('with options that are refused rejects, as a handle that has failed', async () => {
    const running = runMemory(new MemoryBroker(), consumerOf([]), { topic: '', group: 'g' })
    expect(running.health()).toMatchObject({ live: false, ready: false, state: 'failed' })
    await expect(running.ready()).rejects.toThrow(ConfigError)
    await expect(running).rejects.toThrow('topic: expected text')
    await running.stop()
  })

  it('does not make its dependencies for what is no consumer', async () => {
    let made = 0
    const running = runConsumer({} as Consumer, () => {
      made++
      const source = new RecordingSource()
      return { source, publisher: source }
    })
    await expect(running).rejects.toThrow(ConfigError)
    expect(made).toBe(0)
  })

  it('is over at the end of its block, also where it had not joined', async () => {
    const source = new SlowSource()
    {
      await using running = runConsumer(consumerOf([]), { source, publisher: source })
      await turns()
      source.joining.open()
      expect(running.state).toBe('starting')
    }
    expect(source.calls).toContain('close')
  })
})
