import { execFileSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import type { UserFunctions } from './kit/user-functions.ts'

/**
 * What each function of a user may return. `awaited`: a promise is waited for. `refused`: a promise is refused with a
 * sentence that names the function, by `atOnce` or `promiseRefused`. `told`: nobody waits, and a rejection is handled.
 */
const FUNCTIONS: Readonly<Record<string, 'awaited' | 'refused' | 'told'>> = {
  'ConsumerSettings.handle': 'awaited',
  'ConsumerSettings.handleBatch': 'awaited',
  'ConsumerSettings.decode': 'awaited',
  'StandardSchema.~standard.validate': 'awaited',
  'ConsumerSettings.onInDoubt': 'awaited',
  'ConsumerSettings.id': 'refused',
  'ConsumerSettings.id.id': 'refused',
  'messageId.window().id': 'refused',
  'SignedIdOptions.id': 'refused',
  'SignedIdOptions.signature': 'refused',
  'SourceSequenceOptions.source': 'refused',
  'SourceSequenceOptions.sequence': 'refused',
  'FingerprintOptions.scope': 'refused',
  'LimitOptions.by': 'refused',
  'ConsumerSettings.rememberFailure': 'refused',
  'SealResult.seal': 'refused',
  'SealResult.open': 'refused',
  'ConsumerSettings.observe': 'told',
  'Logger.debug': 'told',
  'Logger.info': 'told',
  'Logger.warn': 'told',
  'Logger.error': 'told',
  'Logger.isLevelEnabled': 'told',
  'once().fn': 'awaited',
  'OnceOptions.onInDoubt': 'awaited',
  'OnceOptions.rememberFailure': 'refused',
  'withLock().fn': 'awaited',
  'Idempotency.fetch().handler': 'awaited',
  'IdempotencyOptions.caller': 'awaited',
  'IdempotencyOptions.fingerprint': 'awaited',
  'IdempotencyOptions.remember': 'awaited',
  'MysqlOutboxOptions.observe': 'told',
  'Outbox.watch().listener': 'told',
  'SqlOutbox.watch().listener': 'told',
  'PostgresOutboxOptions.observe': 'told',
  'RabbitOptions.lane': 'refused',
  'OnMessageOptions.lane': 'refused',
  'KafkaDeadLetter.topic': 'refused',
  'KafkaRetryTopic.topic': 'refused',
  'confirmedPublisher().connect': 'awaited',
  'rabbitSubscription().connect': 'awaited',
  'runRabbit().connect': 'awaited',
  'ConsumeOnceConfig.close': 'awaited',
  'ConsumeOnceFastifyOptions.start': 'refused',
  'ConsumeOnceModuleOptions.start': 'refused',
  'ConsumeOnceModuleOptions.take': 'refused',
  'DashboardOptions.auth': 'awaited',
  'DashboardOptions.redact': 'refused',
  'ServeDashboardOptions.auth': 'awaited',
  'ServeDashboardOptions.redact': 'refused',
}

describe('a function that a user hands in', () => {
  it('may return a promise that is awaited, or is refused: each is in the list above, and a new one fails here', () => {
    const output = execFileSync('npx', ['tsx', 'test/package/kit/user-functions.ts'], { encoding: 'utf8' })
    const found = JSON.parse(output) as UserFunctions
    expect(found).toEqual(Object.keys(FUNCTIONS).toSorted())
  }, 300_000)
})
