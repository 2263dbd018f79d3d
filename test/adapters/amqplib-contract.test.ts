import { describeSourceContract } from '../contract/source-contract.ts'
import { rabbitHarness } from './amqplib-harness.ts'

describeSourceContract('amqplib', () => rabbitHarness((url) => url))
