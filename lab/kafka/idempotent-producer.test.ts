import { connect } from 'node:net'
import { describe, expect, it } from '@jest/globals'
import { Kafka, logLevel } from 'kafkajs'
import { confirmedPublisher } from '../../adapters/kafkajs/index.ts'
import { Cluster } from '../../test/kafka/kit.ts'
import { startFaultProxy, type FaultProxy, type Listener } from '../../test/kit/fault-proxy.ts'
import { beforeAllOpen, openedOnce } from '../../test/kit/opened.ts'

// P5 of docs/kafka.md. A test that no longer sees the defect says that kafkajs has mended it.

/** API keys of the protocol: they are in each request behind its length. */
const [PRODUCE, INIT_PRODUCER_ID] = [0, 22]

let cluster: Cluster
let proxy: FaultProxy
const asked: number[] = []
/** Called with each request. */
let onRequest = (_key: number): void => {}
const listener: Listener = {
  fromClient: (bytes) => {
    if (bytes.length < 6) return
    asked.push(bytes.readInt16BE(4))
    onRequest(bytes.readInt16BE(4))
  },
  fromServer: () => {},
  closed: () => {},
}

openedOnce(Cluster, (made) => (cluster = made))
beforeAllOpen(async (own) => {
  proxy = own(await startFaultProxy(Number(cluster.brokers[0]?.split(':')[1]), () => listener))
})

/** All its connections lead through the proxy. */
function throughProxy(): Kafka {
  return new Kafka({
    brokers: cluster.brokers,
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 300, retries: 1 },
    socketFactory: ({ onConnect }) => connect(proxy.port, '127.0.0.1', onConnect),
  })
}

async function written(topic: string, count: number): Promise<readonly string[]> {
  return (await cluster.read(topic, count)).map(({ value }) => String(value))
}

describe('a message whose answer is lost', () => {
  it('makes the idempotent producer of kafkajs confirm the next one, which the broker has not written (P5)', async () => {
    const topic = await cluster.topic()
    const producer = throughProxy().producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const send = (value: string): ReturnType<typeof producer.send> => producer.send({ topic, messages: [{ value }] })
    await send('before')
    proxy.breakNext('cut after')
    // Its second try meets nobody.
    onRequest = (key) => {
      if (key === PRODUCE) proxy.refuse()
    }
    await expect(send('lost')).rejects.toMatchObject({ name: expect.stringContaining('KafkaJS') })
    onRequest = () => {}
    proxy.accept()
    const [answer] = await send('next')
    expect(answer).toMatchObject({ errorCode: 0, baseOffset: '1' })
    await producer.disconnect()
    expect(await written(topic, 2)).toEqual(['before', 'lost'])
  }, 60_000)

  it('is published again by confirmedPublisher, which is not idempotent with kafkajs, and the next one is written too', async () => {
    const topic = await cluster.topic()
    const publisher = confirmedPublisher(throughProxy())
    const publish = (messageId: string): Promise<void> => publisher.publish({ topic, messageId, value: messageId })
    await publish('before')
    asked.length = 0
    proxy.breakNext('cut after')
    await publish('lost')
    await publish('next')
    await publisher.close()
    expect(await written(topic, 4)).toEqual(['before', 'lost', 'lost', 'next'])
    expect(asked).toContain(PRODUCE)
    expect(asked).not.toContain(INIT_PRODUCER_ID)
  }, 60_000)
})
