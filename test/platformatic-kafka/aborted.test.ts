import { describe, expect, it } from '@jest/globals'
import { Cluster } from '../kafka/kit.ts'
import { Transactions } from '../kafka/transactions.ts'
import { openedOnce } from '../kit/opened.ts'
import { handled } from './handled.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))

/** What the client's own filter hands over: lab/kafka/platformatic-defects.test.ts. */
describe('aborted transactions, with @platformatic/kafka', () => {
  it('are not handed over, also where the marker comes in a later fetch (C1)', async () => {
    const topic = await cluster.topic()
    await using transactions = await Transactions.open(cluster, topic, 1)
    const aborted = await transactions.begin(0)
    for (const id of ['aborted 1', 'aborted 2', 'aborted 3']) await aborted.send(id)
    await aborted.end('abort')
    const committed = await transactions.begin(0)
    await committed.send('committed')
    await committed.end('commit')
    expect(await handled(cluster, topic, 'committed', 1)).toEqual(['committed']) // Each fetch brings one batch.
  })

  it('are not handed over, also where another one of their producer follows (C2)', async () => {
    const topic = await cluster.topic()
    await using transactions = await Transactions.open(cluster, topic, 1)
    for (const id of ['aborted 1', 'aborted 2']) {
      const aborted = await transactions.begin(0)
      await aborted.send(id)
      await aborted.end('abort')
    }
    const committed = await transactions.begin(0)
    await committed.send('committed')
    await committed.end('commit')
    expect(await handled(cluster, topic, 'committed')).toEqual(['committed'])
  })
})
