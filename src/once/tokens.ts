import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { DurationMs, EpochMs } from '../core/units.ts'
import { once } from './once.ts'
import { millis, needed, optionsOf, or, readOptions, refuse, plainText, type Table } from '../foundation/options.ts'
import { clockOption } from '../foundation/system-options.ts'
import { ONCE } from './options.ts'
import type { Clock } from '../ports/clock.ts'
import type { InboxStore, LeaseStore } from '../ports/store.ts'
import { SECRETS } from '../identity/signed-id.ts'

export interface TokensOptions {
  /**
   * The secrets that sign tokens, each of at least 16 bytes, the same in all processes. New tokens are signed with the
   * first; give several while you rotate them.
   */
  readonly secrets: readonly (string | Uint8Array)[]
  /** Tokens of one kind are no tokens of another kind. @defaultValue `token` */
  readonly scope?: string
  /** @defaultValue the system clock */
  readonly clock?: Clock
}

/**
 * `redeemed`: for this call, and for no other. `used`: an earlier or concurrent call redeemed it. `expired`: it is older
 * than its `ttlMs`. `refused`: it was issued for another subject, for another scope, or by nobody who knows a secret; it
 * is not used up.
 */
export type TokenVerdict = 'redeemed' | 'used' | 'expired' | 'refused'

export interface Tokens {
  /**
   * Makes a token for a subject, such as a user and a form. It keeps nothing in the store.
   *
   * @param subject - not empty; the token does not contain it
   * @returns 72 characters of base64url, which nobody can guess. Do not log it
   */
  issue(subject: string, how: { readonly ttlMs: DurationMs }): string
  /**
   * Uses the token up, before the work that it allows: if the process dies after that, the work is missing and the token
   * is used. Of any number of concurrent calls, one gets `redeemed`.
   *
   * @param how.signal - ends the wait, also for a store that does not answer; the token may then be used up
   * @throws (rejects) the reason of `signal`, StoreError if the store does not answer within 10 s, and OnceError
   * `ONCE_BUSY` if another process died while it redeemed the token and its claim is not over after 10 s; the token may
   * then be used up, and can be tried again
   */
  redeem(token: string, subject: string, how?: { readonly signal?: AbortSignal }): Promise<TokenVerdict>
}

const NONCE_BYTES = 16
const TIME_BYTES = 6
const SIGNED_BYTES = NONCE_BYTES + TIME_BYTES
const MAC_BYTES = 32

/** Nothing runs under the claim, so it is short: after a crash the next call waits no longer. */
const TIMES = { leaseMs: 5_000, handlerTimeoutMs: 1_000, graceMs: 1_000 } as const
/** The clocks of two processes differ: a token may look fresh to one for that long after another forgot it. */
const CLOCK_MARGIN_MS: DurationMs = 60_000

const TOKENS: Table<TokensOptions> = { secrets: needed(SECRETS), scope: or('token', plainText()), clock: clockOption() }
const ISSUE: Table<{ readonly ttlMs: DurationMs }> = { ttlMs: needed(millis()) }
const REDEEM: Table<{ readonly signal?: AbortSignal }, 'signal'> = { signal: ONCE.signal }

/**
 * One-time tokens, such as for a form that must count once. A token is signed, so only its use is kept in the store: as
 * a mark, claimed and marked as by `once()`. Works on every lease or inbox store.
 *
 * @throws ConfigError `CONFIG_INVALID`
 */
export function tokens<Tx = never>(store: LeaseStore | InboxStore<Tx>, options: TokensOptions): Tokens {
  const { secrets, scope, clock } = optionsOf('tokens', TOKENS, options)
  const [newest = ''] = secrets

  return {
    issue(subject, how) {
      const problems: string[] = []
      plainText().read(subject, { name: 'subject', problems })
      const { ttlMs } = readOptions(ISSUE, how, { name: '', problems })
      refuse('tokens.issue', problems)
      const signed = Buffer.alloc(SIGNED_BYTES)
      randomBytes(NONCE_BYTES).copy(signed)
      signed.writeUIntBE(clock.now() + ttlMs, NONCE_BYTES, TIME_BYTES)
      return Buffer.concat([signed, macOf(newest, { scope, subject, signed })]).toString('base64url')
    },

    async redeem(token, subject, how = {}) {
      const { signal } = optionsOf('tokens.redeem', REDEEM, how)
      const read = readToken(token)
      if (read === undefined || typeof subject !== 'string') return 'refused'
      const { signed, mac } = read
      const isOurs = secrets.some((secret) => timingSafeEqual(macOf(secret, { scope, subject, signed }), mac))
      if (!isOurs) return 'refused'
      const leftMs = expiryOf(signed) - clock.now()
      if (leftMs <= 0) return 'expired'
      const { leaseMs, handlerTimeoutMs, graceMs } = TIMES
      const retentionMs = roundedUp(leftMs + CLOCK_MARGIN_MS + leaseMs + handlerTimeoutMs + graceMs)
      const nonce = signed.subarray(0, NONCE_BYTES)
      const use = await once(store, nonce, () => {}, { ...TIMES, scope, retentionMs, clock, ...(signal && { signal }) })
      return use.replayed ? 'used' : 'redeemed'
    },
  }
}

/** To one of a few numbers, at most a quarter more: a store notes each retention that is used. */
function roundedUp(ms: DurationMs): DurationMs {
  const step = 2 ** (Math.floor(Math.log2(ms)) - 2)
  return Math.ceil(ms / step) * step
}

interface Signed {
  readonly scope: string
  readonly subject: string
  readonly signed: Uint8Array
}

/** With the length of the scope, so that no scope and subject can be read as another pair. */
function macOf(secret: string | Uint8Array, { scope, subject, signed }: Signed): Uint8Array {
  const head = Buffer.from(`consume-once token ${Buffer.byteLength(scope)} ${scope}`)
  return createHmac('sha256', secret).update(head).update(signed).update(subject).digest()
}

function readToken(token: unknown): { readonly signed: Buffer; readonly mac: Uint8Array } | undefined {
  if (typeof token !== 'string' || !/^[\w-]{72}$/.test(token)) return undefined
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== SIGNED_BYTES + MAC_BYTES) return undefined
  return { signed: bytes.subarray(0, SIGNED_BYTES), mac: bytes.subarray(SIGNED_BYTES) }
}

function expiryOf(signed: Buffer): EpochMs {
  return signed.readUIntBE(NONCE_BYTES, TIME_BYTES)
}
