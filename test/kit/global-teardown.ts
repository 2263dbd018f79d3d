import { notedVersions } from './servers/rabbitmq/noted.ts'
import { closeRun } from './servers/test-run.ts'

/** A run says on which RabbitMQ it was: not on the output, which may be JSON. */
export default async function globalTeardown(): Promise<void> {
  const versions = notedVersions()
  if (versions !== '') console.error(`RabbitMQ of this run: ${versions}`)
  await closeRun()
}
