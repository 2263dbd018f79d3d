import { readFileSync } from 'node:fs'
import { parseAllDocuments } from 'yaml'

const MANIFEST = 'examples/kubernetes/worker.yaml'

export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly spec: object
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
  readonly periodSeconds: number
  readonly failureThreshold?: number
}

interface Container {
  readonly command: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly env: readonly { readonly name: string; readonly value?: string }[]
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
  readonly resources: {
    readonly requests: { readonly cpu: string; readonly memory: string }
    readonly limits: Readonly<Record<string, string>>
  }
}

interface Selected {
  readonly matchLabels: Readonly<Record<string, string>>
}

/** What is read of each. The schemas are those of Kubernetes (lab/package/kubernetes.test.ts). */
export interface Manifest {
  readonly Deployment: {
    readonly replicas: number
    readonly selector: Selected
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> }
      readonly spec: { readonly terminationGracePeriodSeconds: number; readonly containers: readonly [Container] }
    }
  }
  readonly PodDisruptionBudget: { readonly maxUnavailable: number; readonly selector: Selected }
  readonly PodMonitor: {
    readonly selector: Selected
    readonly podMetricsEndpoints: readonly { readonly port: string; readonly path: string }[]
  }
  readonly CronJob: {
    readonly jobTemplate: {
      readonly spec: { readonly template: { readonly spec: { readonly containers: readonly [Container] } } }
    }
  }
}

/** The example of a deployment: its documents, in order. */
export function kubernetesResources(): readonly Resource[] {
  return parseAllDocuments(readFileSync(MANIFEST, 'utf8')).map((document) => {
    const [fault] = 'errors' in document ? document.errors : []
    if (fault !== undefined) throw new Error(`${MANIFEST}: ${fault.message}`)
    return document.toJS() as Resource
  })
}

/** The `spec` of each, by its kind. */
export function kubernetesManifest(): Manifest {
  return Object.fromEntries(kubernetesResources().map(({ kind, spec }) => [kind, spec])) as unknown as Manifest
}
