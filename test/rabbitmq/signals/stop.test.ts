import { describe, expect, it } from '@jest/globals'
import { startBroken, stopAtEach } from '../../kit/stops/chain.ts'
import { momentOf } from '../../kit/stops/moments.ts'
import { stopPlaces } from './places.ts'

const WITHIN_MS = 120_000

// Every moment, and frameworks: lab/rabbitmq/stop-signal.test.ts.
describe('SIGTERM', () => {
  it(
    'while one of three consumers joins lets the handlers of the others end, and the process ends with 0',
    async () => {
      expect(await stopAtEach(['joined*2', 'begun', 'dial*3'].map(momentOf), 'deploy', await stopPlaces(3))).toEqual([])
    },
    WITHIN_MS,
  )

  it(
    'ends a process with one consumer with 0 while it joins and while it handles',
    async () => {
      expect(await stopAtEach(['dial', 'begun'].map(momentOf), 'short', await stopPlaces(1))).toEqual([])
    },
    WITHIN_MS,
  )
})

describe('a start that fails', () => {
  it(
    'beside running handlers of other consumers lets these end, and the process ends with 1',
    async () => {
      expect(await startBroken('deploy', await stopPlaces(3))).toEqual([])
    },
    WITHIN_MS,
  )
})
