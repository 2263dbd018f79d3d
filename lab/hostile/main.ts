// npm run hostile [-- --record]
//
// Runs the corpus on every store and from every broker, as the tests do, and prints the counts. Exits with 1 if a promise was broken.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { recordPart, type ProofTable } from '../proof/part.ts'
import { CONFIGURATIONS } from './configuration.ts'
import { CORPUS, entriesOn } from './corpus.ts'
import { CARRIERS } from './entry.ts'
import { TALLIES, type Tally } from './tally.ts'

const JEST = join('node_modules', 'jest', 'bin', 'jest.js')

const USAGE = `usage: npm run hostile [-- --record]
  --record  writes docs/proof/hostile.json
One file of it: npx jest lab/hostile/<file>, one input: npx jest lab/hostile -t '<part of its name>'`

function wishes(): { readonly record: boolean } {
  try {
    return parseArgs({ options: { record: { type: 'boolean', default: false } } }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`)
    process.exit(2)
  }
}

const values = wishes()
const startedAt = performance.now()
const folder = mkdtempSync(join(tmpdir(), 'consume-once-hostile-'))
try {
  const jest = spawn(process.execPath, [JEST, 'lab/hostile'], {
    env: { ...process.env, [TALLIES]: folder },
    stdio: 'inherit',
  })
  const [code] = (await once(jest, 'exit')) as [number | null]
  const tallies = readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Tally)
  for (const table of tablesOf(tallies)) {
    console.log(table.title)
    console.table(table.rows.map((row) => Object.fromEntries(table.columns.map((name, at) => [name, row[at]]))))
  }
  process.exitCode = code ?? 1
  if (values.record && code === 0) record(tallies)
} finally {
  rmSync(folder, { recursive: true })
}

function record(tallies: readonly Tally[]): void {
  const inputs = Object.values(CORPUS).flat().length + CONFIGURATIONS.length
  const deliveries = tallies.reduce((sum, tally) => sum + tally.deliveries, 0)
  recordPart('hostile', {
    title: 'Hostile inputs',
    command: 'npm run hostile',
    summary:
      `${inputs} inputs, ${deliveries} deliveries over ${tallies.length} combinations of broker and store: 0 crashes, ` +
      '0 false duplicates, 0 lost; each was handled once or dead-lettered with the reason that was expected, ' +
      'again when every dead letter was moved back, and the neighbour behind each was unharmed.',
    versions: versionsOf(['kafkajs', 'amqplib', 'ioredis', 'redis', 'pg', 'mysql2', '@electric-sql/pglite']),
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    tables: tablesOf(tallies),
    limits: [
      'kafkajs reads the headers of a message in a time that grows with the square of their number: five thousand take some 12 s, in which its process does nothing else. Bound them at the producer or the broker.',
      'Compressed payloads are opened by kafkajs, before anything here sees them.',
      'amqplib reads a field table within tables by recursion: those of the corpus are at most 500 deep, arrays 1000. Five thousand overflow its stack, and it closes the connection of whoever gets the message.',
      'Who can publish can burn IDs: a message with the ID of another that is to come makes that one a conflict.',
    ],
  })
}

function tablesOf(tallies: readonly Tally[]): readonly ProofTable[] {
  return [
    {
      title: 'Inputs',
      columns: ['theme', 'inputs', ...CARRIERS],
      rows: [
        ...Object.entries(CORPUS).map(([theme, entries]) => [
          theme,
          entries.length,
          ...CARRIERS.map((carrier) => entriesOn(carrier).filter((entry) => entries.includes(entry)).length),
        ]),
        ['configuration', CONFIGURATIONS.length, '-', '-', '-'],
      ],
    },
    {
      title: 'Runs',
      columns: [
        'broker and store',
        'inputs',
        'deliveries',
        'handlers ended',
        'dead letters',
        'crashes',
        'broken promises',
        'seconds',
      ],
      rows: tallies.map(({ name, entries, deliveries, effects, deadLetters, crashes, findings, seconds }) => [
        name,
        entries,
        deliveries,
        effects,
        deadLetters,
        crashes.length,
        findings.length,
        Math.round(seconds),
      ]),
    },
  ]
}

function versionsOf(packages: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    packages.map((name) => {
      const { version } = JSON.parse(readFileSync(join('node_modules', name, 'package.json'), 'utf8')) as {
        version: string
      }
      return [name, version]
    }),
  )
}
