import { describe, expect, it } from '@jest/globals'
import { stopAtEach } from '../../test/kit/stops/chain.ts'
import { momentsOf } from '../../test/kit/stops/moments.ts'
import { stopPlaces } from '../../test/kafka/signals/places.ts'

// The program of docs/deploy.md, and applications of two frameworks.
describe.each(['deploy', 'nest', 'fastify'] as const)(
  'SIGTERM to the program %s, at each of twenty moments',
  (program) => {
    it.each([1, 3] as const)(
      'lets handlers end that have begun, and leaves nothing in doubt: consumers %i',
      async (consumers) => {
        expect(await stopAtEach(momentsOf('kafka', consumers), program, await stopPlaces(consumers))).toEqual([])
      },
      600_000,
    )
  },
)
