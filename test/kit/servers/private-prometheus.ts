import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './ports.ts'
import { newFolder, startInstance, type PrivateInstance } from './private-instance.ts'
import { needPrometheus } from './programs.ts'

export interface PrivatePrometheus extends PrivateInstance {
  readonly url: string
  /** Evaluates an expression now. Rejects with the text of Prometheus if it is not an expression. */
  query(expression: string): Promise<readonly Series[]>
  /** Any path of its HTTP API, such as `rules`; gives `data`. */
  api(path: string): Promise<unknown>
}

interface Series {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

export interface PrivatePrometheusOptions {
  /** `host:port` of what it scrapes, every second. */
  readonly targets: readonly string[]
  readonly ruleFiles?: readonly string[]
}

/** A Prometheus that scrapes every second, on data of its own. */
export async function startPrivatePrometheus(options: PrivatePrometheusOptions): Promise<PrivatePrometheus> {
  const { prometheus } = await needPrometheus()
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const folder = newFolder('prometheus')
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: options.ruleFiles ?? [],
    scrape_configs: [{ job_name: 'consumers', static_configs: [{ targets: options.targets }] }],
  }
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const api = async (path: string): Promise<unknown> => {
    const answer = (await (await fetch(`${url}/api/v1/${path}`)).json()) as ApiAnswer
    if (answer.status !== 'success') throw new Error(`prometheus: ${answer.error}`)
    return answer.data
  }
  const instance = await startInstance({
    folder,
    command: prometheus,
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    answers: async () => {
      const { ok, status } = await fetch(`${url}/-/ready`)
      if (!ok) throw new Error(`not ready: ${status}`)
    },
    readyWithinMs: 30_000,
    shutdownSignal: 'SIGTERM',
    endSignal: 'SIGKILL',
  })
  return Object.assign(instance, {
    url,
    api,
    query: async (expression: string) => {
      const { result } = (await api(`query?query=${encodeURIComponent(expression)}`)) as { result: readonly Series[] }
      return result
    },
  })
}

interface ApiAnswer {
  readonly status: string
  readonly error?: string
  readonly data?: unknown
}
