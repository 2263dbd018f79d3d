import type { Message } from '../../src/ports/message.ts'
import type { Hold, Stage } from './stage.ts'

/** What happens to the messages of a test, beside their first delivery. */
export type Scenario =
  | 'sent again'
  | 'redelivered while it runs'
  | 'moved to another process while it runs'
  | 'crash before the effect'
  | 'crash after the effect'
  | 'out of order'

type Play = (stage: Stage, messages: readonly Message[]) => Promise<void>

/** Each once, without a fault: what all others are compared with. */
export const inPeace: Play = async (stage, messages) => {
  const { running } = stage.start()
  for (const message of messages) stage.publish(message)
  await stage.drained()
  await running.stop()
}

export const SCENARIOS: Readonly<Record<Scenario, Play>> = {
  'sent again': async (stage, messages) => {
    await inPeace(stage, messages)
    await stage.pass()
    await inPeace(stage, messages)
  },

  'redelivered while it runs': async (stage, messages) => {
    const first = holdingFirst('end')
    const { running } = stage.start(first.hold)
    for (const message of messages) stage.publish(message)
    await stage.until(first.isHeld)
    stage.redeliver()
    first.goOn()
    await stage.drained()
    await running.stop()
  },

  'moved to another process while it runs': async (stage, messages) => {
    const first = holdingFirst('end')
    const old = stage.start(first.hold)
    for (const message of messages) stage.publish(message)
    await stage.until(first.isHeld)
    const { running } = stage.start()
    await stage.until(() => running.state === 'running')
    first.goOn()
    await stage.drained()
    await Promise.all([old.running.stop(), running.stop()])
  },

  'crash before the effect': (stage, messages) => crash(stage, messages, 'begin'),

  'crash after the effect': (stage, messages) => crash(stage, messages, 'end'),

  'out of order': (stage, messages) => inPeace(stage, messages.toReversed()),
}

async function crash(stage: Stage, messages: readonly Message[], at: 'begin' | 'end'): Promise<void> {
  const first = holdingFirst(at)
  const killed = stage.start(first.hold)
  for (const message of messages) stage.publish(message)
  await stage.until(first.isHeld)
  killed.die()
  const { running } = stage.start()
  await stage.drained()
  await running.stop()
}

/** Holds the first handler where it is, until it may go on. */
function holdingFirst(where: 'begin' | 'end'): {
  readonly hold: Hold
  readonly isHeld: () => boolean
  readonly goOn: () => void
} {
  let goOn: (() => void) | undefined
  const until = new Promise<void>((resolve) => (goOn = resolve))
  let isHeld = false
  return {
    hold: (at) => {
      if (at !== where || isHeld) return undefined
      isHeld = true
      return until
    },
    isHeld: () => isHeld,
    goOn: () => goOn?.(),
  }
}
