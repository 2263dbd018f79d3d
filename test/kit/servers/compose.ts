import { fileURLToPath } from 'node:url'
import { run } from './commands.ts'

export const COMPOSE_FILE: string = fileURLToPath(new URL('../../../docker-compose.yml', import.meta.url))

/** Rejects unless there are both the compose command and an engine for it. */
export async function needCompose(): Promise<void> {
  await run('docker', ['info', '--format', '{{.ServerVersion}}'], { timeoutMs: 10_000 })
  await run('docker', ['compose', 'version'], { timeoutMs: 10_000 })
}

/** Resolves when the service is healthy by its own health check. Pulls its image if need be. */
export async function composeUp(service: string): Promise<void> {
  await compose('up', '--detach', '--wait', service)
}

/** Stopped, not removed: the container may have been there, with data, before the tests. */
export async function composeStop(service: string): Promise<void> {
  await compose('stop', service)
}

async function compose(...args: readonly string[]): Promise<void> {
  await run('docker', ['compose', '--file', COMPOSE_FILE, ...args], { timeoutMs: 300_000 })
}
