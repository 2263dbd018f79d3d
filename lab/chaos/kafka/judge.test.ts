import { describe, expect, it } from '@jest/globals'
import type { Effect } from '../evidence.ts'
import type { Evidence, PartitionEvidence, TransactionEvidence } from './evidence.ts'
import { judge } from './judge.ts'

/** Three messages of two keys, each done at ten times its offset and committed a moment later. */
const PARTITION: PartitionEvidence = {
  log: [
    { id: 'a', key: 'k' },
    { id: 'b', key: 'l' },
    { id: 'c', key: 'k' },
  ],
  commits: [
    { offset: 1, at: 5 },
    { offset: 3, at: 25 },
  ],
  committed: 3,
}
const GOOD: Evidence = {
  store: 'postgres',
  acknowledged: new Set(['a', 'b', 'c']),
  partitions: [PARTITION],
  effects: [done('a', 0), done('b', 10), done('c', 20)],
  deadLetters: 0,
  transactions: [],
  unclean: { partitions: [], acknowledged: new Set() },
  faults: [],
  leaseMs: 6_000,
}

function done(id: string, at: number, process = 'w1.1', begunAt = at - 5): Effect {
  return { id, process, begunAt, at }
}

function withPartition(changes: Partial<PartitionEvidence>): Evidence {
  return { ...GOOD, partitions: [{ ...PARTITION, ...changes }] }
}

/** Behind the three messages two of a transaction, and its end. */
const withTransaction = (fate: TransactionEvidence['fate'], effects: readonly Effect[]): Evidence => ({
  ...withPartition({
    log: [...PARTITION.log, { id: 'x', key: 'x' }, { id: 'y', key: 'y' }, undefined],
    commits: [...PARTITION.commits, { offset: 6, at: 60 }],
    committed: 6,
  }),
  effects: [...GOOD.effects, ...effects],
  transactions: [{ fate, ids: ['x', 'y'] }],
})

const withUnclean = (partition: Partial<PartitionEvidence>): Evidence => ({
  ...GOOD,
  effects: [...GOOD.effects, done('u', 30), done('v', 40)],
  unclean: {
    partitions: [
      {
        log: [{ id: 'v', key: 'k' }],
        commits: [
          { offset: 5, at: 35 },
          { offset: 1, at: 45 },
        ],
        committed: 1,
        ...partition,
      },
    ],
    acknowledged: new Set(['u', 'v']),
  },
})

function laws(evidence: Evidence): readonly string[] {
  return judge(evidence).violations.map(({ law }) => law)
}

describe('the judge of a chaos run', () => {
  it('accepts a correct run', () => {
    expect(judge(GOOD)).toEqual({
      violations: [],
      figures: {
        messages: 3,
        ids: 3,
        effects: 3,
        doubles: 0,
        commits: 2,
        abortedMessages: 0,
        cutOff: 0,
        resetsByKafkajs: 0,
      },
    })
  })

  it('counts a message that was sent twice as one', () => {
    const log = [...PARTITION.log, { id: 'a', key: 'k' }]
    const commits = [...PARTITION.commits, { offset: 4, at: 26 }]
    expect(judge(withPartition({ log, commits, committed: 4 }))).toMatchObject({
      violations: [],
      figures: { messages: 4, ids: 3 },
    })
  })

  it('finds an acknowledged message that is missing in the topic', () => {
    expect(laws({ ...GOOD, acknowledged: new Set(['a', 'z']) })).toEqual(['sent-is-in-the-log'])
  })

  it('finds a lost message, and the commit that lost it', () => {
    const { violations } = judge({ ...GOOD, effects: [done('a', 0), done('c', 20)] })
    expect(violations).toEqual([
      { law: 'nothing-lost', detail: 'b at 0@1 has no effect' },
      {
        law: 'never-committed-past-unfinished-work',
        detail: '0@3 was committed at 25, b at 1 never had its effect',
      },
    ])
  })

  it('finds a message that was committed before its effect, even if the effect came later', () => {
    const { violations } = judge(withPartition({ commits: [{ offset: 3, at: 15 }] }))
    expect(violations).toEqual([
      {
        law: 'never-committed-past-unfinished-work',
        detail: '0@3 was committed at 15, c at 2 had its effect 5 ms later',
      },
    ])
  })

  it('accepts a commit in the same millisecond as the effect', () => {
    expect(
      laws({
        ...withPartition({ commits: [{ offset: 3, at: 20 }] }),
        effects: [done('a', 0), done('b', 10), done('c', 20.9)],
      }),
    ).toEqual([])
  })

  it('finds a commit beyond the end', () => {
    expect(laws(withPartition({ commits: [{ offset: 4, at: 30 }], committed: 4 }))).toEqual([
      'never-committed-past-unfinished-work',
      'all-committed-at-the-end',
    ])
  })

  it('finds an offset that was lowered', () => {
    const commits = [3, 2, 3].map((offset, turn) => ({ offset, at: 30 + turn }))
    expect(judge(withPartition({ commits })).violations).toEqual([
      { law: 'offset-never-lowered', detail: 'partition 0 from 3 to 2 at 31' },
    ])
  })

  it('attributes a reset to kafkajs, but no lowered offset after it', () => {
    const commits = [3, -2, 1, 3].map((offset, turn) => ({ offset, at: 30 + turn }))
    expect(judge(withPartition({ commits }))).toMatchObject({ violations: [], figures: { resetsByKafkajs: 1 } })
    const again = [3, -2, 2, 1, 3].map((offset, turn) => ({ offset, at: 30 + turn }))
    expect(laws(withPartition({ commits: again }))).toEqual(['offset-never-lowered'])
  })

  it('finds offsets that are not committed at the end', () => {
    expect(laws(withPartition({ committed: -2 }))).toEqual(['all-committed-at-the-end'])
    expect(laws(withPartition({ committed: 2 }))).toEqual(['all-committed-at-the-end'])
  })

  it('does not count an uncommitted message as lost, because it may come again', () => {
    const unfinished = withPartition({ commits: [{ offset: 1, at: 5 }], committed: 1 })
    expect(judge({ ...unfinished, effects: [done('a', 0), done('c', 20)] }).violations).toEqual([
      {
        law: 'all-committed-at-the-end',
        detail: 'partition 0 ends at 3, committed is 1, 1 of the rest have no effect',
      },
    ])
  })

  it('finds a dead letter', () => {
    expect(laws({ ...GOOD, deadLetters: 1 })).toEqual(['no-dead-letter'])
  })

  it('finds a message that overtook another of its key', () => {
    expect(laws({ ...withPartition({ commits: [] }), effects: [done('a', 20), done('b', 10), done('c', 0)] })).toEqual([
      'keys-in-order',
    ])
  })

  it('knows the laws of effects', () => {
    expect(laws({ ...GOOD, effects: [...GOOD.effects, done('b', 12_000)] })).toEqual(['no-double-effect'])
  })

  describe('of transactions', () => {
    const both = [done('x', 30), done('y', 40)]

    it.each<[string, Evidence]>([
      ['was committed, with all effects', withTransaction('committed', both)],
      ['was aborted, without effects', withTransaction('aborted', [])],
      ['nobody knows of, with all effects', withTransaction('unknown', both)],
      ['nobody knows of, without effects', withTransaction('unknown', [])],
    ])('accepts one that %s', (_, evidence) => {
      expect(laws(evidence)).toEqual([])
    })

    it.each<[string, Evidence, string]>([
      ['was aborted, with an effect', withTransaction('aborted', [done('x', 30)]), 'aborted-never-handled'],
      ['was committed, without an effect', withTransaction('committed', [done('x', 30)]), 'nothing-lost'],
      ['nobody knows of, with one effect of two', withTransaction('unknown', [done('x', 30)]), 'nothing-lost'],
    ])('finds one that %s', (_, evidence, law) => {
      expect(laws(evidence)).toContain(law)
    })

    it('finds one that was committed and is missing in the topic', () => {
      expect(laws({ ...GOOD, transactions: [{ fate: 'committed', ids: ['z'] }] })).toEqual(['sent-is-in-the-log'])
    })
  })

  describe('of a topic with unclean elections', () => {
    it('accepts that its offsets fall, and counts what was cut off', () => {
      expect(judge(withUnclean({}))).toMatchObject({ violations: [], figures: { cutOff: 1 } })
    })

    it('finds a message that is there and was passed over', () => {
      const log = [
        { id: 'w', key: 'k' },
        { id: 'v', key: 'k' },
      ]
      expect(laws(withUnclean({ log, committed: 2 }))).toEqual(['nothing-lost'])
    })

    it('finds an offset that is beyond the end of its log', () => {
      expect(laws(withUnclean({ committed: 5 }))).toEqual(['all-committed-at-the-end'])
    })
  })
})
