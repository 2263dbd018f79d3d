import { closeRun } from './servers/test-run.ts'

export default async function globalTeardown(): Promise<void> {
  await closeRun()
}
