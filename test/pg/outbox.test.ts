import { fork, type ChildProcess } from 'node:child_process'
import { once as onceEmitted } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lentPlaces } from '../kit/lent-places.ts'
import { openedForEach } from '../kit/opened.ts'
import { compiled } from '../kit/compiled.ts'
import { eventually } from '../kit/eventually.ts'
import { expect, it } from '@jest/globals'
import { postgresInbox, postgresOutbox } from '../../adapters/pg/index.ts'
import { BrokerError, once, type Observer } from '../../src/index.ts'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import { Meter } from '../../src/signals/meter.ts'
import { Confirming } from '../kit/suites/outbox/confirming.ts'
import { itKeepsToTheLaws } from '../kit/suites/outbox/laws.ts'
import { OutboxUse } from '../kit/suites/outbox/use.ts'
import { server } from '../kit/servers/server.ts'
import { claimAll, grantedBy, newItem } from '../../testing/contract/store/claims.ts'
import { outgoingOf } from '../../src/outbox/outgoing.ts'
import { describePostgres, newPlace, type PgPlace } from './support.ts'

const RELAY = compiled(new URL('outbox-relay.ts', import.meta.url))

describePostgres('the outbox of Postgres', () => {
  let place: PgPlace
  openedForEach(
    lentPlaces(() => newPlace()),
    (made) => (place = made),
  )
  const rows = async (): Promise<number> =>
    Number((await place.pool.query(`select count(*) as n from ${place.schema}.outbox`)).rows[0].n)
  const use = new OutboxUse<PgTransaction>(() => ({
    outbox: (options) => postgresOutbox({ pool: place.newPool(), schema: place.schema, ...options }),
    store: (outbox) =>
      postgresInbox({ pool: place.newPool({ max: 8 }), schema: place.schema, ...(outbox && { outbox }) }),
    write: (tx, effect) => place.write(tx, effect),
    committed: (effect) => place.committed(effect),
    rows,
    age: () => place.pool.query(`update ${place.schema}.outbox set created_at = created_at - interval '1 hour'`),
    due: async () =>
      Number(
        (await place.pool.query(`select count(*) as n from ${place.schema}.outbox where not_before is null`)).rows[0].n,
      ),
    pool: place.pool,
    transaction: async () => {
      const client = await place.pool.connect()
      await client.query('begin')
      const commit = async (): Promise<void> => {
        await client.query('commit')
        client.release()
      }
      return { tx: client, commit }
    },
  }))
  itKeepsToTheLaws(use)

  it('loses nothing and keeps the order of each line when its relays are killed, again and again [T309]', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'consume-once-outbox-'))
    const file = join(folder, 'broker')
    writeFileSync(file, '')
    const outbox = use.outbox(new Confirming(), { relay: false })
    await outbox.open()
    const relays = new Set<ChildProcess>()
    const relay = async (): Promise<void> => {
      const { url } = await server('postgres')
      const child = fork(RELAY, [url, place.schema, file])
      relays.add(child)
      await onceEmitted(child, 'message')
    }
    const kill = async (): Promise<void> => {
      const [oldest] = relays
      if (oldest === undefined) return
      relays.delete(oldest)
      oldest.kill('SIGKILL')
      await onceEmitted(oldest, 'exit')
    }
    await Promise.all([relay(), relay()])
    const expected = new Set<string>()
    for (let round = 0; round < 4; round++) {
      for (let batch = 0; batch < 20; batch++) {
        const messages = Array.from({ length: 20 }, (_, at) => {
          const n = round * 400 + batch * 20 + at
          expected.add(`id-${n}`)
          return { topic: 't', key: `k${n % 9}`, value: `k${n % 9} ${n}`, messageId: `id-${n}` }
        })
        await use.commit(outbox, messages)
      }
      await kill()
      await relay()
    }
    await eventually(async () => (await rows()) === 0)
    while (relays.size > 0) await kill()
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
    expect(new Set(lines.map((line) => line.split(' ')[0]))).toEqual(expected)
    const last = new Map<string, number>()
    const seen = new Set<string>()
    for (const line of lines) {
      const [id = '', key = '', n = ''] = line.split(' ')
      if (seen.has(id)) continue
      seen.add(id)
      expect(Number(n)).toBeGreaterThan(last.get(key) ?? -1)
      last.set(key, Number(n))
    }
    rmSync(folder, { recursive: true })
  }, 60_000)

  it('goes on a minute after somebody has deleted the message that held up a line', async () => {
    const kafka = new Confirming()
    kafka.answer = ({ value }) => {
      if (String(value) === '0') throw new BrokerError('BROKER_PUBLISH_REFUSED', 'no topic yet')
    }
    const outbox = use.begin(use.outbox(kafka, { observe: () => {} }))
    await outbox.open()
    const values = Array.from({ length: 700 }, (_, n) => String(n))
    await use.commit(
      outbox,
      values.map((value) => ({ topic: 't', key: 'a', value })),
    )
    await eventually(async () => (await use.rig.due()) === 0)
    await place.pool.query(`delete from ${place.schema}.outbox where cause is not null`)
    await place.pool.query(`update ${place.schema}.outbox set not_before = not_before - interval '1 minute'`)
    await eventually(async () => (await rows()) === 0)
    expect(kafka.texts).toEqual(values.slice(1))
  })

  it('is read as gauges of the consumer', async () => {
    const kafka = new Confirming()
    kafka.answer = () => {
      throw new BrokerError('BROKER_UNREACHABLE', 'nobody there')
    }
    const meter = new Meter()
    const { send } = await use.consume(
      use.outbox(kafka),
      { handle: ({ publish }) => publish({ topic: 'charged', value: '1' }) },
      { observe: meter.observe as Observer },
    )
    send(1, 2)
    await eventually(async () => (await rows()) === 2)
    const { outboxWaiting, outboxParked, outboxOldest } = await meter.gauges()
    expect(outboxWaiting).toMatchObject([{ labels: { destination: 'charged' }, value: 2 }])
    expect(outboxParked).toMatchObject([{ value: 0 }])
    expect(outboxOldest[0]?.value).toBeGreaterThan(0)
  })

  it('is flushed with its transaction, whatever the session or the store does [T310]', async () => {
    const outbox = use.outbox(new Confirming(), { relay: false })
    await outbox.open()
    await place.alter(`create table ${place.schema}.flushed (setting text);
      create function ${place.schema}.note() returns trigger language plpgsql as
        $$ begin insert into ${place.schema}.flushed values (current_setting('synchronous_commit')); return null; end $$;
      create constraint trigger note after insert on ${place.schema}.outbox deferrable initially deferred
        for each row execute function ${place.schema}.note()`)
    const client = await place.pool.connect()
    await client.query("begin; set local synchronous_commit = 'off'")
    await outbox.publish(client, { topic: 't', value: '' })
    await client.query('commit')
    client.release()
    const store = postgresInbox({
      pool: place.newPool(),
      schema: place.schema,
      outbox,
      durability: 'flush-ticker',
    })
    await once(store, 'x', ({ publish }) => publish({ topic: 't', value: '' }))
    const { rows: noted } = await place.pool.query(`select setting from ${place.schema}.flushed`)
    expect(noted).toEqual([{ setting: 'on' }, { setting: 'on' }])
  })

  it('is written with a position too', async () => {
    const outbox = use.outbox(new Confirming(), { relay: false })
    await outbox.open()
    const store = await place.newOffsets({ outbox })
    const item = { ...newItem(), position: { stream: 't/0', offset: 0n, follows: undefined, timestamp: undefined } }
    const [answer] = await claimAll(store, [item])
    const { claim: claimed } = grantedBy(answer)
    claimed.transaction.publish?.([outgoingOf({ topic: 't', value: 'x' }, { messageId: 'id', order: '' })])
    expect(await rows()).toBe(0)
    await store.mark([claimed])
    expect(await rows()).toBe(1)
  })
})
