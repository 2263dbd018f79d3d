import { setTimeout as sleep } from 'node:timers/promises'
import { NoEffectError } from '../../../src/foundation/errors.ts'
import { expect } from '../expect.ts'
import { driving, eventually, Gate } from './driven.ts'
import type { SourceHarness, SourceLaw } from './harness.ts'

export const standingLaws: readonly SourceLaw[] = [
  {
    name: 'runs once what is taken away and delivered again while its handler runs',
    run: driving(async (harness, driven) => {
      const slow = new Gate()
      driven.handle = () => slow.opened
      const consumer = driven.consumer()
      const running = await harness.run(consumer)
      await harness.publish(['m1'])
      await eventually('its handler runs', () => driven.started.length === 1)
      await harness.interrupt(running, consumer)
      slow.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.started).toEqual(['m1'])
      expect(driven.effects).toEqual(['m1'])
    }),
  },
  {
    name: 'says of what was taken away whether it is lost: a handler is aborted then, and only then',
    run: driving(async (harness, driven) => {
      const slow = new Gate()
      let signal: AbortSignal | undefined
      driven.handle = (context) => {
        if (context.payload !== 'm1') return undefined
        signal ??= context.signal
        return slow.opened
      }
      const consumer = driven.consumer()
      const running = await harness.run(consumer)
      await harness.publish(['m1'])
      await eventually('its handler runs', () => signal !== undefined)
      const standing = await harness.interrupt(running, consumer)
      if (standing === 'lost') await eventually('the handler is aborted', () => signal?.aborted === true)
      // What is published now arrives behind what comes back.
      await harness.publish(['later', 'latest'])
      await eventually('later messages are done', () => driven.effects.length === 2)
      if (standing === 'stale') expect(signal?.aborted).toBe(false)
      slow.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['later', 'latest', 'm1'])
    }),
  },
  {
    name: 'gives up what another consumer gets: its handler is aborted, and the message handled once',
    run: driving(async (harness, driven) => {
      const texts = ['m1', 'm2', 'm3', 'm4']
      let aborted = 0
      driven.handle = ({ signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            aborted++
            reject(new NoEffectError('not begun'))
          }),
        )
      const consumer = driven.consumer()
      const running = await harness.run(consumer)
      await harness.publish(texts)
      await eventually('their handlers run', () => driven.started.length === texts.length)
      driven.handle = () => {}
      await harness.takeAway(running, consumer)
      await eventually('a handler is aborted', () => aborted > 0)
      // What stayed with the first consumer is still in its handler.
      await running.stop({ deadlineMs: 50 })
      await harness.run(driven.consumer())
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(texts)
    }),
  },
  {
    name: 'loses nothing and repeats nothing over interruptions under load',
    run: driving(async (harness, driven) => {
      const slow = new Gate()
      driven.handle = () => (driven.started.length > 60 ? slow.opened : sleep(5))
      // Few at once, and none ends before the interruption, so that many wait at it.
      const consumer = driven.consumer({ concurrency: 4 })
      const running = await harness.run(consumer)
      const texts = Array.from({ length: 600 }, (_, n) => `m${n}`)
      await harness.publish(texts.slice(0, 300))
      await eventually('some are done', () => driven.effects.length > 50)
      const interrupted = harness.interrupt(running, consumer)
      driven.handle = () => sleep(5)
      slow.open()
      await interrupted
      await harness.publish(texts.slice(300))
      await eventually('more are done', () => driven.effects.length > 350)
      await harness.interrupt(running, consumer)
      // Messages cut off by the interruption may be on the way back, unknown to everyone.
      await eventually('all are done', () => driven.effects.length >= texts.length)
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(texts.toSorted())
    }),
  },
  {
    name: 'goes on by itself whenever its connection breaks',
    needs: 'disconnects',
    run: driving(async (harness, driven) => {
      const running = await harness.run(driven.consumer())
      const texts = ['m0', 'm1', 'm2', 'm3', 'm4', 'm5']
      for (let at = 0; at < texts.length; at += 2) {
        if (at > 0) await disconnecting(harness)
        await harness.publish(texts.slice(at, at + 2))
        await eventually('all are done', () => driven.effects.length >= at + 2)
      }
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(texts)
      await eventually('it is ready', () => running.health().ready)
    }),
  },
]

function disconnecting({ disconnect }: SourceHarness): Promise<void> {
  if (disconnect === undefined) {
    throw new TypeError('the harness has no disconnect(): write it, or say by lacks: { disconnects: why }')
  }
  return disconnect()
}
