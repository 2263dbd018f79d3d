import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { compiled } from '../kit/compiled.ts'

export interface ProgramConfig {
  readonly broker: 'kafka' | 'rabbitmq'
  /** Broker addresses, or the URL. */
  readonly servers: readonly string[]
  readonly destination: string
  /** When the instrumentations are registered: before or after the client is loaded. */
  readonly instrumented: 'before' | 'after'
  /** By this library, or in a consumer of the application. */
  readonly way: 'own' | 'each message' | 'each batch' | 'drop-in'
  /** After so many deliveries it stops and tells its spans. */
  readonly deliveries: number
}

export interface SeenSpan {
  readonly name: string
  readonly kind: string
  readonly status: string
  readonly spanId: string
  readonly parentId: string | undefined
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, string | number | undefined>>
  /** The library that made it. */
  readonly by: string
}

/**
 * Runs an application with OpenTelemetry until its deliveries have ended; resolves with its spans.
 * @param onEnded - called after each delivery, with their number
 */
export async function spansOf(config: ProgramConfig, onEnded: (count: number) => void): Promise<readonly SeenSpan[]> {
  const script = compiled(new URL('program.ts', import.meta.url))
  const child = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  let spans: readonly SeenSpan[] | undefined
  child.on('message', (told) => {
    const { ended, spans: all = spans } = told as { readonly ended?: number; readonly spans?: readonly SeenSpan[] }
    spans = all
    if (ended !== undefined) onEnded(ended)
  })
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code !== 0 || spans === undefined) throw new Error(`the program ended with ${code}, and told no spans`)
    return spans
  } finally {
    child.kill('SIGKILL')
  }
}
