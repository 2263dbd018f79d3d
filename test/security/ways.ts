import {
  NoEffectError,
  OutcomeUnknownError,
  RetryLaterError,
  StoreError,
  TerminalError,
  type StandardSchema,
} from '../../src/index.ts'
import { turns } from '../kit/manual-clock.ts'
import type { Sent } from '../kit/recording-source.ts'
import { aborted, gate, startRig, type Rig, type RigOptions, type Style, type Work } from '../kit/rig.ts'
import { CANARY_ADDRESS, CANARY_ID, CANARY_PAYLOAD, careless, type OutputRecorder } from './output-recorder.ts'

const SENT: Sent = { id: CANARY_ID, payload: CANARY_PAYLOAD, headers: { to: CANARY_PAYLOAD.to }, lane: CANARY_ID }

const apply = (work: Work): Promise<void> => work.apply()
const failForGood = (): never => {
  throw new TerminalError(careless().message, { cause: careless() })
}
const failLaterOn = (): never => {
  throw new RetryLaterError({ afterMs: 1_000, message: careless().message, cause: careless() })
}
const failUnknown = (): never => {
  throw new OutcomeUnknownError(careless().message)
}
const failWithoutError = (): Promise<never> => Promise.reject(careless().message)
const failLater = (): Promise<never> => Promise.reject(careless())
const failWhenAborted = ({ signal }: Work): Promise<never> => aborted(signal).then(fail)

export function fail(): never {
  throw careless()
}

async function start(recorder: OutputRecorder, style: Style, options: Partial<RigOptions>): Promise<Rig> {
  const { log, observe } = recorder
  return startRig({
    style,
    log,
    observe,
    effect: apply,
    maxAttempts: 2,
    backoff: { initialMs: 1, maxMs: 1 },
    ...options,
  })
}

/** Time enough for all that is tried again. */
async function pass(rig: Rig): Promise<void> {
  for (let second = 0; second < 200; second++) await rig.clock.advance(1_000)
  await turns()
}

/** Its name, what must have been told on it, and a consumer that goes it. */
export type Way = readonly [string, readonly string[], (recorder: OutputRecorder, style: Style) => Promise<Rig>]

type Going = Way[2]

/** A consumer with these options, a message to it, and what follows. */
function sent(options: Partial<RigOptions>, after: (rig: Rig) => unknown = () => {}, message: Sent = SENT): Going {
  return async (recorder, style) => {
    const rig = await start(recorder, style, options)
    await rig.deliver(message)
    await after(rig)
    return rig
  }
}

/** Every way that a delivery can go. Told are outcomes, and types of events. */
export const WAYS: readonly Way[] = [
  [
    'nothing but failures, until a person lets the consumer go on',
    ['holding', 'hold-over', 'dead-lettered'],
    async (recorder, style) => {
      const rig = await start(recorder, style, { effect: failForGood })
      await rig.deliver(...Array.from({ length: 90 }, (_, at) => ({ ...SENT, id: `${CANARY_ID}-${at}` })))
      await pass(rig)
      recorder.take(rig)
      rig.running.resume()
      await pass(rig)
      return rig
    },
  ],
  [
    'handled, joined by a copy, and a duplicate',
    ['handled', 'joined', 'duplicate', 'claims', 'marks'],
    async (recorder, style) => {
      const rig = await start(recorder, style, {})
      await rig.deliver(SENT, SENT)
      await rig.deliver(SENT)
      return rig
    },
  ],
  [
    'a handler that fails until its attempts are spent',
    ['attempt-failed', 'dead-lettered'],
    sent({ effect: fail }, async (rig) => {
      await pass(rig)
      await rig.deliver(SENT)
    }),
  ],
  [
    'a decoder whose server is away for a while',
    ['decode-down', 'decode-up', 'handled'],
    async (recorder, style) => {
      let asked = 0
      const rig = await start(recorder, style, {
        decode: async () => {
          if (asked++ === 0) throw new NoEffectError(careless().message, { cause: careless() })
          return CANARY_PAYLOAD
        },
      })
      await rig.deliver(SENT)
      await pass(rig)
      return rig
    },
  ],
  [
    'a handler whose provider says "later", until its attempts are spent',
    ['put-off', 'attempt-failed', 'dead-lettered'],
    sent({ effect: failLaterOn, maxRetryLater: 1 }, pass),
  ],
  [
    'a shared limit whose server is away for a while',
    ['limit-down', 'limit-up', 'handled'],
    async (recorder, style) => {
      let asked = 0
      const take = async (): Promise<{ readonly granted: number; readonly retryAfterMs: number }> => {
        // It is told no message: keys are hashed.
        if (asked++ === 0) throw new Error(`no connection to ${CANARY_ADDRESS}`)
        return { granted: 1, retryAfterMs: 0 }
      }
      const shared = { name: 'sms', quota: () => ({ take, holdBack: async () => {} }) }
      const rig = await start(recorder, style, { limit: { perSecond: 10, shared } })
      await rig.deliver(SENT)
      await pass(rig)
      return rig
    },
  ],
  ['a handler that fails for good', ['dead-lettered'], sent({ effect: failForGood })],
  ['a handler that throws no error', ['dead-lettered'], sent({ effect: failWithoutError, maxAttempts: 1 })],
  [
    'a handler that fails, with a retry place',
    ['failed', 'attempt-failed'],
    async (recorder, style) => {
      const rig = await start(recorder, style, { effect: fail })
      rig.source.retryDelayMs = () => 1_000
      await rig.deliver(SENT)
      return rig
    },
  ],
  [
    'an observer that throws',
    ['handled'],
    async (recorder, style) => {
      recorder.observerFails = careless()
      const rig = await start(recorder, style, {})
      await rig.deliver(SENT)
      return rig
    },
  ],
  [
    'an ID that is repeated with another value',
    ['dead-lettered'],
    sent({}, undefined, { ...SENT, headers: { id: [CANARY_ID, 'another'] } }),
  ],
  ['an ID extractor that throws', ['dead-lettered'], sent({ id: fail })],
  [
    'a payload that is no JSON',
    ['dead-lettered'],
    sent({}, undefined, { ...SENT, bytes: Buffer.from(CANARY_PAYLOAD.text) }),
  ],
  ['a decoder that throws', ['dead-lettered'], sent({ decode: fail })],
  [
    'a schema that quotes what it got',
    ['dead-lettered'],
    async (recorder, style) => {
      const message = `expected a number, got ${JSON.stringify(CANARY_PAYLOAD.to)}`
      const rig = await start(recorder, style, {
        payloadSchema: schemaOf(() => ({ issues: [{ message, path: ['to'] }] })),
      })
      await rig.deliver(SENT)
      return rig
    },
  ],
  [
    'a schema that throws, at once and later',
    ['dead-lettered'],
    async (recorder, style) => {
      let calls = 0
      const rig = await start(recorder, style, {
        payloadSchema: schemaOf(() => (calls++ === 0 ? fail() : failLater())),
      })
      await rig.deliver(SENT)
      await rig.deliver({ ...SENT, id: `${CANARY_ID}-b` })
      return rig
    },
  ],
  [
    'another payload under its ID, at once and later',
    ['dead-lettered', 'handled'],
    async (recorder, style) => {
      const rig = await start(recorder, style, {})
      const other = { ...SENT, payload: { ...CANARY_PAYLOAD, more: true } }
      await rig.deliver(SENT, other)
      await rig.deliver(other)
      return rig
    },
  ],
  [
    'a broker that confirms no copy at first',
    ['publish-failed', 'dead-lettered'],
    async (recorder, style) => {
      const rig = await start(recorder, style, { id: () => undefined })
      const { source } = rig
      const publish = source.deadLetter.bind(source)
      let failures = 1
      source.deadLetter = (deadLetter) => (failures-- > 0 ? Promise.reject(careless()) : publish(deadLetter))
      await rig.deliver(SENT)
      await pass(rig)
      return rig
    },
  ],
  [
    'a store that is down, with an address in its error',
    ['store-call', 'store-down', 'store-up', 'handled'],
    async (recorder, style) => {
      const rig = await start(recorder, style, {})
      rig.store.script('claim', new StoreError('STORE_UNREACHABLE', `no connection to ${CANARY_ADDRESS}`))
      rig.store.script('mark', new StoreError('STORE_AMBIGUOUS', `password=${CANARY_ADDRESS} was refused`))
      await rig.deliver(SENT)
      await pass(rig)
      return rig
    },
  ],
  ['a handler that ignores its signal', ['stuck'], sent({ effect: () => new Promise(() => {}) }, pass)],
  [
    'a partition that is gone while the handler runs',
    ['settle-refused'],
    async (recorder, style) => {
      const open = gate()
      const rig = await start(recorder, style, { effect: (work) => open.opened.then(work.apply) })
      const deliveries = await rig.deliver(SENT)
      for (const delivery of deliveries) delivery.current = 'stale'
      open.open()
      await turns()
      return rig
    },
  ],
  [
    'a stop that hands back what fails meanwhile',
    ['handed-back'],
    sent({ effect: failWhenAborted }, async (rig) => {
      const stopping = rig.running.stop({ deadlineMs: 10 })
      await rig.clock.advance(60_000)
      await stopping
    }),
  ],
  [
    'what is older than retention',
    ['beyond-retention', 'parked'],
    sent({ onBeyondRetention: 'park' }, undefined, { ...SENT, timestamp: 1 }),
  ],
]

export const LEASE_WAYS: readonly Way[] = [
  [
    'a run without a claim, while the store is down',
    ['unprotected-run', 'attempt-failed', 'store-down'],
    async (recorder, style) => {
      const rig = await start(recorder, style, { effect: fail, onStoreDown: 'run-unprotected' })
      rig.store.isDown = true
      await rig.deliver(SENT)
      await rig.clock.advance(1_000)
      return rig
    },
  ],
  [
    'a conflict in mode observe',
    ['observed', 'handled'],
    sent({ mode: 'observe' }, async (rig) => {
      await pass(rig)
      await rig.deliver({ ...SENT, payload: { other: SENT.payload } })
      await pass(rig)
    }),
  ],
  ['an outcome that nobody knows, parked', ['in-doubt', 'parked'], sent({ effect: failUnknown, onInDoubt: 'park' })],
  ['a reconcile that throws', ['in-doubt', 'parked'], sent({ effect: failUnknown, onInDoubt: fail }, pass)],
  [
    'a lease that another owner has taken over',
    ['lease-lost'],
    async (recorder, style) => {
      const open = gate()
      const rig = await start(recorder, style, { effect: (work) => open.opened.then(work.apply) })
      await rig.deliver(SENT)
      rig.store.isDown = true
      await rig.clock.advance(40_000)
      const rival = await startRig({ style, world: rig.world, effect: () => new Promise(() => {}) })
      await rival.deliver(SENT)
      rig.store.isDown = false
      open.open()
      await pass(rig)
      return rig
    },
  ],
]

function schemaOf(
  validate: StandardSchema<unknown, unknown>['~standard']['validate'],
): StandardSchema<unknown, unknown> {
  return { '~standard': { version: 1, vendor: 'test', validate } }
}
