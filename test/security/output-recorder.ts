import { pino } from 'pino'
import { pinoLog } from '../../adapters/pino/index.ts'
import type { Logger, Observer, ObserverEvent } from '../../src/index.ts'
import type { DeadLetter, MessageCopy } from '../../src/internal.ts'
import type { Rig } from '../kit/rig.ts'

/** Stands in all that must not be told: the ID, the payload, headers, the key, and addresses with a password. */
export const CANARY: string = 'canary-0815'

/** A phone number, as many IDs are. */
export const CANARY_ID: string = `+447700900123-${CANARY}`
export const CANARY_PAYLOAD: { readonly to: string; readonly text: string } = {
  to: `${CANARY}@example.org`,
  text: `The code of the ${CANARY} is ${CANARY}.`,
}
export const CANARY_ADDRESS: string = `postgres://user:${CANARY}@db.example:5432/orders`

/** What a handler, a schema or a client says about a message in its errors, if nobody takes care. */
export function careless(what = 'failed'): Error {
  return Object.assign(new Error(`${what}: ${CANARY_ID} with ${JSON.stringify(CANARY_PAYLOAD)} at ${CANARY_ADDRESS}`), {
    payload: CANARY_PAYLOAD,
    detail: CANARY_ID,
  })
}

/** Hears all that a consumer tells about messages, but for the messages themselves. */
export class OutputRecorder {
  readonly recorded: string[] = []
  readonly types: Set<ObserverEvent['type']> = new Set()
  readonly outcomes: Set<string> = new Set()
  /** Written by pino, and as a logger writes that knows nothing of errors. */
  readonly log: Logger
  /** To be thrown by the observer, at each event that it can read a message of. */
  observerFails: Error | undefined

  constructor() {
    const real = pinoLog(pino({ level: 'trace' }, { write: (line: string): void => void this.recorded.push(line) }))
    const tell = (level: 'debug' | 'info' | 'warn' | 'error') => (fields: object, text: string) => {
      real[level](fields, text)
      this.recorded.push(JSON.stringify(fields) + text)
    }
    this.log = { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') }
  }

  /** The fields of an event that nothing warns of: its message, what was thrown and what is kept may hold anything. */
  readonly observe: Observer = (event) => {
    this.types.add(event.type)
    if (event.type === 'delivery') this.outcomes.add(event.refused ?? event.outcome).add(event.outcome)
    const {
      message: _,
      error: __,
      result: ___,
      ...told
    } = event as { message?: unknown; error?: unknown; result?: unknown }
    this.recorded.push(JSON.stringify(told))
    if (this.observerFails !== undefined && 'message' in event) throw this.observerFails
  }

  /** What the headers of copies are made of, and health. */
  take({ source, running }: Pick<Rig, 'source' | 'running'>): void {
    for (const deadLetter of [...source.deadLetters, ...source.retries]) this.deadLetter(deadLetter)
    this.recorded.push(JSON.stringify(running.health()))
  }

  deadLetter(deadLetter: MessageCopy | DeadLetter): void {
    this.recorded.push(JSON.stringify({ ...deadLetter, message: undefined }))
  }

  /** What should not have been recorded. */
  get leaks(): readonly string[] {
    return this.recorded.filter((text) => text.includes(CANARY) || text.includes('7700900123'))
  }
}
