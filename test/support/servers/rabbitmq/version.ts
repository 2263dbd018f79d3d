/** Names the version of RabbitMQ that the tests are to run on, instead of whatever is there. */
export const RABBITMQ_VERSION_VARIABLE = 'CONSUME_ONCE_TEST_RABBITMQ_VERSION'

/** Each behaves in its own way (amqplib-delivery-counts.test.ts), and each is in some suite of Debian. */
export const RABBITMQ_VERSIONS = ['3.10', '4.0', '4.3'] as const

export type RabbitVersion = (typeof RABBITMQ_VERSIONS)[number]

/** The version that the environment asks for, `undefined` if any will do. @throws TypeError for one that cannot be started */
export function askedRabbitVersion(): RabbitVersion | undefined {
  const asked = process.env[RABBITMQ_VERSION_VARIABLE]?.trim() ?? ''
  if (asked === '') return undefined
  if (!isRabbitVersion(asked)) {
    throw new TypeError(`${RABBITMQ_VERSION_VARIABLE}: expected one of ${RABBITMQ_VERSIONS.join(', ')}, got ${asked}`)
  }
  return asked
}

export function isRabbitVersion(text: string): text is RabbitVersion {
  return (RABBITMQ_VERSIONS as readonly string[]).includes(text)
}
