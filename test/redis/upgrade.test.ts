import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { KeyNames } from '../../adapters/redis/records/key-names.ts'
import { ownerOf } from '../../adapters/redis/records/owners.ts'
import type { ClaimItem } from '../../src/ports/store.ts'
import { claim, hold, LONG_MS, newItem, newToken, SCOPE } from '../../testing/contract/store/claims.ts'
import { backends } from '../kit/backends.ts'
import { server } from '../kit/servers/server.ts'
import { redisHarness, type RedisHarness } from './harness.ts'

type ScriptName = 'claim' | 'decide' | 'mark' | 'release' | 'renew' | 'setAside'

/** The scripts of version 0.1.0, as they were: never changed. */
const OLD: Readonly<Record<ScriptName, readonly string[]>> = JSON.parse(
  readFileSync(new URL('scripts-0.1.0.json', import.meta.url), 'utf8'),
) as Record<ScriptName, readonly string[]>

const RETENTION = '60000'
const CAUSE = 'Error: no card | 100 % %7C'

const describeRedis = backends.has('redis') ? describe : describe.skip

describeRedis('a rolling upgrade from 0.1.0 on Redis', () => {
  let harness: RedisHarness
  beforeEach(async () => {
    harness = await redisHarness((await server('redis')).url)
  })
  afterEach(() => harness.close())

  const nameOf = ({ key }: ClaimItem): string => new KeyNames(harness.prefix, 16).of(key)

  /** As a process of the old version would. */
  const old = {
    run: (script: ScriptName, item: ClaimItem, ...words: readonly (string | number)[]): Promise<unknown> =>
      harness.redis.eval(OLD[script].join('\n'), 1, nameOf(item), ...words),
    claim: (item: ClaimItem, token = newToken(), leaseMs = LONG_MS): Promise<unknown> =>
      old.run('claim', item, token, leaseMs, RETENTION, '1', '0', item.digest),
    decide: (item: ClaimItem, decision: string): Promise<unknown> =>
      harness.redis.eval(
        OLD.decide.join('\n'),
        2,
        nameOf(item),
        `${harness.prefix}:audit`,
        decision,
        RETENTION,
        'alice',
        'because',
      ),
  }

  it('the old version finds busy what the new one has claimed, renews it and marks it', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item)
    expect(await old.claim(item)).toEqual(['-', expect.stringMatching(/^busy\|\d+$/)])
    expect(await old.run('renew', item, LONG_MS, ownerOf(claimed))).toEqual(['renewed'])
    const done = `d1${item.digest}${ownerOf(claimed).slice(0, 4)}`
    expect(await old.run('mark', item, '0', `|${item.digest}|${ownerOf(claimed)}|`, RETENTION, done)).toEqual(['m'])
    expect(await claim(harness.store, item)).toMatchObject({ verdict: 'done' })
  })

  it.each([
    ['counts', 0],
    ['gives back', 1],
  ])('the old version releases what the new one has claimed, and %s its attempt', async (_, refund) => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item)
    expect(await old.run('release', item, refund, 0, ownerOf(claimed))).toEqual(['released'])
    expect(await hold(harness.store, item)).toMatchObject({ verdict: 'claimed', attempt: 2 - refund })
  })

  it('the old version claims what the new one keeps back, as it always did, and counts on', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item)
    await harness.store.release([claimed], { refund: false, doubt: false, delayMs: LONG_MS, cause: CAUSE })
    const token = newToken()
    expect(await old.claim(item, token)).toEqual(['-', 'claimed|2|2'])
    expect(await old.run('release', item, 0, 0, token)).toEqual(['released'])
    expect(await hold(harness.store, item)).toMatchObject({ verdict: 'claimed', attempt: 3 })
  })

  it.each(['given-up', 'parked'] as const)(
    'the old version reads the reason of what the new one has set aside as %s, and nothing else; it may decide of it',
    async (as) => {
      const item = newItem()
      const { claim: claimed } = await hold(harness.store, item)
      await harness.store.setAside([claimed], as, { reason: 'why|so', cause: CAUSE })
      expect(await old.claim(item)).toEqual(['-', `${as}|why|so`])
      expect(await old.run('renew', item, LONG_MS, ownerOf(claimed))).toEqual(['lost'])
      expect(await old.run('release', item, 0, 0, ownerOf(claimed))).toEqual(['refused'])
      expect(await old.decide(item, 'rerun')).toEqual(['decided'])
      expect(await hold(harness.store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
    },
  )

  it('the old version reads as done what a person of the new one has decided to be done', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item)
    await harness.store.setAside([claimed], 'parked', { reason: 'why', cause: CAUSE })
    const why = { by: 'alice', reason: 'because', retentionMs: LONG_MS }
    await harness.store.admin?.resolve(SCOPE, [item.key], { ...why, as: 'done' })
    expect(await old.claim(item)).toEqual(['d'])
    expect(await old.claim({ ...item, digest: newItem().digest })).toEqual(['-', 'conflict'])
    expect(await old.decide(item, 'done')).toEqual(['already'])
    expect(await old.decide(item, 'forget')).toEqual(['decided'])
    expect(await hold(harness.store, item)).toMatchObject({ verdict: 'claimed', attempt: 1 })
  })

  it('the old version marks late over what the new one has set aside, and the new one reads that', async () => {
    const item = newItem()
    const { claim: claimed } = await hold(harness.store, item)
    await harness.store.setAside([claimed], 'parked', { reason: 'why', cause: CAUSE })
    const done = `d1${item.digest}${ownerOf(claimed).slice(0, 4)}`
    const said = await old.run('mark', item, '0', `|${item.digest}|${ownerOf(claimed)}|`, RETENTION, done)
    expect(said).toEqual(['-', 'marked-late'])
    expect(await claim(harness.store, item)).toMatchObject({ verdict: 'done' })
  })

  it('the new version reads what the old one has claimed, released, marked and set aside', async () => {
    const { store } = harness
    const [held, released, doubtful, marked] = [newItem(), newItem(), newItem(), newItem()]
    const aside = [newItem(), newItem()]
    const token = newToken()
    for (const item of [held, released, doubtful, marked, ...aside]) {
      expect(await old.claim(item, token)).toEqual(['c'])
    }
    await old.run('release', released, 0, 0, token)
    await old.run('release', doubtful, 0, 1, token)
    const long = `D|1|0|0|${marked.digest}|${token}|v1`
    await old.run('mark', marked, '0', `|${marked.digest}|${token}|`, RETENTION, long)
    expect(await claim(store, held, { alone: true })).toMatchObject({ verdict: 'busy' })
    expect(await hold(store, released)).toMatchObject({ verdict: 'claimed', attempt: 2 })
    expect(await claim(store, doubtful)).toEqual({ verdict: 'in-doubt' })
    expect(await claim(store, marked)).toMatchObject({ verdict: 'done', result: 'v1' })
    for (const [at, item] of aside.entries()) {
      const [deadLetter, as] = at === 0 ? (['G', 'given-up'] as const) : (['X', 'parked'] as const)
      expect(await old.run('setAside', item, deadLetter, 'why|so', token)).toEqual([as])
      expect(await claim(store, item)).toEqual({ verdict: as, reason: 'why|so', attempt: 1 })
      const view = (await store.admin?.peek(SCOPE, [item.key]))?.[0]
      expect(view).toMatchObject({ state: as, reason: 'why|so', attempt: 1 })
      expect(view?.since).toBeUndefined()
    }
  })

  it('the new version takes over what the old one held when it died', async () => {
    const item = newItem()
    await old.claim(item, newToken(), 0)
    expect(await hold(harness.store, item, { alone: true })).toMatchObject({ verdict: 'taken-over', attempt: 2 })
  })
})
