import { setTimeout as sleep } from 'node:timers/promises'
import { NoEffectError } from '../../../src/foundation/errors.ts'
import type { Running } from '../../../src/ports/lifecycle.ts'
import { expect } from '../expect.ts'
import { Driven, eventually, Gate } from './driven.ts'
import type { SourceLaw } from './harness.ts'

/** Run them on a real server if there is one. */
export const sourceLaws: readonly SourceLaw[] = [
  {
    name: 'delivers everything, handles each message once however often it was published, and settles it',
    run: async (harness) => {
      const driven = new Driven()
      await harness.run(driven.consumer())
      const texts = Array.from({ length: 200 }, (_, n) => `m${n % 150}`)
      await harness.publish(texts)
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual([...new Set(texts)].toSorted())
    },
  },
  {
    name: 'handles messages of one ordering key in the order they were published, other keys beside them',
    run: async (harness) => {
      const driven = new Driven()
      const slow = new Gate()
      driven.handle = ({ payload }) => (payload === 'a/1' ? slow.opened : undefined)
      await harness.run(driven.consumer())
      await harness.publish(['a/1', 'a/2', 'b/1', 'a/3', 'b/2'])
      await eventually('the other key is done', () => driven.effects.length >= 2)
      expect(driven.effects).toEqual(['b/1', 'b/2'])
      slow.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.slice(2)).toEqual(['a/1', 'a/2', 'a/3'])
    },
  },
  {
    name: 'delivers again what was not settled when its consumer went, and nothing of it has a second effect',
    run: async (harness) => {
      const driven = new Driven()
      driven.handle = ({ payload, signal }) => {
        if (payload !== 'late') return undefined
        return new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new NoEffectError('not begun'))),
        )
      }
      const first = await harness.run(driven.consumer())
      await harness.publish(['early', 'late', 'other'])
      await eventually('two are done', () => driven.effects.length === 2)
      await first.stop({ deadlineMs: 50 })
      expect(await harness.isSettled(driven)).toBe(false)

      driven.handle = () => {}
      await harness.run(driven.consumer())
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['early', 'late', 'other'])
    },
  },
  {
    name: 'settles nothing past an unfinished message, whatever finished above it',
    run: async (harness) => {
      const driven = new Driven()
      const slow = new Gate()
      driven.handle = ({ payload }) => (payload === 'm0' ? slow.opened : undefined)
      await harness.run(driven.consumer())
      const texts = Array.from({ length: 40 }, (_, n) => `m${n}`)
      await harness.publish(texts)
      await eventually('all others are done', () => driven.effects.length === 39)
      expect(await harness.isSettled(driven)).toBe(false)
      slow.open()
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(texts.toSorted())
    },
  },
  {
    name: 'tries a message again whose handler failed, while others go on',
    run: async (harness) => {
      const driven = new Driven()
      driven.handle = ({ payload, attempt }) => {
        if (payload === 'shaky' && attempt < 3) throw new TypeError(`attempt ${attempt}`)
      }
      const running = await harness.run(driven.consumer())
      await harness.publish(['before', 'shaky', 'after'])
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['after', 'before', 'shaky'])
      expect(driven.started.filter((text) => text === 'shaky')).toHaveLength(3)
      expect(await harness.deadLetters()).toEqual([])
      expect(running.health()).toMatchObject({ live: true, state: 'running' })
    },
  },
  {
    name: 'moves a message that always fails to the dead-letter place, once, and goes on',
    run: async (harness) => {
      const driven = new Driven()
      driven.handle = ({ payload }) => {
        if (payload === 'poison') throw new Error('always')
      }
      await harness.run(driven.consumer())
      await harness.publish(['one', 'poison', 'two'])
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(['one', 'two'])
      expect(driven.started.filter((text) => text === 'poison')).toHaveLength(3)
      expect(await harness.deadLetters()).toEqual([{ text: 'poison', reason: 'attempts-spent' }])
    },
  },
  {
    name: 'runs once what is taken away and delivered again while its handler runs',
    run: async (harness) => {
      const driven = new Driven()
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
    },
  },
  {
    name: 'loses nothing and repeats nothing over interruptions under load',
    run: async (harness) => {
      const driven = new Driven()
      driven.handle = () => sleep(5)
      const consumer = driven.consumer()
      const running = await harness.run(consumer)
      const texts = Array.from({ length: 600 }, (_, n) => `m${n}`)
      await harness.publish(texts.slice(0, 300))
      await eventually('some are done', () => driven.effects.length > 50)
      await harness.interrupt(running, consumer)
      await harness.publish(texts.slice(300))
      await eventually('more are done', () => driven.effects.length > 350)
      await harness.interrupt(running, consumer)
      // Messages cut off by the interruption may be on the way back, unknown to everyone.
      await eventually('all are done', () => driven.effects.length >= texts.length)
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects.toSorted()).toEqual(texts.toSorted())
    },
  },
  {
    name: 'settles nothing while the store is down, says so, and resumes by itself',
    run: async (harness) => {
      const driven = new Driven()
      const running = await harness.run(driven.consumer())
      await harness.publish(['m1'])
      await eventually('it works', () => driven.effects.length === 1)
      driven.isStoreDown = true
      await harness.publish(['m2', 'm3'])
      await eventually('it noticed', () => driven.events.some(({ type }) => type === 'store-down'))
      expect(running.health()).toMatchObject({ live: true, ready: false })
      expect(await harness.isSettled(driven)).toBe(false)
      driven.isStoreDown = false
      await eventually('all settled', () => harness.isSettled(driven))
      expect(driven.effects).toHaveLength(3)
      expect(running.health().ready).toBe(true)
    },
  },
  {
    name: 'takes a stop during its start as no failure, and leaves everything to the next consumer',
    run: async (harness) => {
      const driven = new Driven()
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
    },
  },
  {
    name: 'stops in order: handlers end, their settles are flushed, and nothing settled comes again',
    run: async (harness) => {
      const driven = new Driven()
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
    },
  },
]
