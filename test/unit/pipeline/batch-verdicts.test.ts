import { afterEach, describe, expect, it } from '@jest/globals'
import { TerminalError } from '../../../src/foundation/errors.ts'
import { endRigs, startRig, STYLES, type RigOptions, type Work } from '../../kit/rig.ts'
import type { Sent } from '../../kit/recording-source.ts'

afterEach(endRigs)

const NEIGHBOURS = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

interface Way {
  readonly what: string
  /** How it differs from its neighbours. */
  readonly sent?: Partial<Sent>
  readonly effect?: (work: Work) => unknown
  readonly settings?: Partial<RigOptions>
  readonly reason: string
}

/** Every way in which one message of a batch can end otherwise than its neighbours. A new way belongs here. */
const WAYS: readonly Way[] = [
  { what: 'throws, always', effect: fail(new Error('broken')), reason: 'attempts-spent' },
  { what: 'is fatal', effect: fail(new TerminalError('never')), reason: 'handler-failed' },
  { what: 'cannot be decoded', sent: { bytes: Buffer.from('{') }, reason: 'undecodable' },
  {
    what: 'fails its schema, which is asynchronous',
    sent: { payload: 'bad' },
    settings: { payloadSchema: asyncSchema() },
    reason: 'schema',
  },
  { what: 'has no ID', sent: { id: undefined }, reason: 'no-id' },
]

describe.each(STYLES)('of a batch ($strategy, $handler)', (style) => {
  it.each(WAYS)(
    'a message that $what alone is judged by it: its neighbours are handled, in their first attempt',
    async (way) => {
      const { sent, effect = (work: Work) => work.apply(), settings, reason } = way
      const rig = await startRig({
        style,
        shares: true,
        maxAttempts: 3,
        backoff: { initialMs: 100, maxMs: 100 },
        ...settings,
        effect: (work) => (work.id === 'bad' ? effect(work) : work.apply()),
      })
      const messages = NEIGHBOURS.map((id): Sent => ({ id }))
      await rig.deliver(...messages.toSpliced(3, 0, { id: 'bad', ...sent }))
      await rig.clock.advance(10_000)
      // Under a lease the effects of a batch handler that throws are outside, and happen again with it.
      const effects = style.strategy === 'lease' ? new Set(rig.world.effects) : rig.world.effects
      expect([...effects].toSorted()).toEqual(NEIGHBOURS)
      expect(rig.source.deadLetters).toMatchObject([{ reason }])
      const attempts = rig.events.flatMap((event) =>
        event.type === 'delivery' && event.outcome === 'handled' ? [event.attempt] : [],
      )
      expect(attempts).toEqual(NEIGHBOURS.map(() => 1))
    },
  )
})

function fail(error: Error): NonNullable<Way['effect']> {
  return () => {
    throw error
  }
}

function asyncSchema(): NonNullable<RigOptions['payloadSchema']> {
  return {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value) => (value === 'bad' ? { issues: [{ message: 'bad' }] } : { value }),
    },
  }
}
