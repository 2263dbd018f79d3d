import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'

/** Findings of one layer of the proof, from its last recorded run. */
export interface ProofPart {
  /** Its heading in docs/proof.md. */
  readonly title: string
  /** Command that repeats it. */
  readonly command: string
  /** Summary of the run and its findings, with counts. One or two sentences. */
  readonly summary: string
  /** By name: of servers, clients, tools. */
  readonly versions: Readonly<Record<string, string>>
  readonly seconds: number
  readonly tables: readonly ProofTable[]
  /** Limits: what it does not show. */
  readonly limits: readonly string[]
}

export interface ProofTable {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

export type RecordedPart = ProofPart & { readonly ranOn: string; readonly node: string; readonly cores: number }

const FOLDER = 'docs/proof'

/** Writes `docs/proof/<name>.json`. The page is written from these files by `npm run fix`. */
export function recordPart(name: string, part: ProofPart): void {
  const ranOn = new Date().toISOString().slice(0, 10)
  const recorded: RecordedPart = { ...part, ranOn, node: process.version, cores: cpus().length }
  writeFileSync(`${FOLDER}/${name}.json`, `${JSON.stringify(recorded, undefined, 2)}\n`)
}

export function recordedParts(): ReadonlyMap<string, RecordedPart> {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'))
  return new Map(
    names.map((name) => [
      name.replace(/\.json$/u, ''),
      JSON.parse(readFileSync(`${FOLDER}/${name}`, 'utf8')) as RecordedPart,
    ]),
  )
}
