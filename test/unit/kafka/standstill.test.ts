import { describe, expect, it } from '@jest/globals'
import { PartitionEpoch } from '../../../adapters/kafka/membership/partition-epoch.ts'
import { Standstill } from '../../../adapters/kafka/membership/standstill.ts'
import type { KafkaEvent } from '../../../adapters/kafka/report.ts'
import { turns } from '../../kit/manual-clock.ts'

const SESSION_MS = 30_000

/** A member of a group in the hands of the test. */
class Member {
  now = 0
  partitions: readonly number[] = [0, 1, 2]
  epochs: readonly PartitionEpoch[] = []
  committed: bigint | undefined
  /** `undefined`: all. */
  only: readonly string[] | undefined
  readonly told: { readonly event: KafkaEvent; readonly detail: string }[] = []
  readonly joinsAsked: string[] = []
  #joins = 0
  readonly standstill: Standstill = new Standstill({
    sessionMs: SESSION_MS,
    holds: {
      fetchOnly: (names) => void (this.only = names),
      hold: (epoch, why) => void epoch.holds.add(why),
      release: (epoch, why) => void epoch.holds.delete(why),
    },
    report: (event, detail) => void this.told.push({ event, detail }),
    epochs: () => this.epochs,
    offsetOf: ({ partition }) => BigInt(partition * 10),
    committedOf: async () => this.committed,
    joinAgain: (why) => void this.joinsAsked.push(why),
    now: () => this.now,
  })

  join(): void {
    this.epochs = this.partitions.map((partition) => new PartitionEpoch('t', partition, this.#joins))
    this.#joins++
    this.standstill.joined()
  }

  /** Removed from the group, because a fetch took so long. */
  stall(forMs: number = SESSION_MS + 1): void {
    this.now += forMs
    this.join()
  }

  /** A new consumer, as it was asked for. */
  rebuild(): void {
    this.standstill.left()
    this.join()
  }

  search(): void {
    this.join()
    for (let stalls = 0; stalls < 3; stalls++) this.stall()
    this.rebuild()
  }

  /** The partition that is fetched alone has been fetched from, and then the fetch that was under way has ended. */
  passes(): void {
    for (let turn = 0; turn < 3; turn++) this.standstill.turned()
  }

  events(): readonly string[] {
    return this.told.map(({ event }) => event)
  }

  get held(): readonly string[] {
    return this.epochs.filter(({ holds }) => holds.has('stalls')).map(({ name }) => name)
  }
}

describe('a member that joins again and again', () => {
  it('stands still when it got on in none of three joins, each longer than half a session', () => {
    const member = new Member()
    member.join()
    member.stall()
    member.stall()
    expect([member.standstill.problem, ...member.joinsAsked]).toEqual([undefined])
    member.stall()
    expect(member.standstill.problem).toMatch(/^joined 3 times without getting on; looking for the record batch/)
    expect(member.standstill.isSearching).toBe(true)
    expect(member.only).toEqual([])
    expect(member.joinsAsked).toHaveLength(1)
    expect(member.told).toEqual([
      { event: 'standstill', detail: expect.stringContaining('(t/0 at offset 0, t/1 at offset 10, t/2 at offset 20)') },
    ])
  })

  it.each<readonly [string, (member: Member) => void]>([
    ['a storm of short joins', (member) => member.stall(SESSION_MS / 2 - 1)],
    [
      'rebalances of an idle group',
      (member) => {
        member.now += 600_000
        member.standstill.turned()
        member.stall(SESSION_MS / 2 - 1)
      },
    ],
    [
      'joins in which an offset was committed',
      (member) => {
        member.standstill.committed()
        member.stall()
      },
    ],
    [
      'a broker that is away for long between two joins',
      (member) => {
        member.standstill.left()
        member.stall(600_000)
      },
    ],
  ])('does not stand still in %s', (_, again) => {
    const member = new Member()
    member.join()
    for (let joins = 0; joins < 20; joins++) again(member)
    expect([member.standstill.problem, ...member.told]).toEqual([undefined])
  })

  it('stands still too if it fetches the same small batch again before the large one', () => {
    const member = new Member()
    member.join()
    for (let joins = 0; joins < 3; joins++) {
      member.standstill.turned()
      member.stall()
    }
    expect(member.events()).toEqual(['standstill'])
  })

  it('counts from the beginning when it has been a member for a session', () => {
    const member = new Member()
    member.join()
    member.stall()
    member.stall()
    for (let seconds = 0; seconds <= 30; seconds++) {
      member.now += 1_000
      member.standstill.turned()
    }
    member.stall()
    member.stall()
    expect(member.events()).toEqual([])
  })

  it('counts from the beginning when it got on once', () => {
    const member = new Member()
    member.join()
    member.stall()
    member.stall()
    member.standstill.committed()
    member.stall()
    member.stall()
    member.stall()
    expect(member.events()).toEqual([])
    member.stall()
    expect(member.events()).toEqual(['standstill'])
  })
})

describe('the search of a member that stands still', () => {
  it('fetches from one partition after the other, and then as before', () => {
    const member = new Member()
    member.search()
    const [first] = member.epochs
    expect(member.only).toEqual(['t/0'])
    // The message before its position is compared, at first.
    if (first !== undefined) first.proof = { offset: 0n, timestamp: 1 }
    member.passes()
    expect(member.only).toEqual(['t/0'])
    if (first !== undefined) first.proof = undefined
    member.standstill.turned()
    expect(member.only).toEqual(['t/0'])
    member.standstill.turned()
    expect(member.only).toEqual([])
    member.standstill.turned()
    expect(member.only).toEqual(['t/1'])
    member.passes()
    expect(member.only).toEqual(['t/2'])
    member.passes()
    expect(member.only).toBeUndefined()
    expect([member.standstill.isSearching, member.standstill.problem]).toEqual([false, undefined])
    expect(member.joinsAsked.at(-1)).toBe('fetches as before: each partition was fetched from')
    expect(member.events()).toEqual(['standstill'])
  })

  it('hears nothing of the consumer that was asked to leave', () => {
    const member = new Member()
    member.join()
    for (let stalls = 0; stalls < 3; stalls++) member.stall()
    member.standstill.left()
    member.passes()
    expect(member.only).toEqual([])
    member.join()
    expect(member.only).toEqual(['t/0'])
  })

  it.each([
    ['while it is fetched alone', (member: Member) => member.stall()],
    [
      'in the fetch that was under way when the next had its turn',
      (member: Member) => {
        member.standstill.turned()
        member.standstill.turned()
        expect(member.only).toEqual([])
        member.stall()
      },
    ],
  ])('holds the partition that ends the membership %s, and names it', (_, ends) => {
    const member = new Member()
    member.search()
    member.passes()
    ends(member)
    member.rebuild()
    expect(member.held).toEqual(['t/1'])
    expect(member.only).toBeUndefined()
    expect(member.events()).toEqual(['standstill', 'batch-held'])
    expect(member.standstill.problem).toMatch(
      /^t\/1 is held at offset 10: to fetch and decode the record batch there takes longer than the session of 30 s$/,
    )
  })

  it('names the offsets of the batch, if it came', () => {
    const member = new Member()
    member.search()
    const messages = ['4', '5'].map((offset) => ({ key: null, value: null, timestamp: '0', offset }))
    const batch = { topic: 't', partition: 0, highWatermark: '9', messages, lastOffset: () => '6' }
    member.standstill.handedOver({ ...batch, partition: 2, lastOffset: () => '99' })
    member.standstill.handedOver(batch)
    member.stall()
    expect(member.told.at(-1)?.detail).toContain('its record batch 4 to 6 takes longer')
    expect(member.told.at(-1)?.detail).toContain('set its offset to 7')
  })

  it('holds nothing that another member has by then', () => {
    const member = new Member()
    member.search()
    member.partitions = [1, 2]
    member.stall()
    expect([member.events(), member.standstill.problem]).toEqual([['standstill'], undefined])
    expect(member.only).toBeUndefined()
  })

  it('lets a held partition go when the group has passed the batch', async () => {
    const member = new Member()
    member.search()
    member.stall()
    member.rebuild()
    await turns()
    expect(member.held).toEqual(['t/0'])
    member.committed = 0n
    member.rebuild()
    await turns()
    expect(member.held).toEqual(['t/0'])
    member.committed = 1n
    member.rebuild()
    await turns()
    expect([member.held, member.standstill.problem]).toEqual([[], undefined])
  })
})
