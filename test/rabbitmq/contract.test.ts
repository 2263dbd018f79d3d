import { describe, it } from '@jest/globals'
import { describeSourceContract } from '../../testing/contract/source/contract.ts'
import { rabbitHarness } from './harness.ts'

describeSourceContract('amqplib', () => rabbitHarness((url) => url), { describe, it })
