import { it } from '@jest/globals'
import { clientOfTests, GROUP_PROTOCOL } from './of-tests.ts'

/** With another client there is no such test. */
const left = (() => {}) as unknown as typeof it

/** A test of what only kafkajs does. */
export const itOnKafkajs: typeof it = clientOfTests === 'kafkajs' ? it : left

/** A test of what only the classic protocol does. */
export const itOnClassic: typeof it = GROUP_PROTOCOL === 'classic' ? it : left

/**
 * How often a member was told its partitions: by the classic protocol it joins again, by that of KIP-848 they change. `told`
 * is of an intake or of `Watching`.
 */
export function joinsOf(one: { told(name: string): number | readonly string[] }): number {
  return count(one.told('group-joined')) + count(one.told('group-changed'))
}

function count(told: number | readonly string[]): number {
  return typeof told === 'number' ? told : told.length
}
