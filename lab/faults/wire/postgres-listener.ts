import { EFFECTS } from '../settings.ts'
import type { Listener, Seen, Target } from './listener.ts'

type Asked =
  | readonly ['claim sent', 'claimed']
  | readonly ['effect sent', 'effect applied']
  | readonly ['mark sent', 'marked']

/** Not the row of a message that is given up, which has more columns. */
const CLAIMED = /\."inbox" \(scope, key, fp(?:, keep_until)?\)/

/** The claim opens the transaction, so the COMMIT comes on the connection that claimed the message. */
export function transactionListener(store: 'inbox' | 'offsets', { id, key }: Target): Listener {
  const hex = hexOf(key)
  let hasClaimed = false
  return askedAndAnswered((text) => {
    if (store === 'inbox' ? CLAIMED.test(text) && text.includes(hex) : HELD.test(text)) {
      hasClaimed = true
      return ['claim sent', 'claimed']
    }
    if (text.includes(`insert into ${EFFECTS} `) && text.includes(id)) return ['effect sent', 'effect applied']
    if (!hasClaimed || !/\bcommit\b/.test(text)) return undefined
    hasClaimed = false
    return ['mark sent', 'marked']
  })
}

/** A claim of offsets does not name its message: the first claim is for the first message. */
const HELD = /pg_(?:try_)?advisory_xact_lock\(/

/** Each call is one statement that commits by itself. */
export function postgresLeaseListener({ key }: Target): Listener {
  const hex = hexOf(key)
  return askedAndAnswered((text) => {
    if (!text.includes(hex)) return undefined
    if (text.includes('on conflict (scope, key) do nothing') || text.includes('seen as materialized'))
      return ['claim sent', 'claimed']
    return text.includes(`set state = 'D'`) ? ['mark sent', 'marked'] : undefined
  })
}

/** A connection answers its requests in order. */
function askedAndAnswered(askedIn: (text: string) => Asked | undefined): Listener {
  let waitsFor: Seen['moment'] | undefined
  return {
    fromClient: (bytes) => {
      const asked = askedIn(bytes.toString('latin1'))
      if (asked === undefined) return []
      const [moment, answered] = asked
      waitsFor = answered
      return [{ moment, isTarget: true }]
    },
    fromServer: () => {
      if (waitsFor === undefined) return []
      const moment = waitsFor
      waitsFor = undefined
      return [{ moment, isTarget: true }]
    },
  }
}

function hexOf(key: string): string {
  return Buffer.from(key, 'base64url').toString('hex')
}
