import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'

const PRODUCT = ['src', 'adapters', 'testing', 'cli', 'dashboard']

/**
 * A stop that somebody asked for is no failure: it rejects no promise of who asked for it. So each place that makes a
 * `StoppedError` says who gets it. A new one is allowed if that is not a caller who waits for the start or the stop of a
 * consumer.
 */
const WHO_GETS_IT: Readonly<Record<string, string>> = {
  'src/once/run.ts': 'the function that runs: the reason of its signal, where the signal of the caller has no error',
  'src/pipeline/handling/decoding.ts': 'nobody: the message of a decoder that has not answered goes back to the broker',
  'src/pipeline/pipeline.ts': 'handlers that still run at the deadline: the reason of their signal',
  'src/replay/job.ts': 'who awaits the plan of a `planReplay` that was stopped: there is no plan to give',
  'adapters/amqplib/publishing/confirmed-publisher.ts': 'who publishes after close(): nothing was sent',
  'adapters/amqplib/source.ts': 'run/start.ts, which resolves with `stopped`',
  'adapters/kafka/publishing/confirmed-publisher.ts': 'who publishes after close(): nothing was sent',
  'adapters/kafka/source.ts': 'run/start.ts, which resolves with `stopped`',
  'adapters/kafka/membership/membership.ts': 'the Kafka source, which hands it to run/start.ts',
  'adapters/kafkajs/member.ts': 'the membership, which hands it to run/start.ts',
  'adapters/platformatic-kafka/member.ts': 'the membership, as above',
  'adapters/platformatic-kafka/group/classic.ts': 'the member, which hands it to the membership',
  'adapters/platformatic-kafka/group/incremental.ts': 'the member, as above',
  'adapters/kafkajs/drop-in/call.ts': 'kafkajs, which would commit messages that are not handled otherwise',
  'adapters/lambda/index.ts': 'Lambda, which would take messages that are not handled for handled otherwise',
}

it('every place that makes a StoppedError says who gets it, and that is nobody who asked for a stop', () => {
  const makers = PRODUCT.flatMap((root) =>
    readdirSync(root, { recursive: true }).map((name) => join(root, String(name))),
  )
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
    .filter((file) => readFileSync(file, 'utf8').includes('new StoppedError('))
  expect(makers.toSorted()).toEqual(Object.keys(WHO_GETS_IT).toSorted())
})

it('run and inline take the result of a start from the one place where a stop overtakes it', () => {
  for (const file of ['src/run/run.ts', 'src/run/inline.ts']) {
    const source = readFileSync(file, 'utf8')
    expect(source).toContain('new Start({')
    expect(source).not.toMatch(/StoppedError|Promise\.race\(\[start/)
  }
})
