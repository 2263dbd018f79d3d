/**
 * Events as Lambda sends them, with every field that it sends, so that a test fails where the types or the code expect
 * another shape. The fields, and which of them are null, are those of
 * - MSK: https://docs.aws.amazon.com/lambda/latest/dg/with-msk.html (section "Example event"),
 * - self-managed Kafka: https://docs.aws.amazon.com/lambda/latest/dg/with-kafka.html,
 * - Amazon MQ: https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html, and the class RabbitMQEvent of
 *   https://github.com/aws/aws-lambda-java-libs. A message that was published without properties has null in their place.
 * Header values are bytes as Java has them, from -128 to 127.
 */
import type { KafkaEvent, KafkaRecord, RabbitEvent, RabbitRecord } from 'consume-once/lambda'

/** An event, and where Lambda has it from. */
type Sent<Event> = Event &
  Readonly<Record<'eventSource', string>> &
  Partial<Record<'eventSourceArn' | 'bootstrapServers', string>>

const BOOTSTRAP_SERVERS =
  'b-2.sms.a1bcde.c1.kafka.us-east-1.amazonaws.com:9092,b-1.sms.a1bcde.c1.kafka.us-east-1.amazonaws.com:9092'

export const signedBytes = (text: string): number[] => [...new Int8Array(Buffer.from(text))]
const base64 = (text: string): string => Buffer.from(text).toString('base64')

const kafkaRecord = (partition: number, offset: number, value: string, key: string | null): KafkaRecord => {
  const record = {
    topic: 'sms',
    partition,
    offset,
    timestamp: 1_545_084_650_987,
    timestampType: 'CREATE_TIME',
    key: key === null ? null : base64(key),
    value: base64(JSON.stringify(value)),
    headers: [{ id: signedBytes(`${partition}/${offset}`) }, { name: signedBytes('Zoë') }],
  }
  return record
}

/** Two partitions of one topic. */
export const MSK_EVENT: Sent<KafkaEvent> = {
  eventSource: 'aws:kafka',
  eventSourceArn: 'arn:aws:kafka:us-east-1:123456789012:cluster/sms/751d2973-a626-431c-9d4e-d7975eb44dd7-2',
  bootstrapServers: BOOTSTRAP_SERVERS,
  records: {
    'sms-0': [kafkaRecord(0, 15, 'one', 'recordKey'), kafkaRecord(0, 16, 'two', null)],
    'sms-1': [kafkaRecord(1, 7, 'three', null)],
  },
}

/** The same without the cluster's ARN. */
export const SELF_MANAGED_EVENT: Sent<KafkaEvent> = {
  eventSource: 'SelfManagedKafka',
  bootstrapServers: BOOTSTRAP_SERVERS,
  records: MSK_EVENT.records,
}

const WITHOUT_PROPERTIES = {
  contentType: null,
  contentEncoding: null,
  headers: null,
  deliveryMode: 2,
  priority: null,
  correlationId: null,
  replyTo: null,
  expiration: null,
  messageId: null,
  timestamp: null,
  type: null,
  userId: null,
  appId: null,
  clusterId: null,
  bodySize: 5,
}

function rabbitRecord(properties: Readonly<Record<string, unknown>>, text: string, redelivered: boolean): RabbitRecord {
  const basicProperties = { ...WITHOUT_PROPERTIES, ...properties }
  return { basicProperties, redelivered, data: base64(text) }
}

const ARN = 'arn:aws:mq:us-west-2:123456789012:broker:sms:b-9bcfa592-423a-4942-879d-eb284b418fc8'

/** One message with properties and headers. */
export const MQ_EVENT: Sent<RabbitEvent> = {
  eventSource: 'aws:rmq',
  eventSourceArn: ARN,
  rmqMessagesByQueue: {
    'sms::/': [
      rabbitRecord(
        {
          contentType: 'text/plain',
          headers: { id: { bytes: signedBytes('m-1') }, name: { bytes: signedBytes('Zoë') }, count: 3 },
          deliveryMode: 1,
          priority: 34,
          expiration: '60000',
          messageId: 'x-1',
          timestamp: 'Jan 1, 1970, 12:33:41 AM',
          userId: 'AIDACKCEVSQ6C2EXAMPLE',
        },
        '"one"',
        false,
      ),
    ],
  },
}

/** A message without headers and without an ID. */
export const MQ_EVENT_WITHOUT_PROPERTIES: Sent<RabbitEvent> = {
  eventSource: 'aws:rmq',
  eventSourceArn: ARN,
  rmqMessagesByQueue: {
    'sms::/': [rabbitRecord({}, '"two"', true)],
  },
}
