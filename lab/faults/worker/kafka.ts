import { connect } from 'node:net'
import { Kafka, logLevel } from 'kafkajs'
import { SESSION_MS, type KafkaPlace } from './settings.ts'

/** A member that is missed soon. */
export const IN_GROUP: Readonly<
  Record<'sessionTimeout' | 'rebalanceTimeout' | 'heartbeatInterval' | 'maxWaitTimeInMs', number>
> = {
  sessionTimeout: SESSION_MS,
  rebalanceTimeout: SESSION_MS,
  heartbeatInterval: 200,
  maxWaitTimeInMs: 100,
}

/** Reaches the broker through its link, however the broker calls itself. */
export function kafkaOf({ broker, port }: KafkaPlace): Kafka {
  return new Kafka({
    brokers: [broker],
    logLevel: logLevel.NOTHING,
    requestTimeout: 2_000,
    retry: { initialRetryTime: 50, maxRetryTime: 500 },
    socketFactory: ({ onConnect }) => connect(port, '127.0.0.1', onConnect),
  })
}
