// A worker as it is deployed: health for the orchestrator, and a stop that loses and repeats nothing, at every moment.
import { closeClients, port, start } from './support/deployed.ts'

// #region readme
import { serveHealth } from 'consume-once/health'

let stopping: Promise<void> | undefined
const stop = () => (stopping ??= stopAll())
// Before the start, and a second signal changes nothing: npm and shells may send one twice.
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => void stop())

const consumers = start() // such as [runKafka(...), runRabbit(...)], without await: they can be stopped while they join
const health = serveHealth(consumers, { port }) // GET /readyz and /healthz answer while they join

async function stopAll() {
  // Side by side: handlers finish, marks are written, messages are settled.
  await Promise.allSettled(consumers.map((one) => one.stop({ deadlineMs: 20_000 })))
  await health.then((server) => server.close()).catch(() => {})
  await closeClients() // your pools and clients: the library does not close them
}

// Each `ready()` rejects with the reason if its start fails. After a stop it resolves, with 'stopped'.
Promise.all([health, ...consumers.map((one) => one.ready())]).catch(async (error: unknown) => {
  console.error(error)
  process.exitCode = 1 // the orchestrator starts the process again
  await stop() // handlers of the other consumers finish first
})
// #endregion
