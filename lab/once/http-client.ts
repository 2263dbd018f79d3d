import { spawn } from 'node:child_process'
import { once as event } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { bundledProgram } from '../kit/worker/bundled.ts'
import type { MortalSpec } from './mortal.ts'

/** Starts a server, and gives its port. `end` kills it, unless it dies by itself. */
export async function serving(
  spec: MortalSpec,
): Promise<{ readonly port: number; end(): Promise<readonly unknown[]> }> {
  const program = bundledProgram(new URL('http-program.ts', import.meta.url))
  const child = spawn(process.execPath, [program, JSON.stringify(spec)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = event(child, 'exit')
  const [port] = (await event(child.stdout, 'data')) as [Buffer]
  return {
    port: Number(port),
    end: () => {
      if (spec.dieAt === 'never') child.kill('SIGKILL')
      return ended
    },
  }
}

/** A client that comes again while the first request holds its key, as `Retry-After` tells it to. */
export async function pay(port: number, key: string): Promise<Response> {
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/pay`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"` },
      body: JSON.stringify({ amount: 7 }),
    })
    const isBusy = response.status === 409 && response.headers.has('retry-after')
    if (!isBusy) return response
    await sleep(200)
  }
}
