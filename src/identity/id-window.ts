import type { DurationMs } from '../core/units.ts'
import { atOnce } from '../foundation/at-once.ts'
import { traitsOf, withTraits } from './id-traits.ts'
import { ID_AT_ONCE, idIn } from './id-value.ts'
import type { IdExtractor } from '../ports/id-extractor.ts'
import { ELSEWHERE, func, needed, optionsOf, whole, type Table } from '../foundation/options.ts'

export interface WindowOptions {
  /** Length of a window, in milliseconds. Windows begin at multiples of it since 1970, UTC. */
  readonly fixedMs: DurationMs
}

const WINDOW: Table<WindowOptions> = {
  fixedMs: needed(whole()),
  [ELSEWHERE]: {
    slidingMs:
      'a window that begins with the effect would have to forget its record after that time, and a redelivery that comes later would run again: use fixedMs',
  },
}

/** The ID of another extractor, in the window of the message's own timestamp. */
export function windowed<Decoded>(id: IdExtractor<Decoded>, options: WindowOptions): IdExtractor<Decoded> {
  const { fixedMs } = optionsOf('messageId.window', WINDOW, options, (_, problems) => {
    func('an ID extractor').read(id, { name: 'id', problems })
  })
  const traits = { ...traitsOf(id), windowMs: fixedMs }
  return withTraits((message) => {
    const inner = idIn(atOnce('messageId.window', id(message), ID_AT_ONCE))
    if (inner === undefined) return undefined
    // A copy has a time of its own: a retry must stay in the window of its original.
    const at = message.firstTimestamp ?? message.timestamp
    if (at === undefined || !(at >= 0)) throw new TypeError('the message has no timestamp, so it belongs to no window')
    const window = `${fixedMs}:${Math.floor(at / fixedMs)}:`
    return typeof inner === 'string' ? `${window}${inner}` : Buffer.concat([Buffer.from(window), inner])
  }, traits)
}
