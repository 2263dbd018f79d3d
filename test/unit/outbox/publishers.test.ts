import { describe, expect, it } from '@jest/globals'
import { Kafka } from 'kafkajs'
import { createPool } from 'mysql2/promise'
import { Pool } from 'pg'
import { confirmedPublisher as toRabbit } from '../../../adapters/amqplib/index.ts'
import { confirmedPublisher as toKafka } from '../../../adapters/kafkajs/index.ts'
import { mysqlOutbox } from '../../../adapters/mysql2/index.ts'
import { postgresOutbox } from '../../../adapters/pg/index.ts'
import { ConfigError } from '../../../src/index.ts'

describe('the publishers of an outbox', () => {
  it('are refused for the broker of another one, before anything is written', () => {
    // Nothing connects before its first use.
    const [kafka, rabbitmq] = [toKafka(new Kafka({ brokers: ['127.0.0.1:1'] })), toRabbit('amqp://127.0.0.1:1')]
    const [pool, mysqlPool] = [new Pool(), createPool({})]
    const swapped = { kafka: rabbitmq, rabbitmq: kafka }
    for (const make of [
      () => postgresOutbox({ pool, publishers: swapped }),
      () => mysqlOutbox({ pool: mysqlPool, publishers: swapped }),
    ]) {
      expect(make).toThrow(ConfigError)
      expect(make).toThrow(
        /publishers: kafka: expected a confirmedPublisher of consume-once\/kafkajs or consume-once\/platformatic-kafka, got one for rabbitmq: give it as rabbitmq/,
      )
      expect(make).toThrow(
        /publishers: rabbitmq: expected a confirmedPublisher of consume-once\/amqplib, got one for kafka/,
      )
    }
    expect(() => postgresOutbox({ pool, publishers: { kafka, rabbitmq } })).not.toThrow()
    expect(() => postgresOutbox({ pool, publishers: { kafka: { publish: async () => {} } } })).not.toThrow()
  })
})
