// One consumer, as the README and the pages of the brokers show it.
import { closeClients, start } from './life.ts'

const [running] = start()
if (running === undefined) throw new Error('expected a consumer')
process.on('SIGTERM', () => void running.stop({ deadlineMs: 10_000 }))
process.once('SIGTERM', () => void running.stop().then(closeClients))
await running.ready()
