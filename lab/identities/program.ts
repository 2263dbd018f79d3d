// Handles messages with two identities in a process of its own, which kills itself in a handler if it is told to.
import { writeSync } from 'node:fs'
import { defineConsumer, messageId, runInline, type Message } from '../../src/index.ts'
import type { WorkerContext } from '../kit/worker/module.ts'
import { die, haveEffect, type EffectsPlace } from '../kit/worker/effect.ts'
import { storeOf } from '../kit/worker/stores.ts'

export interface CrossingSpec extends EffectsPlace {
  readonly group: string
  readonly messages: readonly CrossingMessage[]
  /** The effect before which the process is killed. */
  readonly dieBefore?: string
  readonly onInDoubt?: 'park'
}

/** Headers. Two messages of one effect share one of the two identities. */
export interface CrossingMessage {
  readonly id: string
  readonly order: string
  readonly effect: string
}

const spec = JSON.parse(process.argv[2] ?? '') as CrossingSpec

async function handle({ message, tx }: WorkerContext<unknown>): Promise<void> {
  const effect = String(message.headers['effect'])
  if (effect === spec.dieBefore) await die()
  await haveEffect(spec, effect, tx)
}

function messageOf({ id, order, effect }: CrossingMessage): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  return { system: 'memory', ...place, key: null, value: Buffer.from('{}'), headers: { id, order, effect } }
}

async function main(): Promise<void> {
  const consumer = defineConsumer({
    name: 'consumer',
    id: [messageId.header('id'), messageId.header('order')],
    store: await storeOf(spec.store, 'crossing'),
    leaseMs: 3_000,
    handle,
    ...(spec.onInDoubt && ({ onInDoubt: spec.onInDoubt } as object)),
  })
  const running = runInline(consumer, { group: spec.group })
  const settled = await Promise.all(spec.messages.map((message) => running.handle(messageOf(message))))
  writeSync(1, JSON.stringify(settled.map(({ settle }) => settle)))
  process.exit(0)
}

void main()
