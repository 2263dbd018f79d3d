// The config of the person on call: the consumer that is deployed.
import { kafkaSubscription } from '../../adapters/kafkajs/index.ts'
import { defineConfig, type ConsumeOnceConfig } from '../../src/index.ts'
import { consumerOf, deployed, kafkaOf, optionsOf } from './consumer.ts'

const settings = deployed()
const { consumer, pool } = consumerOf(settings)
const subscription = kafkaSubscription(kafkaOf(settings), optionsOf(settings))

const config: ConsumeOnceConfig = defineConfig({ consumers: [{ consumer, subscription }], close: () => pool.end() })
export default config
