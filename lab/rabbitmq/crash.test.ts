import { describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { AFTER_RERUN, endingsOf, GIVEN_UP, MARKED, type Endings } from '../kit/mortal/lives.ts'
import { INBOXES_ON, LEASES_ON, type WorkerStore } from '../kit/worker-stores.ts'

type Strategy = 'lease' | 'inbox'

let rabbit: Rabbit
const stores = {} as Record<Strategy, WorkerStore>

beforeAllOpen(async (own) => {
  rabbit = own(await Rabbit.open())
  stores.lease = own(await LEASES_ON.redis())
  stores.inbox = own(await INBOXES_ON.postgres())
})

const INBOX: Endings = {
  'before the handler': { ...AFTER_RERUN, starts: 1 },
  'before the mark': AFTER_RERUN,
  'after the mark': MARKED,
  'after the release': AFTER_RERUN,
  'after the copy': { ...AFTER_RERUN, outcome: 'duplicate, handled' },
  'before the set-aside': GIVEN_UP,
  'after the set-aside': GIVEN_UP,
  // Two dead letters, never none.
  'after the dead letter': { ...GIVEN_UP, deadLetters: 2 },
}

const ENDINGS: Readonly<Record<Strategy, Endings>> = {
  inbox: INBOX,
  lease: {
    ...INBOX,
    // The effect may have happened, so the handler runs again. No other point repeats an effect.
    'before the mark': { ...AFTER_RERUN, effects: 2 },
    'before the set-aside': { ...GIVEN_UP, outcome: 'parked' },
  },
}

describe('a process that is killed between claim, handler, effect, mark, release, delayed copy, dead letter and ack', () => {
  it.each<[Strategy, 'quorum' | 'classic']>([
    ['lease', 'quorum'],
    ['lease', 'classic'],
    ['inbox', 'quorum'],
    ['inbox', 'classic'],
  ])(
    'loses nothing, and repeats no more than its strategy says: %s, %s queue [T2]',
    async (strategy, queueType) => {
      const endings = ENDINGS[strategy]
      const on = { rabbit, store: stores[strategy], queueType }
      expect(await endingsOf(on, Object.keys(endings))).toEqual(endings)
    },
    90_000,
  )
})
