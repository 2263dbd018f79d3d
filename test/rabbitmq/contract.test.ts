import { describe, it } from '@jest/globals'
import { describeSourceContract } from '../../testing/contract/source/contract.ts'
import { NO_KEYS, rabbitHarness } from './harness.ts'

describeSourceContract(
  'amqplib',
  { createHarness: () => rabbitHarness((url) => url), lacks: { keys: NO_KEYS } },
  { describe, it },
)
