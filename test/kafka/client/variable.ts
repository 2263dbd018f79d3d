/** Which client the tests of a Kafka source run with: see of-tests.ts. */
export const VARIABLE = 'CONSUME_ONCE_TEST_KAFKA_CLIENT'
