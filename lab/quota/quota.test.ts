import { describe, expect, it } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { SERVER_WITHIN_MS } from '../../test/kit/servers/server.ts'
import { Signal } from '../../test/kit/signal.ts'
import { StarvedConsumer } from './starved-consumer.ts'

const describeOnServers = backends.has('kafka') && backends.has('redis') ? describe : describe.skip

/** The short form of `npm run quota`. */
describeOnServers('a consumer with a tenth of a CPU', () => {
  it(
    'works off a backlog of small messages, and stays a member of its group',
    async () => {
      await using starved = await StarvedConsumer.start({
        messages: 64_000,
        partitions: 8,
        share: 0.1,
        sessionTimeoutMs: 6_000,
      })
      const signal = new Signal()
      starved.onFigures = () => signal.notify()
      // More than a session lasts, and a batch holds.
      await signal.until(() => (starved.figures?.handled ?? 0) >= 2_000)
      expect(starved.figures).toMatchObject({ joins: 1, handedBack: 0, refused: 0 })
      expect(starved.figures?.inFlight).toBeLessThanOrEqual(800)
    },
    SERVER_WITHIN_MS,
  )
})
