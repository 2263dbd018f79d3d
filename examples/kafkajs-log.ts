// The log of kafkajs itself, as lines of pino: levels and fields stay, and its retries are no errors.
import assert from 'node:assert/strict'
import { Kafka, logLevel, type logCreator } from 'kafkajs'
import { pino, type Logger } from 'pino'
import { kafkaBrokers } from './support/servers.ts'
// #region readme
const LEVELS = {
  [logLevel.NOTHING]: 'silent',
  [logLevel.ERROR]: 'error',
  [logLevel.WARN]: 'warn',
  [logLevel.INFO]: 'info',
  [logLevel.DEBUG]: 'debug',
} as const

/** kafkajs repeats what fails, so its errors are warnings; what it cannot mend, the consumer tells. */
function kafkaLog(logger: Logger): logCreator {
  const log = logger.child({ component: 'kafkajs' })
  return () =>
    ({ namespace, level, log: { message, timestamp: _timestamp, logger: _logger, ...fields } }) =>
      log[LEVELS[level] === 'error' ? 'warn' : LEVELS[level]]({ namespace, ...fields }, message)
}
// #endregion

const lines: string[] = []
const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) })
const kafka = new Kafka({ brokers: kafkaBrokers(), logLevel: logLevel.DEBUG, logCreator: kafkaLog(logger) })
const admin = kafka.admin()
await admin.connect()
await admin.disconnect()
const [first] = lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
assert.equal(first?.['component'], 'kafkajs')
assert.equal(typeof first?.['msg'], 'string')
assert.equal(first?.['broker'], kafkaBrokers()[0])
console.log(`${lines.length} lines of kafkajs in pino, such as ${JSON.stringify(first?.['msg'])}`)
