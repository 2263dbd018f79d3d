// tsx test/support/servers/rabbitmq/have.ts 4.3
//
// Fetches that version of RabbitMQ where it is not there yet. Says why not, and fails, where it cannot be had.

import { needRabbit } from '../programs.ts'
import { RABBITMQ_VERSIONS, isRabbitVersion } from './version.ts'

async function have(version = ''): Promise<void> {
  if (!isRabbitVersion(version)) throw new Error(`expected one of ${RABBITMQ_VERSIONS.join(', ')}, got ${version}`)
  await needRabbit(version)
}

have(process.argv[2]).catch((error: unknown) => {
  console.error((error as Error).message)
  process.exitCode = 1
})
