import { expect, it } from '@jest/globals'
import { postgresInbox, postgresOutbox } from '../../adapters/pg/index.ts'
import { dashboard } from '../../dashboard/server/index.ts'
import { BrokerError, defineConsumer, type Store } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { Page, pagesFolder } from '../kit/dashboard.ts'
import { eventually } from '../kit/eventually.ts'
import { openedForEach } from '../kit/opened.ts'
import { describePostgres, newPlace, type PgPlace } from '../pg/support.ts'

const CONSUMER = 'billing/payments'

function pageOn<Tx>(store: Store<Tx>, readOnly = false): Page {
  const consumer = defineConsumer<unknown, unknown, Tx>({ name: 'payments', store, handle: () => {} })
  return new Page(
    dashboard({
      consumers: [{ consumer, subscription: { group: 'billing', origins: ['orders'] } }],
      pages: pagesFolder(),
      readOnly,
      auth: () => ({ by: 'ana' }),
    }),
  )
}

describePostgres('the outbox at the dashboard', () => {
  let place: PgPlace
  openedForEach(newPlace, (made) => (place = made))

  it('shows what waits and what was refused, and publishes that when a person says why, with a note in the audit', async () => {
    const published: string[] = []
    let isRefused = true
    const kafka = {
      publish: async ({ messageId }: { readonly messageId: string }): Promise<void> => {
        if (isRefused) throw new BrokerError('BROKER_PUBLISH_REFUSED', 'see redis://ana:s3cret@r:6379')
        published.push(messageId)
      },
    }
    const { schema } = place
    const outbox = postgresOutbox({
      pool: place.newPool(),
      schema,
      publishers: { kafka },
      maxAttempts: 1,
      observe: () => {},
    })
    await outbox.open()
    const store = postgresInbox({ pool: place.newPool(), schema, outbox })
    const page = pageOn(store)
    expect((await page.get('GET api/outbox', { consumer: CONSUMER })).answer).toMatchObject({
      backlog: [],
      refused: [],
    })
    const client = await place.pool.connect()
    await outbox.publish(client, [
      { topic: 'paid', value: '', messageId: 'a' },
      { topic: 'paid', value: '', messageId: 'b' },
      { topic: 'paid', value: '', key: 'account-7', messageId: `${'x'.repeat(43)}-0` },
    ])
    client.release()
    outbox.start()
    await eventually(async () => (await outbox.refused()).length === 3)
    const { answer } = await page.get('GET api/outbox', { consumer: CONSUMER })
    expect(answer.backlog).toMatchObject([{ system: 'kafka', place: 'paid', waiting: 0, parked: 3 }])
    expect(answer.refused.map(({ messageId, isParked }) => [messageId, isParked])).toEqual([
      ['a', true],
      ['b', true],
      [`${'x'.repeat(43)}-0`, true],
    ])
    // Only an ID that the library made tells whose handler published it.
    expect(answer.refused.map(({ key, handled }) => [key, handled])).toEqual([
      [undefined, undefined],
      [undefined, undefined],
      ['account-7', `${'x'.repeat(21)}w`],
    ])
    expect((await page.get('GET api/outboxes', {})).answer.outboxes).toEqual([
      { consumers: [CONSUMER], waiting: 0, parked: 3, oldestMs: 0, error: undefined },
    ])
    expect(JSON.stringify(answer)).not.toContain('s3cret')

    const [first = ''] = answer.refused.map(({ id }) => id)
    const asked = { consumer: CONSUMER, ids: [first], reason: 'OPS-1', confirm: 1 }
    const wrong = [{ ids: [] }, { reason: ' ' }, { confirm: 2 }]
    for (const one of wrong) expect((await page.post('POST api/outbox/redrive', { ...asked, ...one })).status).toBe(400)
    expect((await pageOn(store, true).post('POST api/outbox/redrive', asked)).status).toBe(405)
    isRefused = false
    const { answer: done } = await page.post('POST api/outbox/redrive', asked)
    expect(done).toEqual({ redriven: 1, left: 0, isNoted: true })
    await eventually(async () => published.length === 1)
    const { answer: late } = await page.post('POST api/outbox/redrive', asked)
    expect(late).toEqual({ redriven: 0, left: 1, isNoted: true })
    const { answer: audit } = await page.get('GET api/audit', { consumer: CONSUMER })
    expect(audit.entries).toMatchObject([
      { decision: 'redrive', by: 'ana', reason: 'OPS-1', about: `outbox ${first}: a to paid` },
    ])
    expect(published).toEqual(['a'])
    await outbox.stop(0)
  })

  it('is told of a consumer without one', async () => {
    const page = pageOn(memoryStore())
    expect((await page.get('GET api/outboxes', {})).answer.outboxes).toEqual([])
    expect((await page.get('GET api/session', {})).answer.consumers).toMatchObject([{ can: { outbox: false } }])
    expect((await page.get('GET api/outbox', { consumer: CONSUMER })).error.message).toContain(
      'its store has no outbox',
    )
  })
})
