import { describe } from '@jest/globals'
import { backends } from '../../test/kit/backends.ts'
import { describeCombination } from './combination.ts'
import { rabbitStage } from './stages/rabbit.ts'
import { MEMORY, POSTGRES_INBOX, REDIS_BY_IOREDIS } from './stores.ts'

const describeRabbit = backends.has('rabbitmq') ? describe : describe.skip

describeRabbit('hostile inputs, brought by RabbitMQ', () => {
  for (const store of [MEMORY, POSTGRES_INBOX, REDIS_BY_IOREDIS].filter(({ backend }) => backends.has(backend))) {
    describeCombination({ store, carrier: 'rabbitmq', openStage: rabbitStage })
  }
})
