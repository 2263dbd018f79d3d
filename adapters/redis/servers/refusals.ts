import { StoreError } from '../../../src/internal.ts'
import { NotFarEnoughError, type Durability } from '../calls/durability.ts'

/**
 * True for errors that pass: a closed connection, a server that loads its file, a cluster that is not complete yet.
 * ioredis asks CLUSTER INFO first; if that says `cluster_state:fail`, as a new cluster does for a moment, it closes the
 * connections of all nodes ("Connection is closed.") and reconnects.
 */
export function isPassing(error: unknown): boolean {
  if (error instanceof NotFarEnoughError || !(error instanceof StoreError) || isWithoutRight(error)) return false
  if (isNeverConnected(error)) return false
  return error.code === 'STORE_AMBIGUOUS' || /\b(?:LOADING|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)\s/.test(error.message)
}

/** A node-redis client on which `connect()` was not called. */
function isNeverConnected({ message }: Error): boolean {
  return /client is closed/i.test(message)
}

/** What to do about a server that takes no writes as it is; `undefined` for other errors. */
export function whyNoWrites({ message }: Error): string | undefined {
  const [, code = ''] = /(?:^|[\s-])(READONLY|OOM|MISCONF|NOREPLICAS)\s/.exec(message) ?? []
  return NO_WRITES.get(code)
}

const NO_WRITES: ReadonlyMap<string, string> = new Map([
  ['READONLY', 'This server is a replica: give the store a client of its primary'],
  ['OOM', 'It is full: raise its maxmemory, or remove keys that nobody needs (with maxmemory-policy noeviction)'],
  ['MISCONF', 'It cannot write its snapshots, and takes no writes until it can: see to its disk and its log'],
  ['NOREPLICAS', 'It has fewer replicas than min-replicas-to-write asks for: see to its replicas'],
])

/** What to do about a store that does not open. */
export function adviceFor(error: Error, durability: Durability): string {
  if (error instanceof NotFarEnoughError) {
    return durability.kind === 'fsync'
      ? "Its disk or its replicas are too slow, or replicas are missing: see to them, raise durableWithinMs, or choose durability 'memory'"
      : "Attach as many replicas as marks wait for, ask for fewer (replicas), raise durableWithinMs if they are only slow, or choose durability 'memory'"
  }
  if (isNeverConnected(error)) {
    return 'It was never connected, or closed since: `await client.connect()` before it is given to redisLease()'
  }
  const why = whyNoWrites(error)
  if (why !== undefined) return why
  const ofRefusal = adviceOnRefusal(error.message)
  if (ofRefusal !== undefined) return ofRefusal
  return 'Check that it is up and that the client given to redisLease() has its address'
}

/** The user may not run a command, also one inside a script, or may not use the key. */
function isWithoutRight({ message }: Pick<Error, 'message'>): boolean {
  return /NOPERM\s|ACL failure in script|user executing the script can't/.test(message)
}

/** What a person must do about a refusal of Redis; `undefined` if it is none of a user or a right. */
export function adviceOnRefusal(text: string): string | undefined {
  if (/(?:^|[\s-])NOAUTH\s/.test(text)) {
    return 'The server wants a password, and the client has none. Give it user and password, such as redis://<user>:<password>@<host>'
  }
  if (/(?:^|[\s-])WRONGPASS\s|invalid username-password pair|invalid password/.test(text)) {
    return 'The server does not know this user, or not with this password. Correct what the client is given'
  }
  return isWithoutRight({ message: text })
    ? 'Grant its user the rights that docs/redis.md lists (ACL SETUSER)'
    : undefined
}
