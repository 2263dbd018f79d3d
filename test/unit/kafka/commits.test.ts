import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { eventually } from '../../kit/eventually.ts'
import { closeSources, joinedSource, settleAll } from './joined-source.ts'

afterEach(closeSources)

describe('a commit', () => {
  it('goes out once for what did not change, and never lower', async () => {
    const { consumer, intake } = await joinedSource(0)
    await consumer.fetch('t/0', 0, [0, 1])
    settleAll(intake)
    await intake.untilSettled(2)
    consumer.join({ t: [0] }) // The group still says 0: a commit of it would be one backwards.
    await consumer.fetch('t/0', 2, [2])
    await consumer.fetch('t/0', 2, [2])
    await consumer.fetch('t/0', 3, [3])
    settleAll(intake)
    await eventually(async () => consumer.commits.includes('t/0@4'))
    expect(consumer.commits).toEqual(['t/0@2', ...consumer.commits.slice(1)])
    const offsets = consumer.commits.map((commit) => Number(commit.split('@')[1]))
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b))
  })

  it.each(['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS'])(
    'refused with %s waits for the next join, and nothing dies of it [T79]',
    async (type) => {
      const { kafka, consumer, intake } = await joinedSource(0)
      let refusals = 0
      consumer.onCommit = async () => {
        refusals++
        throw Object.assign(new Error('refused'), { type })
      }
      await consumer.fetch('t/0', 0, [0])
      settleAll(intake)
      await intake.untilTold('commit-refused')
      expect(intake.told('commit-refused')[0]).toContain(`${type}: t/0@1`)
      await new Promise((resolve) => setTimeout(resolve, 40)) // Eight ticks.
      expect(refusals).toBe(1)
      consumer.onCommit = async () => {}
      consumer.join({ t: [0] })
      await consumer.fetch('t/0', 0, [0])
      settleAll(intake)
      await eventually(async () => consumer.commits.length > 0)
      expect(consumer.commits).toEqual(['t/0@1'])
      expect(kafka.consumers).toHaveLength(1)
    },
  )

  it.each(['NOT_COORDINATOR_FOR_GROUP', 'GROUP_LOAD_IN_PROGRESS', 'REQUEST_TIMED_OUT'])(
    'refused with %s is sent again: no join follows',
    async (type) => {
      const { consumer, intake } = await joinedSource(0)
      let refusals = 0
      consumer.onCommit = async () => {
        if (refusals++ < 3) throw Object.assign(new Error('wrapped'), { cause: { type } })
      }
      await consumer.fetch('t/0', 0, [0])
      settleAll(intake)
      await intake.untilSettled(1)
      expect(intake.told('commit-refused')).toHaveLength(3)
      expect(consumer.commits).toEqual(['t/0@1'])
    },
  )

  it('refused late, after a join, does not hold back the new epoch', async () => {
    const { consumer, intake } = await joinedSource(0)
    let refuse: (() => void) | undefined
    consumer.onCommit = () =>
      new Promise((_resolve, reject) => {
        refuse = () => reject(Object.assign(new Error('late'), { type: 'ILLEGAL_GENERATION' }))
      })
    await consumer.fetch('t/0', 0, [0])
    settleAll(intake)
    await eventually(async () => refuse !== undefined)
    consumer.onCommit = async () => {}
    consumer.join({ t: [0] })
    refuse?.()
    await consumer.fetch('t/0', 0, [0])
    settleAll(intake)
    await eventually(async () => consumer.commits.length > 0)
    expect(consumer.commits).toEqual(['t/0@1'])
  })

  it('goes out when the one before it is answered', async () => {
    const { consumer, intake } = await joinedSource(0)
    const answers: (() => void)[] = []
    consumer.onCommit = () => new Promise((resolve) => answers.push(resolve))
    await consumer.fetch('t/0', 0, [0, 1])
    intake.at('0@0').settle()
    await eventually(async () => answers.length > 0)
    intake.at('0@1').settle()
    await new Promise((resolve) => setTimeout(resolve, 40)) // Eight ticks.
    expect(answers).toHaveLength(1)
    answers[0]?.()
    await eventually(async () => answers.length === 2)
    answers[1]?.()
    await intake.untilSettled(2)
    expect(consumer.commits).toEqual(['t/0@1', 't/0@2'])
  })

  it('of an earlier epoch, accepted late, is no reason to commit less in the new one', async () => {
    const { consumer, intake } = await joinedSource(0)
    let answer: (() => void) | undefined
    consumer.onCommit = () => new Promise((resolve) => (answer = resolve))
    await consumer.fetch('t/0', 0, [0, 1, 2])
    settleAll(intake)
    await eventually(async () => answer !== undefined)
    consumer.onCommit = async () => {}
    consumer.join({ t: [0] })
    await consumer.fetch('t/0', 0, [0, 1, 2, 3]) // The group still told 0.
    answer?.()
    await intake.untilSettled(3)
    intake.at('0@0').settle()
    await new Promise((resolve) => setTimeout(resolve, 40)) // Eight ticks.
    expect(consumer.commits).toEqual(['t/0@3'])
    settleAll(intake)
    await eventually(async () => consumer.commits.length > 1)
    expect(consumer.commits).toEqual(['t/0@3', 't/0@4'])
  })

  it('of what is ready goes out before a rebalance, in the same turn', async () => {
    const { consumer, intake } = await joinedSource(0, { commitEveryMs: 60_000 })
    await consumer.fetch('t/0', 0, [0, 1])
    intake.at('0@0').settle()
    consumer.emit('rebalancing')
    expect(intake.at('0@1').standing()).toBe('stale')
    expect(intake.at('0@1').settle()).toBe(false)
    await turn()
    expect(consumer.commits).toEqual(['t/0@1'])
  })
})
