import { describe, expect, it } from '@jest/globals'
import { bullmqProcessor } from '../../../adapters/bullmq/index.ts'
import { resolveKafka } from '../../../adapters/kafka/options/resolve.ts'
import { amazonMqHandler, mskHandler } from '../../../adapters/lambda/index.ts'
import { resolveRabbitOptions } from '../../../adapters/amqplib/options/resolve.ts'
import { CONSUMER } from '../../../src/consumer/consumer-table.ts'
import { resolveOptions } from '../../../src/consumer/resolve-options.ts'
import { ConfigError } from '../../../src/foundation/errors.ts'
import { defineConsumer, runInline } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory/store.ts'

const OWN = { name: 'sms-sender', store: memoryStore(), handle: (): void => {} }
const consumer = defineConsumer(OWN)

/** What runs a consumer, with options that it needs. */
const RUNS: Readonly<Record<string, (options: object) => unknown>> = {
  runKafka: (options) => resolveKafka({ topics: ['t'], group: 'g', ...options }),
  runRabbit: (options) => resolveRabbitOptions({ queue: 'q', ...options }),
  runInline: (options) => runInline(consumer, { group: 'g', ...options }),
  bullmqProcessor: (options) => bullmqProcessor(consumer, options),
  mskHandler: (options) => mskHandler(consumer, { group: 'g', ...options }),
  amazonMqHandler: (options) => amazonMqHandler(consumer, { group: 'g', ...options }),
}

function problemsOf(resolve: () => unknown): readonly string[] {
  try {
    resolve()
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

/** Its options, as it lists them. */
function namesOf(run: string): readonly string[] {
  const [problem = ''] = problemsOf(() => RUNS[run]?.({ colour: 1 }))
  return problem.replace(/.*expected one of /, '').split(', ')
}

describe('an option in the wrong place', () => {
  it.each(Object.keys(RUNS))('of the consumer is sent there by %s, whichever it is', (run) => {
    const own = new Set(namesOf(run))
    const names = Object.keys(CONSUMER).filter((name) => !own.has(name))
    expect(names.length).toBeGreaterThan(30)
    expect(problemsOf(() => RUNS[run]?.(Object.fromEntries(names.map((name) => [name, 1]))))).toEqual(
      names.map((name) => `${run}: ${name}: give it to defineConsumer()`),
    )
  })

  it.each(['runKafka', 'runRabbit'])('of %s is sent there by defineConsumer, whichever it is', (run) => {
    const names = namesOf(run).filter((name) => !Object.hasOwn(CONSUMER, name))
    expect(names.length).toBeGreaterThan(8)
    expect(problemsOf(() => resolveOptions({ ...OWN, ...Object.fromEntries(names.map((name) => [name, 1])) }))).toEqual(
      names.map((name) => expect.stringMatching(`: ${name}: give it to what runs the consumer: runKafka\\(\\)`)),
    )
  })

  it('of the consumer is sent there from inside of retry and of consumerConfig', () => {
    const whenBusy = { waitMs: 60_000 }
    expect(problemsOf(() => RUNS['runRabbit']?.({ retry: { delayQueues: [1], whenBusy } }))).toEqual([
      'runRabbit: retry.whenBusy: give it to defineConsumer()',
    ])
    expect(problemsOf(() => RUNS['runKafka']?.({ consumerConfig: { whenBusy } }))).toEqual([
      'runKafka: consumerConfig.whenBusy: give it to defineConsumer()',
    ])
  })
})
