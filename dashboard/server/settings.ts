import { CONSUMER, SILENT } from '../../src/consumer/consumer-table.ts'
import { durationText } from '../../src/core/duration-text.ts'
import type { ResolvedConsumer } from '../../src/consumer/resolve-options.ts'
import type { SettingsAnswer } from '../api.ts'

type Setting = SettingsAnswer['settings'][number]
type Name = Exclude<keyof typeof CONSUMER & string, 'name' | 'handle' | 'handleBatch'>

/** A row for each option, in this order. */
const ABOUT: Readonly<Record<Name, string>> = {
  store: 'where claims and marks are kept',
  retentionMs: 'how long a mark is kept: a redelivery after that runs again',
  leaseMs: 'how long a claim holds without renewal',
  renewEveryMs: 'how often leases are renewed',
  handlerTimeoutMs: 'after this `signal` aborts the handler',
  graceMs: 'how long an aborted handler may take to end',
  maxAttempts: 'starts of the handler before a message is given up',
  backoff: 'delay between attempts',
  limit: 'how many handlers begin in a second',
  maxRetryLater: 'how often in a row a message is put off without spending an attempt',
  concurrency: 'handlers of a lease that run at once',
  transactions: 'transactions of an inbox that are open at once',
  batchSize: 'messages in one transaction or batch',
  maxInFlight: 'deliveries taken and not ended',
  onInDoubt: 'what happens with a message whose effect may have happened',
  hold: 'nothing begins when nothing but final failures comes through',
  onConflict: 'what happens with an ID that comes with another payload',
  onBeyondRetention: 'what happens with a message that is older than the retention',
  mode: '`observe`: every message runs, and verdicts are recorded beside it',
  onStoreDown: 'what happens while the store does not answer',
  whenBusy: 'what a message does while another process has it',
  purge: 'who removes records whose retention is over',
  rememberResult: 'duplicates get the result of the first run',
  maxResultBytes: 'the largest result that is kept',
  rememberFailure: 'failures that are the answer',
  sealResult: 'how results are encrypted',
  id: 'where the message ID comes from',
  decode: 'how payloads are decoded',
  payloadSchema: 'what a payload must be',
  log: 'where log lines go',
  logIds: 'log lines have the raw ID',
  observe: 'functions that get every event',
  trace: 'spans of each message',
  scope: 'what a key has beside the message ID',
}

/** Clients and functions are named, not shown. */
const TEXT: { readonly [N in Name]?: (consumer: ResolvedConsumer) => string } = {
  store: ({ store }) => `strategy ${store.strategy}`,
  onInDoubt: ({ reconcile, onInDoubt }) => (reconcile === undefined ? onInDoubt : 'a function'),
  limit: ({ limit }) => limitText(limit),
  hold: ({ holdAfter }) => String(Number.isFinite(holdAfter)),
  whenBusy: ({ busyWaitMs }) => busyText(busyWaitMs),
  id: ({ identities }) => (identities.length === 1 ? 'a function' : `${identities.length} identities`),
  decode: ({ decode }) => (decode.name === '' ? 'a function' : decode.name),
  payloadSchema: ({ payloadSchema: schema }) => (schema === undefined ? 'none' : schema['~standard'].vendor),
  log: ({ log }) => (log === SILENT ? 'none' : 'given'),
  observe: ({ observers }) => String(observers.length),
  rememberFailure: ({ rememberFailure }) => nameOf(rememberFailure),
  sealResult: ({ sealResult }) => nameOf(sealResult),
  trace: ({ trace }) => nameOf(trace),
  scope: ({ scope }) => (typeof scope === 'object' ? JSON.stringify(scope) : (scope ?? 'group, topic and name')),
}

/** What a consumer runs with. */
export function settingsOf(consumer: ResolvedConsumer): readonly Setting[] {
  const handler = consumer.handle === undefined ? 'handleBatch' : 'handle'
  const [store, ...others] = (Object.keys(ABOUT) as Name[]).map((name): Setting => {
    const value = TEXT[name]?.(consumer) ?? textOf(name, (consumer as unknown as Record<string, unknown>)[name])
    return { name, value, origin: consumer.given.includes(name) ? 'given' : 'default', about: ABOUT[name] }
  })
  const about = `runs for ${handler === 'handle' ? 'one message' : 'a batch'}`
  return [
    ...(store === undefined ? [] : [store]),
    { name: 'handler', value: handler, origin: 'given', about },
    ...others,
  ]
}

function busyText(busyWaitMs: number | undefined): string {
  if (busyWaitMs === undefined) return 'as the source says'
  if (busyWaitMs === Number.POSITIVE_INFINITY) return 'wait'
  return busyWaitMs === 0 ? 'hand-back' : `wait ${durationText(busyWaitMs)}, then hand back`
}

function limitText(limit: ResolvedConsumer['limit']): string {
  if (limit === undefined) return 'none'
  const { perSecond, burst, by, together, shared } = limit
  const keys = by === undefined ? '' : together ? ', keys take turns' : ' for each key'
  return `${perSecond} a second${keys}, burst ${burst}${shared === undefined ? '' : `, shared as ${shared.name}`}`
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
