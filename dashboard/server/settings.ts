import { DEFAULTS } from '../../src/consumer/defaults.ts'
import { durationText } from '../../src/core/duration-text.ts'
import type { ResolvedConsumer } from '../../src/consumer/resolve-options.ts'
import { SILENT } from '../../src/consumer/resolve-options.ts'
import type { SettingsAnswer } from '../api.ts'

type Setting = SettingsAnswer['settings'][number]

/** What a consumer runs with. Functions and clients are named, not shown. */
export function settingsOf(consumer: ResolvedConsumer): readonly Setting[] {
  const { store, handleBatch, onInDoubt, reconcile, log, observers, scope, decode, schema, identities, trace } =
    consumer
  const number = (name: keyof typeof DEFAULTS & keyof ResolvedConsumer, about: string): Setting => ({
    name,
    value: textOf(name, consumer[name]),
    origin: JSON.stringify(consumer[name]) === JSON.stringify(DEFAULTS[name]) ? 'default' : 'given',
    about,
  })
  const isBatch = handleBatch !== undefined
  return [
    given('store', `strategy ${store.strategy}`, true, 'where claims and marks are kept'),
    given('handler', isBatch ? 'handleBatch' : 'handle', true, isBatch ? 'runs for a batch' : 'runs for one message'),
    number('retentionMs', 'how long a mark is kept: a redelivery after that runs again'),
    number('leaseMs', 'how long a claim holds without renewal'),
    given(
      'renewEveryMs',
      durationText(consumer.renewEveryMs),
      consumer.renewEveryMs !== Math.floor(consumer.leaseMs / 3),
      'how often leases are renewed',
    ),
    number('handlerTimeoutMs', 'after this `signal` aborts the handler'),
    number('graceMs', 'how long an aborted handler may take to end'),
    number('maxAttempts', 'starts of the handler before a message is given up'),
    number('backoff', 'delay between attempts'),
    number('concurrency', 'handlers of a lease that run at once'),
    number('transactions', 'transactions of an inbox that are open at once'),
    given(
      'batchSize',
      String(consumer.batchSize),
      consumer.batchSize !== (isBatch ? DEFAULTS.handleBatchSize : DEFAULTS.batchSize),
      'messages in one transaction or batch',
    ),
    given(
      'maxInFlight',
      String(consumer.maxInFlight),
      consumer.maxInFlight !== DEFAULTS.leastInFlight,
      'deliveries taken and not ended',
    ),
    given(
      'onInDoubt',
      reconcile === undefined ? onInDoubt : 'a function',
      onInDoubt !== DEFAULTS.onInDoubt,
      'what happens with a message whose effect may have happened',
    ),
    given(
      'hold',
      String(Number.isFinite(consumer.holdAfter)),
      !Number.isFinite(consumer.holdAfter),
      'nothing begins when nothing but final failures comes through',
    ),
    number('onConflict', 'what happens with an ID that comes with another payload'),
    number('onBeyondRetention', 'what happens with a message that is older than the retention'),
    number('mode', '`observe`: every message runs, and verdicts are recorded beside it'),
    number('onStoreDown', 'what happens while the store does not answer'),
    given(
      'whenBusy',
      busyText(consumer.busyWaitMs),
      consumer.busyWaitMs !== undefined,
      'what a message does while another process has it',
    ),
    number('purge', 'who removes records whose retention is over'),
    given(
      'rememberResult',
      String(consumer.rememberResult),
      consumer.rememberResult,
      'duplicates get the result of the first run',
    ),
    number('maxResultBytes', 'the largest result that is kept'),
    given(
      'rememberFailure',
      nameOf(consumer.rememberFailure),
      consumer.rememberFailure !== undefined,
      'failures that are the answer',
    ),
    given('sealResult', nameOf(consumer.sealResult), consumer.sealResult !== undefined, 'how results are encrypted'),
    given(
      'id',
      identities.length === 1 ? 'a function' : `${identities.length} identities`,
      true,
      'where the message ID comes from',
    ),
    given('decode', decode.name === '' ? 'a function' : decode.name, true, 'how payloads are decoded'),
    given(
      'schema',
      schema === undefined ? 'none' : schema['~standard'].vendor,
      schema !== undefined,
      'what a payload must be',
    ),
    given('log', log === SILENT ? 'none' : 'given', log !== SILENT, 'where log lines go'),
    given('logIds', String(consumer.logIds), consumer.logIds, 'log lines have the raw ID'),
    given('observe', String(observers.length), observers.length > 0, 'functions that get every event'),
    given('trace', nameOf(trace), trace !== undefined, 'spans of each message'),
    given('scope', scope ?? 'group, topic and name', scope !== undefined, 'what a key has beside the message ID'),
  ]
}

function busyText(busyWaitMs: number | undefined): string {
  if (busyWaitMs === undefined) return 'as the source says'
  if (busyWaitMs === Number.POSITIVE_INFINITY) return 'wait'
  return busyWaitMs === 0 ? 'hand-back' : `wait ${durationText(busyWaitMs)}, then hand back`
}

function textOf(name: string, value: unknown): string {
  if (typeof value === 'number') return name.endsWith('Ms') ? durationText(value) : String(value)
  if (typeof value !== 'object' || value === null) return String(value)
  return Object.entries(value)
    .map(([field, one]) => `${field.replace(/Ms$/, '')} ${typeof one === 'number' ? durationText(one) : String(one)}`)
    .join(', ')
}

function nameOf(value: unknown): string {
  return value === undefined ? 'none' : 'a function'
}

function given(name: string, value: string, isGiven: boolean, about: string): Setting {
  return { name, value, origin: isGiven ? 'given' : 'default', about }
}
