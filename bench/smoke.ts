// The only benchmark so far: the library alone, on the memory store, next to a bare loop over the same messages.
// Ratios within one run mean something; figures of one machine do not.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { defineConsumer, MemoryBroker, memoryStore, messageId, runMemory } from 'consume-once'

const MESSAGES = 50_000
const REPETITIONS = 5

async function withLibrary(): Promise<number> {
  const broker = new MemoryBroker()
  for (let n = 0; n < MESSAGES; n++)
    broker.publish('t', { value: Buffer.alloc(200), headers: { 'message-id': `m-${n}` } })
  let handled = 0
  const consumer = defineConsumer({
    name: 'bench',
    id: messageId.header('message-id'),
    decode: (bytes) => bytes,
    store: memoryStore(),
    handle: async () => void handled++,
  })
  const startedAt = performance.now()
  const running = await runMemory(broker, consumer, { topic: 't', group: 'g' })
  await broker.drained('t', 'g')
  const tookMs = performance.now() - startedAt
  await running.stop()
  if (handled !== MESSAGES) throw new Error(`handled ${handled} of ${MESSAGES}: a fast wrong result is a failure`)
  return MESSAGES / (tookMs / 1000)
}

/** What a user would write without any store: an async handler, a Set of IDs, 64 at a time. */
async function bare(): Promise<number> {
  const ids = Array.from({ length: MESSAGES }, (_, n) => `m-${n}`)
  const seen = new Set<string>()
  let handled = 0
  const handle = async (): Promise<void> => void handled++
  const startedAt = performance.now()
  for (let at = 0; at < ids.length; at += 64) {
    await Promise.all(ids.slice(at, at + 64).map((id) => (seen.has(id) ? Promise.resolve() : (seen.add(id), handle()))))
    await nextTurn()
  }
  return handled / ((performance.now() - startedAt) / 1000)
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
const rates: { ours: number; bare: number }[] = []
for (let repetition = 0; repetition < REPETITIONS; repetition++)
  rates.push({ ours: await withLibrary(), bare: await bare() })
const [ours, floor] = [median(rates.map((r) => r.ours)), median(rates.map((r) => r.bare))]
const each = (rate: number): string =>
  `${Math.round(rate).toLocaleString('en-US')}/s, ${(1e6 / rate).toFixed(1)} us each`
console.log(
  `memory store, no-op handler, medians of ${REPETITIONS}: library ${each(ours)}; bare loop ${each(floor)}; ratio ${(ours / floor).toFixed(3)}`,
)
