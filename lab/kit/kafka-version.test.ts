import { once } from 'node:events'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import {
  askedKafkaVersion,
  DEFAULT_KAFKA_VERSION,
  KAFKA_VERSION_VARIABLE,
  kafkaVersion,
  loggersOf,
} from '../../test/kit/servers/kafka/version.ts'
import { startPrivateKafka } from '../../test/kit/servers/private-kafka.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { findServer, waysTo } from '../../test/kit/servers/ways.ts'

const before = process.env[KAFKA_VERSION_VARIABLE]
const ask = (version: string | undefined): void => {
  if (version === undefined) delete process.env[KAFKA_VERSION_VARIABLE]
  else process.env[KAFKA_VERSION_VARIABLE] = version
}
afterEach(() => ask(before))

const titles = (name: 'kafka' | 'redis'): readonly string[] => waysTo(name).map(({ title }) => title)

describe('the version of Kafka', () => {
  it.each([undefined, '', ' '])('is that of pom.xml, or whatever runs already, where %p is asked for', (asked) => {
    ask(asked)
    expect(askedKafkaVersion()).toBeUndefined()
    expect(kafkaVersion()).toBe(DEFAULT_KAFKA_VERSION)
    expect(titles('kafka')).toEqual(titles('redis'))
  })

  it('that is asked for is started, and no other server is taken for it', () => {
    ask('3.9.1')
    expect(kafkaVersion()).toBe('3.9.1')
    expect(titles('kafka')).toEqual(['programs of this machine', 'programs installed now'])
    expect(titles('redis')).toHaveLength(4)
  })

  it.each(['4', '4.3', '3.8.1', '2.13-4.3.0', '4.3.0-rc1', 'latest'])('%s is refused', async (asked) => {
    ask(asked)
    const refusal = `CONSUME_ONCE_TEST_KAFKA_VERSION: expected a release 3.9.x or 4.x.y of Apache Kafka, got ${asked}`
    expect(() => kafkaVersion()).toThrow(refusal)
    await expect(findServer('kafka')).rejects.toThrow(refusal)
    await expect(startPrivateKafka()).rejects.toThrow(refusal)
  })

  if (backends.has('kafka')) {
    it(
      'is what answers: Kafka 4 knows none of the oldest requests any more',
      async () => {
        await using kafka = await startPrivateKafka()
        const oldest = await oldestFetch(kafka.brokers[0] ?? '')
        expect(oldest).toBe(loggersOf(kafkaVersion()) === 'reload4j' ? 0 : 4)
      },
      SERVER_WITHIN_MS,
    )
  }
})

/** The lowest version of a fetch request that the broker takes, as it answers to ApiVersions. */
async function oldestFetch(broker: string): Promise<number> {
  const [host, port] = broker.split(':')
  const socket = connect(Number(port), host)
  await once(socket, 'connect')
  const [apiVersions, fetch, noClientId] = [18, 1, -1]
  const request = Buffer.alloc(14)
  request.writeInt32BE(10)
  request.writeInt16BE(apiVersions, 4)
  request.writeInt16BE(noClientId, 12)
  socket.write(request)
  let answer = Buffer.alloc(0)
  while (answer.length < 4 || answer.length < 4 + answer.readInt32BE()) {
    const [more] = (await once(socket, 'data')) as [Buffer]
    answer = Buffer.concat([answer, more])
  }
  socket.destroy()
  for (let at = 14; at < answer.length; at += 6) {
    if (answer.readInt16BE(at) === fetch) return answer.readInt16BE(at + 2)
  }
  throw new Error('the broker does not know fetch requests')
}
