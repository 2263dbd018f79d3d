import { beforeAll, describe, expect, it } from '@jest/globals'
import { runConsumer, type Consumer } from '../../src/internal.ts'
import { deadLetterTopic, LogSource } from '../../examples/source.ts'
import { Log } from '../../examples/support/log.ts'
import { assertSourceLaw, describeSourceContract } from '../../testing/contract/source/contract.ts'
import type { SourceHarness } from '../../testing/contract/source/harness.ts'
import { sourceLaws } from '../../testing/contract/source/laws.ts'
import { WRONG_SOURCES, type SourceClass } from './wrong-sources.ts'

const PLACE = { topic: 'topic', group: 'group' }
/** A law gives up after 45 s, all of them at once. */
const WITHIN_MS = 180_000

async function harnessOf(Class: SourceClass): Promise<SourceHarness> {
  const log = new Log()
  const sources: LogSource[] = []
  const run = (consumer: Consumer): ReturnType<typeof runConsumer> => {
    const source = new Class(log, PLACE)
    sources.push(source)
    return runConsumer(consumer, { source, publisher: source })
  }
  return {
    publish: async (texts) => {
      for (const text of texts) {
        const key = text.includes('/') ? text.slice(0, text.indexOf('/')) : null
        await log.append(PLACE.topic, { key, value: Buffer.from(text), headers: { 'message-id': text } })
      }
    },
    run,
    interrupt: async () => {
      log.happens.rebalance(PLACE.topic, PLACE.group)
      return 'stale'
    },
    takeAway: async (_running, consumer) => void (await run(consumer)),
    disconnect: async () => log.happens.disconnect(),
    refuseCopies: async () => {
      log.happens.refuse(deadLetterTopic(PLACE.topic))
      return async () => log.happens.accept(deadLetterTopic(PLACE.topic))
    },
    isSettled: async () => String(log.committed(PLACE.topic, PLACE.group)) === String(await log.ends(PLACE.topic)),
    deadLetters: async () => {
      const found = await Promise.all([0, 1].map((at) => log.fetch(deadLetterTopic(PLACE.topic), at, 0)))
      return found.flat().map(({ key, value, headers }) => ({
        text: String(value),
        reason: String(headers['consume-once-reason']),
        id: headers['message-id'] as string | undefined,
        key: key ?? undefined,
      }))
    },
    // Not by its own way, which may be wrong.
    [Symbol.asyncDispose]: async () => {
      await Promise.all(sources.map((source) => LogSource.prototype.close.call(source)))
    },
  }
}

describeSourceContract('the source of the wrong ones', { createHarness: () => harnessOf(LogSource) }, { describe, it })

describe('the contract of a source', () => {
  const wrong = Object.entries(WRONG_SOURCES)
  const judged = new Map<string, unknown>()

  beforeAll(async () => {
    await Promise.all(
      wrong.map(async ([flaw, [part, Class]]) => {
        const [law, another] = sourceLaws.filter(({ name }) => name.startsWith(part))
        if (law === undefined || another !== undefined) throw new Error(`${flaw}: not the name of one law: ${part}`)
        const error: unknown = await assertSourceLaw(law, () => harnessOf(Class)).then(
          () => 'kept',
          (broken: unknown) => broken,
        )
        judged.set(flaw, error)
      }),
    )
  }, WITHIN_MS)

  it.each(wrong)('is broken by a source that %s, at the law on that', (flaw) => {
    expect(judged.get(flaw)).toMatchObject({ message: expect.stringMatching(/^expected .+, got .+|^not so.*: ./) })
  })

  it('has no law that all wrong sources keep', () => {
    const meant = wrong.map(([, [part]]) => part)
    const others = sourceLaws.filter(({ name }) => !meant.some((part) => name.startsWith(part)))
    expect(others.map(({ name }) => name)).toEqual([])
  })
})
