import { Watching } from '../../test/kit/recording-intake.ts'
import { afterEach, describe, expect, it } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { runRabbit } from '../../adapters/amqplib/index.ts'
import { TerminalError, defineConsumer, messageId, type Message, type Running } from '../../src/index.ts'
import { memoryStore } from '../../src/memory/index.ts'
import { backends } from '../../test/kit/backends.ts'
import { startPrivateRabbit } from '../../test/kit/servers/private-rabbit.ts'
import { Rabbit } from '../../test/rabbitmq/rabbit.ts'
import { Gate, bodies } from '../../test/rabbitmq/watching.ts'

const isWanted = backends.has('rabbitmq')
const started: Running[] = []
let broker: Awaited<ReturnType<typeof startPrivateRabbit>>
let rabbit: Rabbit

beforeAllOpen(async (own) => {
  if (!isWanted) return
  broker = own(await startPrivateRabbit())
  rabbit = own(await Rabbit.open(broker.url))
})
afterEach(() => Promise.all(started.splice(0).map((running) => running.stop({ deadlineMs: 100 }))))

const alarm = (): Promise<void> => broker.control('set_vm_memory_high_watermark', 'absolute', '1MB')
const allClear = (): Promise<void> => broker.control('set_vm_memory_high_watermark', 'absolute', '1GB')

const [GOOD, BAD, EARLY] = [bodies(100, 'good'), bodies(10, 'bad'), 'early']

interface Started {
  readonly queue: string
  readonly running: Running
  readonly watching: Watching
}

/** A consumer whose handlers wait. Bad messages are dead-lettered afterwards, `early` at once. */
async function start(mayGoOn: Gate): Promise<Started> {
  const [queue, watching] = [rabbit.name(), new Watching()]
  const consumer = defineConsumer<string>({
    name: 'alarm',
    id: messageId.property(),
    decode: (value) => Buffer.from(value ?? []).toString(),
    store: memoryStore(),
    observe: watching.observe,
    handle: async ({ payload }) => {
      if (payload === EARLY) throw new TerminalError(payload)
      await mayGoOn.opened
      if (BAD.includes(payload)) throw new TerminalError(payload)
    },
  })
  const running = await runRabbit(broker.url, consumer, { queue })
  started.push(running)
  return { queue, running, watching }
}

async function deadLettersOf({ queue }: Started): Promise<Set<string>> {
  return new Set((await rabbit.takeLeft(`${queue}.dead-letter`)).map(({ body }) => body))
}

describe('a broker that runs out of memory', () => {
  it('blocks only dead letters: they are reported, tried again, and all arrive once the broker has memory', async () => {
    const mayGoOn = new Gate()
    // One has published before, the other opens its connection for that meanwhile.
    const both = [await start(mayGoOn), await start(mayGoOn)]
    const [used] = both
    await rabbit.send(used?.queue ?? '', [EARLY])
    await used?.watching.untilOutcomes('dead-lettered', 1)
    for (const { queue } of both) await rabbit.send(queue, [...BAD, ...GOOD])
    await alarm()
    try {
      mayGoOn.open()
      await Promise.all(
        both.map(async (each) => {
          const { watching, running } = each
          await watching.untilOutcomes('handled', GOOD.length)
          await watching.until(() => failures(watching).some((why) => why.includes('blocks publishers')))
          expect(watching.outcomes()).toEqual({ handled: GOOD.length, ...(each === used && { 'dead-lettered': 1 }) })
          expect(running.health()).toMatchObject({ live: true, ready: true })
        }),
      )
    } finally {
      await allClear()
    }
    for (const { watching, running, queue } of both) {
      await watching.until(() => deadLettered(watching) >= BAD.length)
      await running.stop()
      expect(await rabbit.takeLeft(queue)).toEqual([])
    }
    // Copies in flight when the broker blocked arrive in the end, in addition to the copies published instead.
    expect(await Promise.all(both.map(deadLettersOf))).toEqual([new Set([EARLY, ...BAD]), new Set(BAD)])
  }, 90_000)
})

const isBad = ({ value }: Message): boolean => BAD.includes(Buffer.from(value ?? []).toString())

/** Bad ones that are dead-lettered. */
function deadLettered({ events }: Watching): number {
  return events.filter(
    (event) => event.type === 'delivery' && event.outcome === 'dead-lettered' && isBad(event.message),
  ).length
}

function failures({ events }: Watching): string[] {
  return events.flatMap((event) => (event.type === 'publish-failed' ? [String(event.error)] : []))
}
