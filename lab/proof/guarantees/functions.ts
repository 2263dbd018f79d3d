import type { Claim } from './guarantee.ts'

/** A row of the second table of docs/guarantees.md: a function that works without a consumer. */
export interface FunctionGuarantee {
  /** Its first cell, as it is written there. */
  readonly name: string
  readonly promise: Claim
  /** The last cell, cause by cause. */
  readonly breaksWhen: readonly Claim[]
}

export const FUNCTION_COLUMNS = ['function', 'promise', 'breaks when'] as const

/** The second table of docs/guarantees.md, row by row, with what shows each cell. */
export const FUNCTIONS: readonly FunctionGuarantee[] = [
  {
    name: '`insertOnce`, `advanceState`, `updateVersioned`',
    promise: {
      says: 'one of all that ask applies; each other is told `already`, `out-of-order` or `stale`, and its transaction goes on',
      tests: ['T267', 'T268', 'T269', 'T270', 'T290'],
    },
    breaksWhen: [
      {
        says: 'an effect outside of its transaction: a rollback takes the row back, and the next one applies',
        tests: ['T271'],
      },
    ],
  },
  {
    name: '`lockRow`',
    promise: { says: 'one transaction at a time has the row', tests: ['T273'] },
    breaksWhen: [{ says: 'there is no row: `missing`, and nothing is locked', tests: ['T274'] }],
  },
  {
    name: '`once()` on an inbox',
    promise: {
      says: 'what the function writes through `tx` commits once; a repeat gets the first result',
      tests: ['T260', 'T275'],
    },
    breaksWhen: [{ says: 'as `inbox`: an effect outside of `tx`, a row that was purged', tests: ['T276'] }],
  },
  {
    name: '`once()` on a lease',
    promise: {
      says: 'the function runs once, and a repeat gets the first result; what is in doubt runs again, or is refused under `park`',
      tests: ['T260', 'T275', 'T277'],
    },
    breaksWhen: [
      {
        says: 'as `lease`: a crash between effect and mark, a pause > lease, a mark that the store loses',
        tests: ['T260'],
      },
    ],
  },
  {
    name: '`publish` of a handler or of `once()`, `outbox.publish(tx, …)`',
    promise: {
      says: 'no event of what was rolled back, and none lost of what was committed: each is published at least once, under one ID, in the order of its key',
      tests: ['T302', 'T303', 'T304', 'T305', 'T307', 'T308', 'T309', 'T310', 'T311'],
      models: ['outbox-relay', 'outbox-two-lines'],
    },
    breaksWhen: [
      {
        says: 'the next consumer takes another ID than `message-id`: a repeat has its effect again',
        tests: ['T309'],
      },
      { says: 'a message is parked: its key goes on without it', tests: ['T306'] },
      {
        says: 'two transactions of one key do not wait for each other: their order is that of their rows',
        models: ['outbox-unserialised'],
      },
      {
        says: 'the database loses a COMMIT that it confirmed, and the event with it or after it',
        notShown: 'No run of the outbox loses the database.',
      },
    ],
  },
  {
    name: '`Idempotency-Key` (`consume-once/http`)',
    promise: {
      says: 'as `once()`; a repeat of an answered request gets that answer, marked as replayed',
      tests: ['T261', 'T278', 'T293', 'T294', 'T295', 'T296', 'T297', 'T298', 'T299', 'T300'],
    },
    breaksWhen: [
      { says: 'as `once()`', tests: ['T261'] },
      { says: 'the answer was too large to be kept, or `remember` frees the key', tests: ['T279', 'T287'] },
    ],
  },
  {
    name: '`tokens()`',
    promise: { says: 'a token is redeemed once, by its subject, before its end', tests: ['T280', 'T281', 'T288'] },
    breaksWhen: [
      { says: 'the store loses the mark while the token is valid', tests: ['T282'] },
      { says: 'used up although the work that follows fails', tests: ['T282'] },
    ],
  },
  {
    name: '`withLock()`',
    promise: {
      says: 'each holder has a higher `fence` than the one before; the signal aborts before the lease ends',
      tests: ['T284', 'T285'],
    },
    breaksWhen: [
      {
        says: 'a pause > lease: two holders at once, and only a resource that refuses the older fence is safe',
        tests: ['T286'],
      },
    ],
  },
  {
    name: '`limit` of a consumer',
    promise: {
      says: 'in any time no more handlers begin than its rate and burst allow; keys take turns; what waits holds no claim and spends no attempt',
      tests: ['T350', 'T351', 'T352', 'T353', 'T354', 'T357', 'T358'],
    },
    breaksWhen: [
      {
        says: 'several processes without `shared`',
        notShown: 'each of them has a quota for itself',
      },
      {
        says: 'the shared limiter loses its data: one window twice',
        notShown: 'its counter begins anew',
      },
    ],
  },
  {
    name: '`RetryLaterError`',
    promise: {
      says: 'its message runs again after the time, in the same attempt, up to `maxRetryLater` times in a row',
      tests: ['T355', 'T356'],
    },
    breaksWhen: [
      {
        says: 'an inbox after a rebalance: it keeps no time, and the handler asks again',
        notShown: 'another process knows nothing of the time',
      },
    ],
  },
]
