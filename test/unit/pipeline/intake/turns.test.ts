import { describe, expect, it } from '@jest/globals'
import { defineConsumer, messageId, runInline, type InlineRunning, type Message } from '../../../../src/index.ts'
import { memoryStore } from '../../../../src/memory/index.ts'
import { ManualClock } from '../../../kit/manual-clock.ts'
import { gate } from '../../../kit/rig.ts'
import { scriptedStore } from '../../../kit/scripted-store.ts'

/** Counts the turns of the event loop that the library asks for. */
class CountingClock extends ManualClock {
  turns = 0

  override nextTurn(fn: () => void): void {
    this.turns++
    super.nextTurn(fn)
  }
}

const message = (id: string): Message => ({
  system: 'memory',
  destination: 't',
  origin: 't',
  position: id,
  key: null,
  value: Buffer.from(JSON.stringify(id)),
  headers: { id },
})

interface Bench {
  readonly inline: InlineRunning
  readonly clock: CountingClock
  readonly marks: () => number
}

async function bench(handle: (id: string) => unknown): Promise<Bench> {
  const clock = new CountingClock()
  const store = scriptedStore(memoryStore({ clock }))
  const inline = runInline(
    defineConsumer({
      name: 'turns',
      id: messageId.header('id'),
      store,
      handle: (context) => handle(String(context.message.headers['id'])),
    }),
    { group: 'g', clock },
  )
  await inline.open()
  return { inline, clock, marks: () => store.seen.filter(({ call }) => call === 'mark').length }
}

describe('turns of the event loop', () => {
  it('are one for a message that comes alone: to gather what else comes, and no other to gather marks', async () => {
    const { inline, clock } = await bench(() => {})
    for (let id = 1; id <= 10; id++) {
      expect(await inline.handle(message(`${id}`))).toMatchObject({ outcome: 'handled' })
      expect(clock.turns).toBe(id)
    }
    await inline.stop()
  })

  it('gather the marks of handlers that end together', async () => {
    const { inline, marks } = await bench(async () => {})
    await Promise.all(Array.from({ length: 30 }, (_, id) => inline.handle(message(`${id}`))))
    expect(marks()).toBe(1)
    await inline.stop()
  })

  it('let a mark not wait for a handler that goes on', async () => {
    const slow = gate()
    const { inline, marks } = await bench((id) => (id === 'slow' ? slow.opened : undefined))
    const going = inline.handle(message('slow'))
    await expect(inline.handle(message('quick'))).resolves.toMatchObject({ outcome: 'handled' })
    expect(marks()).toBe(1)
    slow.open()
    await going
    await inline.stop()
  })
})
