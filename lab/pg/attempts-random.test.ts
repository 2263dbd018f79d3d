import { openedForEach } from '../../test/kit/opened.ts'
import { expect, it } from '@jest/globals'
import type { PgTransaction } from '../../adapters/pg/index.ts'
import type { ClaimItem, InboxStore, TransactionClaim } from '../../src/internal.ts'
import { claimAll, newItem } from '../../testing/contract/store/claims.ts'
import { describePostgres, lend, newPlace, NO_REFUND, REFUND, type PgPlace } from '../../test/pg/support.ts'

const PROCESSES = 3
const MESSAGES = 4
const ROUNDS = 30

interface Message {
  readonly item: ClaimItem
  /** How often its handler has begun, without what was given back. */
  starts: number
  /** Claims of it that were given back after their transaction was gone: others may have looked in between. */
  early: number
}

type Inbox = InboxStore<PgTransaction>

/** Numbers that a seed repeats. */
function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * sides)
  }
}

describePostgres('attempts of postgresInbox in processes that claim the same keys', () => {
  let place: PgPlace
  openedForEach(
    () => newPlace(),
    (made) => (place = made),
  )

  /** What each process knows of a message that it starts. */
  class Run {
    readonly wrong: string[] = []
    /** How the claims of processes that died are ended, so that the test can end. */
    readonly dead: (() => Promise<unknown>)[] = []
    readonly #messages: Message[] = Array.from({ length: MESSAGES }, newMessage)
    claimed = 0
    refused = 0

    async process(inbox: Inbox, roll: (sides: number) => number): Promise<void> {
      for (let round = 0; round < ROUNDS; round++) {
        const alone = roll(2) === 0
        const asked = this.#messages.filter(() => roll(2) === 0).slice(0, alone ? 1 : MESSAGES)
        if (asked.length === 0) continue
        const items = asked.map(({ item }) => item)
        const answers = (await this.#unlessRefused(asked, claimAll(inbox, items, { alone }))) ?? []
        const claims: TransactionClaim<PgTransaction>[] = []
        const held: Message[] = []
        for (const [at, message] of asked.entries()) {
          const answer = answers[at]
          if (answer === undefined || !('claim' in answer)) continue
          this.#knows(message, answer.attempt - 1)
          claims.push(answer.claim)
          held.push(message)
        }
        const [first] = claims
        if (first !== undefined) await this.#end(inbox, { claims, held, first }, roll(6))
      }
    }

    /**
     * Three processes that work on four messages are more than a serializable transaction can always win, at its COMMIT too.
     * What it has counted is given back after it is gone, so others may look in between: before its caller knows of it.
     */
    async #unlessRefused<T>(messages: readonly Message[], work: Promise<T>): Promise<T | undefined> {
      for (const message of messages) message.early++
      try {
        const won = await work
        for (const message of messages) message.early--
        return won
      } catch (error) {
        if (!String(error).includes('could not serialize access')) throw error
        this.refused++
        return undefined
      }
    }

    #knows(message: Message, known: number): void {
      const { starts, early } = message
      if (known < starts || known > starts + early) this.wrong.push(`${known} for ${starts} starts, ${early} early`)
      message.starts++
      this.claimed++
    }

    async #end(
      inbox: Inbox,
      granted: {
        readonly claims: readonly TransactionClaim<PgTransaction>[]
        readonly held: readonly Message[]
        readonly first: TransactionClaim<PgTransaction>
      },
      how: number,
    ): Promise<unknown> {
      const { claims, held, first } = granted
      switch (how) {
        case 0:
          for (const message of held) {
            message.starts--
            this.#messages[this.#messages.indexOf(message)] = newMessage()
          }
          return this.#unlessRefused(held, inbox.mark(claims))
        case 1:
          for (const message of held) message.starts--
          return inbox.release(claims, REFUND)
        case 2:
          return inbox.release(claims, { ...NO_REFUND, delayMs: 5, cause: 'Error: no card' })
        case 3:
          await this.#die(first)
          return this.dead.push(() => inbox.release(claims, NO_REFUND))
        case 4:
          for (const message of held) {
            message.starts--
            message.early++
          }
          await this.#die(first)
          return inbox.release(claims, REFUND)
        default:
          return inbox.release(claims, NO_REFUND)
      }
    }

    async #die(claimed: TransactionClaim<PgTransaction>): Promise<void> {
      const { rows } = await lend(claimed).tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await place.terminate(rows[0]?.pid ?? 0)
    }
  }

  const LEVELS = ['read\\ committed', 'repeatable\\ read', 'serializable']

  it.each(LEVELS)('are as many as its handler has begun, at %s', async (level) => {
    const seed = Date.now() % 100_000
    const run = new Run()
    const inboxes: Inbox[] = []
    for (let n = 0; n < PROCESSES; n++) {
      const pool = place.newPool({ max: 20, options: `-c default_transaction_isolation=${level}` })
      inboxes.push(await place.newInbox({ pool }))
    }
    const all = inboxes.map((inbox, at) => run.process(inbox, dice(seed * PROCESSES + at)))
    const ended = await Promise.allSettled(all)
    for (const end of run.dead) await end()
    expect({ seed, ended }).toEqual({ seed, ended: all.map(() => ({ status: 'fulfilled' })) })
    expect({ seed, wrong: run.wrong }).toEqual({ seed, wrong: [] })
    expect(run.claimed).toBeGreaterThan(ROUNDS / 3)
  })
})

function newMessage(): Message {
  return { item: newItem(), starts: 0, early: 0 }
}
