// The manifest of examples/kubernetes says what the code does. Its schema: lab/package/kubernetes.test.ts.
import { readFileSync } from 'node:fs'
import { expect, it } from '@jest/globals'
import { Registry } from 'prom-client'
import { serveHealth } from '../../../adapters/health/index.ts'
import { LEAVE_WITHIN_MS } from '../../../adapters/kafka/membership/membership.ts'
import { resourcesOf } from '../../../lab/footprint/figures.ts'
import { readRecorded } from '../../../lab/footprint/recorded.ts'
import { defineConsumer, definitionOf } from '../../../src/consumer/define-consumer.ts'
import { memoryStore } from '../../../src/memory/store.ts'
import { runConsumer } from '../../../src/run/run.ts'
import { kubernetesManifest } from '../../../lab/kit/kubernetes.ts'
import { RecordingSource } from '../../kit/recording-source.ts'

const { Deployment, PodDisruptionBudget, PodMonitor, CronJob } = kubernetesManifest()
const { template, selector, replicas } = Deployment
const [worker] = template.spec.containers
const sms = defineConsumer({ name: 'sms', store: memoryStore(), handle: () => {} })

it('the pods of the manifest are ended no sooner than a stop of the example may take, with ten seconds for its clients', () => {
  const [, deadline = ''] = /stop\(\{ deadlineMs: ([\d_]+) \}\)/.exec(readFileSync('examples/deploy.ts', 'utf8')) ?? []
  const deadlineMs = Number(deadline.replaceAll('_', ''))
  expect(deadlineMs).toBeGreaterThan(0)
  const stopMs = deadlineMs + definitionOf(sms).graceMs + LEAVE_WITHIN_MS
  expect(template.spec.terminationGracePeriodSeconds).toBe(stopMs / 1_000 + 10)
})

it('each probe and the monitor ask for a path that a ready consumer answers, on the port that the worker is given', async () => {
  const source = new RecordingSource([])
  await using running = runConsumer(sms, { source, publisher: source })
  await using server = await serveHealth(running, { port: 0, host: '127.0.0.1', metrics: new Registry() })
  await running.ready()
  const { startupProbe, readinessProbe, livenessProbe, ports, env } = worker
  const asked = [startupProbe, readinessProbe, livenessProbe].map(({ httpGet }) => httpGet)
  for (const { path, port } of [...asked, ...PodMonitor.podMetricsEndpoints]) {
    const { status } = await fetch(`http://127.0.0.1:${server.port}${path}`)
    expect([path, port, status]).toEqual([path, 'health', 200])
  }
  const [port] = ports
  expect(ports).toEqual([{ name: 'health', containerPort: Number(env.find(({ name }) => name === 'PORT')?.value) }])
  expect(readFileSync('docs/observability.md', 'utf8')).toContain(`sms-1:${port?.containerPort}`)
})

it('only a process that is not live is restarted, and one that joins is not', async () => {
  expect(worker.livenessProbe.httpGet.path).toBe('/healthz')
  expect(worker.startupProbe.httpGet.path).toBe('/healthz')
  expect(worker.readinessProbe.httpGet.path).toBe('/readyz')
})

it('what is disrupted, and what is scraped, are the pods of the worker, and one of them stays', () => {
  const { labels } = template.metadata
  for (const { matchLabels } of [selector, PodDisruptionBudget.selector, PodMonitor.selector]) {
    expect(labels).toMatchObject(matchLabels)
  }
  expect(PodDisruptionBudget.maxUnavailable).toBeLessThan(replicas)
})

it('Node gets SIGTERM itself, and the nightly check is the command of the package', () => {
  expect(worker.command[0]).toBe('node')
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly bin: object }
  const [doctor] = CronJob.jobTemplate.spec.template.spec.containers
  const [program = '', ...args] = doctor.command
  expect(Object.keys(bin).map((name) => `node_modules/.bin/${name}`)).toContain(program)
  expect(args).toEqual(['doctor', '--json'])
})

it('asks for what a worker was measured to take at 1,000 messages a second, and has no limit of CPU', () => {
  const { requestMillicores, requestMib, limitMib } = resourcesOf(readRecorded())
  expect(worker.resources).toEqual({
    requests: { cpu: `${requestMillicores}m`, memory: `${requestMib}Mi` },
    limits: { memory: `${limitMib}Mi` },
  })
})
