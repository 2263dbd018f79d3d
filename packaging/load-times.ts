// npm run load-times: how long a process takes to load the built package, as the median of 9 processes each, in turn. An
// adapter counts beside its client and the main entry, which a program loads anyway.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const TIMES = 9
/** Each entry point, and the client whose time is not ours. */
const LOADED: readonly (readonly [entry: string, client: string | undefined])[] = [
  ['index', undefined],
  ['kafkajs', 'kafkajs'],
  ['platformatic-kafka', '@platformatic/kafka'],
  ['amqplib', 'amqplib'],
  ['pg', 'pg'],
  ['mysql2', 'mysql2/promise'],
  ['redis', 'ioredis'],
  ['lambda', undefined],
]

const MEASURE =
  'const t = process.hrtime.bigint(); for (const name of process.argv.slice(1)) require(name); console.log(Number(process.hrtime.bigint() - t) / 1e6)'

function once(names: readonly string[]): number {
  return Number(execFileSync(process.execPath, ['-e', MEASURE, ...names], { encoding: 'utf8' }))
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN
}

if (!existsSync('dist/index.js')) throw new Error('load-times: expected dist, run npm run build')
const file = (entry: string): string => join(process.cwd(), 'dist', `${entry}.js`)
console.log('entry           ms     without      itself')
for (const [entry, client] of LOADED) {
  const beside = entry === 'index' ? [] : [...(client === undefined ? [] : [client]), file('index')]
  const [whole, alone]: [number[], number[]] = [[], []]
  for (let time = 0; time < TIMES; time++) {
    whole.push(once([...beside, file(entry)]))
    alone.push(once(beside))
  }
  const [all, its] = [median(whole), median(alone)]
  console.log([entry.padEnd(10), ...[all, its, all - its].map((ms) => ms.toFixed(1).padStart(9))].join('  '))
}
