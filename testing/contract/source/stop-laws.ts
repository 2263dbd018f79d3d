import type { Running } from '../../../src/ports/lifecycle.ts'
import { expect } from '../expect.ts'
import { driving, eventually, Gate } from './driven.ts'
import type { SourceLaw } from './harness.ts'

export const stopLaws: readonly SourceLaw[] = [
  {
    name: 'takes a stop during its start as no failure, and leaves everything to the next consumer',
    run: driving(async (harness, driven) => {
      await (await harness.run(driven.consumer())).stop() // Its queue is there from now on.
      await harness.publish(['early'])
      const atOnce = harness.run(driven.consumer())
      const stopping = atOnce.stop()
      expect(await atOnce.ready()).toBe('stopped')
      await stopping
      // While it dials or joins. A source that needs no time for that has begun to consume, which is as good.
      const opening = harness.run(driven.consumer())
      await eventually('its store is open', () => opening.health().checks['store'] === 'ok')
      const isStarting = opening.state === 'starting'
      await opening.stop({ deadlineMs: 20_000 })
      expect(await opening.ready()).toBe(isStarting ? 'stopped' : 'ready')
      expect([atOnce.state, (await opening).state]).toEqual(['stopped', 'stopped'])

      await harness.run(driven.consumer())
      await harness.publish(['late'])
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['early', 'late'])
    }),
  },
  {
    name: 'stops in order: handlers end, their settles are flushed, and nothing settled comes again',
    run: driving(async (harness, driven) => {
      const gate = new Gate()
      driven.handle = ({ payload }) => (payload === 'm9' ? gate.opened : undefined)
      const running = await harness.run(driven.consumer())
      await harness.publish(Array.from({ length: 10 }, (_, n) => `m${n}`))
      await eventually('one is left, and runs', () => driven.effects.length === 9 && driven.started.includes('m9'))
      const stops = [running.stop({ deadlineMs: 20_000 }), running.stop()]
      expect(stops[0]).toBe(stops[1])
      gate.open()
      await Promise.all(stops)
      expect(running.state).toBe('stopped')
      expect(await harness.isSettled(driven)).toBe(true)
      expect(driven.effects).toHaveLength(10)

      const before = driven.events.length
      const next: Running = await harness.run(driven.consumer())
      await harness.publish(['last'])
      await eventually('the next one works', () => driven.effects.includes('last'))
      await next.stop()
      const again = driven.events.slice(before).filter(({ type }) => type === 'delivery')
      expect(again).toHaveLength(1)
    }),
  },
]
