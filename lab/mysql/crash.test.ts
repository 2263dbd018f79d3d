import { expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { describeMariadb } from '../../test/mysql/support.ts'
import { AFTER_RERUN, endingsOf, GIVEN_UP, MARKED, type Endings } from '../kit/mortal/lives.ts'
import { INBOXES_ON, LEASES_ON } from '../kit/worker-stores.ts'

const INBOX: Endings = { 'before the mark': AFTER_RERUN, 'after the mark': MARKED, 'in the handler': GIVEN_UP }
const LEASE: Endings = {
  ...INBOX,
  'before the mark': { ...AFTER_RERUN, effects: 2 },
  'in the handler': { ...GIVEN_UP, outcome: 'parked' },
}

describeMariadb('a process that dies over a message of RabbitMQ, with its store on MariaDB', () => {
  let rabbit: Rabbit
  beforeAllOpen(async (own) => (rabbit = own(await Rabbit.open())))

  it.each([
    ['an inbox has one effect', INBOXES_ON.mariadb, INBOX],
    ['a lease runs again what it was at', LEASES_ON.mariadb, LEASE],
  ] as const)(
    '%s; a mark is kept, and attempts are counted',
    async (_, open, endings) => {
      await using store = await open()
      expect(await endingsOf({ rabbit, store }, Object.keys(endings))).toEqual(endings)
    },
    90_000,
  )
})
