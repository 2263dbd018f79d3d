import { PartitionAssigners, type PartitionAssigner } from 'kafkajs'

/** The usual assigner, except that its n-th assignment fails: kafkajs gives up for good on a TypeError. */
export function failingOn(turn: number): PartitionAssigner {
  let turns = 0
  return (config) => {
    const usual = PartitionAssigners.roundRobin(config)
    return {
      ...usual,
      assign: async (group) => {
        if (++turns === turn) throw new TypeError('an assigner of the user fails')
        return usual.assign(group)
      },
    }
  }
}
