import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { kubernetesResources, type Resource } from '../kit/kubernetes.ts'
import { Strangers, WITHIN_MS } from './installed.ts'

/** Made from the schemas of Kubernetes and of the Prometheus operator: types, which know every name, and checks of values. */
const MODELS = ['kubernetes-models@5.1.0', '@kubernetes-models/prometheus-operator@6.0.0']

/** A program that is valid only if the resource is: its names by the compiler, its values when it runs. */
function programOf({ apiVersion, kind, ...rest }: Resource): string {
  const models = apiVersion.startsWith('monitoring.coreos.com')
    ? '@kubernetes-models/prometheus-operator'
    : 'kubernetes-models'
  return `
import { ${kind} } from '${models}/${apiVersion}/${kind}'
new ${kind}(${JSON.stringify(rest, undefined, 1)}).validate()
`
}

const resources = kubernetesResources()
const deployment = JSON.stringify(resources[0])
const faulty = {
  'a name that Kubernetes does not have': ['"readinessProbe"', '"readynessProbe"', /'"readynessProbe"' does not exist/],
  'a value of another kind': ['"periodSeconds":2', '"periodSeconds":"2 s"', /is not assignable to type 'number'/],
  'a quantity that is none': ['"memory":"', '"memory":"much ', /memory/],
} as const

const programs: ReadonlyMap<string, string> = new Map([
  ...resources.map((resource) => [resource.kind, programOf(resource)] as const),
  ...Object.entries(faulty).map(
    ([title, [right, wrong]]) =>
      [title, programOf(JSON.parse(deployment.replaceAll(right, wrong)) as Resource)] as const,
  ),
])
const files: ReadonlyMap<string, string> = new Map([...programs.keys()].map((title, at) => [title, `program-${at}`]))

const PROJECT = 'kubernetes'
const OPTIONS = ['--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'nodenext']
const strangers = new Strangers()
let told = ''

function printedBy({ stdout, stderr }: { stdout: string; stderr: string }): string {
  return stdout + stderr
}

/** What it printed, also if it failed. */
function outputOf(file: string, ...args: readonly string[]): Promise<string> {
  return strangers.run(PROJECT, file, args).catch(printedBy)
}

beforeAll(async () => {
  strangers.write(`${PROJECT}/package.json`, '{ "private": true, "type": "module" }')
  const quietly = ['--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
  await strangers.run(PROJECT, 'npm', ['install', ...quietly, ...MODELS, 'typescript@5.9.3'])
  for (const [title, program] of programs) strangers.write(`${PROJECT}/${files.get(title)}.ts`, program)
  told = await outputOf('node_modules/.bin/tsc', ...OPTIONS, ...[...files.values()].map((file) => `${file}.ts`))
}, WITHIN_MS)
afterAll(() => strangers[Symbol.dispose]())

/** What is wrong with it, by the compiler or else when it runs; '' if nothing is. */
async function faultsOf(title: string): Promise<string> {
  const file = files.get(title)
  const lines = told.split('\n').filter((line) => line.startsWith(`${file}.ts`))
  return lines.length > 0 ? lines.join('\n') : await outputOf('node', `${file}.js`)
}

describe('the schemas of Kubernetes', () => {
  it.each(resources.map(({ kind }) => kind))('take the %s of examples/kubernetes', async (kind) => {
    expect(await faultsOf(kind)).toBe('')
  })

  it.each(Object.entries(faulty))('refuse %s', async (title, [right, , fault]) => {
    expect(deployment).toContain(right)
    expect(await faultsOf(title)).toMatch(fault)
  })
})
