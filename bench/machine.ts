import { readFileSync } from 'node:fs'
import { cpus, totalmem, type as system } from 'node:os'

export interface Machine {
  readonly node: string
  readonly system: string
  readonly processor: string
  readonly cores: number
  readonly memoryGb: number
  /** Of the packages that take part. */
  readonly packages: Readonly<Record<string, string>>
}

const PACKAGES = ['kafkajs', 'ioredis', 'pg']

export function describeMachine(): Machine {
  const processors = cpus()
  return {
    node: process.version,
    system: system(),
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    packages: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
  }
}

function versionOf(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
