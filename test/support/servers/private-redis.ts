import { answers } from './answers.ts'
import { needInstalled } from './programs.ts'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'

/**
 * A Redis that keeps its data over `kill` and `restart`: the append-only file is written before each reply, which
 * outlives the process; it is never synced, since no test takes the power away.
 */
export async function startPrivateRedis(
  options: { readonly args?: readonly string[] } = {},
): Promise<PrivateInstance & { readonly url: string }> {
  const { server } = await needInstalled('redis')
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const folder = newFolder('redis')
  const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const durable = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'no']
  const instance = await startInstance({
    folder,
    command: server,
    args: [...place, ...durable, ...(options.args ?? [])],
    answers: () => answers('redis', url),
    readyWithinMs: 10_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
  })
  return Object.assign(instance, { url })
}
