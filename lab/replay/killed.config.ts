// The config of test/cli/replay.config.ts in a tool that kills itself at the step that TEST_KILL names.
import { open } from 'node:fs/promises'
import { defineConfig, type ConsumeOnceConfig, type Subscription } from '../../src/index.ts'
import { definitionOf } from '../../src/consumer/define-consumer.ts'
import type { ReplayItem, ReplayPlaces } from '../../src/internal.ts'
import { replayed, type ReplaySettings } from '../../test/replay/settings.ts'

export type Step = 'journal' | 'ledger' | 'forget' | 'reopen' | 'publish' | 'settle' | 'time'

export interface Kill {
  readonly step: Step
  readonly when: 'before' | 'after'
  /** At the how manieth call; of `time` the milliseconds after the first call of the ledger. */
  readonly nth: number
}

const kill = JSON.parse(process.env['TEST_KILL'] ?? '{}') as Partial<Kill>
let calls = 0

function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

async function at<T>(step: Step, call: () => Promise<T>): Promise<T> {
  if (step === 'ledger' && kill.step === 'time' && ++calls === 1) setTimeout(die, kill.nth)
  const isMeant = step === kill.step && ++calls === kill.nth
  if (isMeant && kill.when === 'before') die()
  const result = await call()
  if (isMeant) die()
  return result
}

/** Puts the step around methods of an object, in place. */
function watched(target: object | undefined, step: Step, ...names: readonly string[]): void {
  const methods = target as Record<string, ((...given: unknown[]) => Promise<unknown>) | undefined>
  for (const name of names) {
    const method = methods[name]
    if (method === undefined) throw new TypeError(`expected a method ${name}`)
    methods[name] = function (this: unknown, ...given) {
      return at(step, () => method.apply(this, given))
    }
  }
}

async function* settling(batches: AsyncIterable<readonly ReplayItem[]>): AsyncIterable<readonly ReplayItem[]> {
  for await (const batch of batches) {
    for (const item of batch) if (item.settle !== undefined) watched(item, 'settle', 'settle')
    yield batch
  }
}

function watchedPlaces(places: ReplayPlaces): ReplayPlaces {
  return {
    ...places,
    open: async (place) => {
      const reader = await places.open(place)
      const read = reader.read.bind(reader)
      return Object.assign(reader, { read: (...given: Parameters<typeof read>) => settling(read(...given)) })
    },
    publisher: async () => {
      const publisher = await places.publisher()
      watched(publisher, 'publish', 'publish')
      return publisher
    },
  }
}

/** The tool opens its journal itself. */
async function watchJournal(): Promise<void> {
  await using file = await open('/dev/null')
  watched(Object.getPrototypeOf(file) as object, 'journal', 'datasync')
}

const { consumer, subscription, ...opened } = replayed(JSON.parse(process.env['TEST_REPLAY'] ?? '') as ReplaySettings)
const { admin } = definitionOf(consumer).store
watched(admin?.replays, 'ledger', 'take', 'save')
watched(admin, 'forget', 'forget')
watched(admin, 'reopen', 'reopen')
void watchJournal()

const { replay } = subscription
const both: Subscription = { ...subscription, ...(replay === undefined ? {} : { replay: watchedPlaces(replay) }) }
const config: ConsumeOnceConfig = defineConfig({
  consumers: [{ consumer, subscription: both }],
  close: () => opened.close(),
})
export default config
