import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import { CELLS as MODEL_CELLS } from '../../../model/catalogue.ts'
import { CELLS as FAULT_CELLS } from '../../../lab/faults/cells/all.ts'
import { isNamed } from '../../../lab/faults/cells/named.ts'
import type { Outcome } from '../../../lab/faults/cell.ts'
import { GUARANTEES } from '../../../lab/proof/guarantees/all.ts'
import { FUNCTION_COLUMNS, FUNCTIONS } from '../../../lab/proof/guarantees/functions.ts'
import { BREAKS_WHEN, COLUMNS, type Claim } from '../../../lab/proof/guarantees/guarantee.ts'
import { testsNotFound } from '../../../lab/proof/listed-tests.ts'

const CLAIMS: readonly (readonly [item: string, claim: Claim])[] = [
  ...GUARANTEES.flatMap(({ strategy, claims, breaksWhen }) => [
    ...COLUMNS.map((column, index) => [`${strategy}: ${column}`, claims[index] as Claim] as const),
    ...breaksWhen.map((limit) => [`${strategy}: ${BREAKS_WHEN} ${limit.says}`, limit] as const),
  ]),
  ...FUNCTIONS.flatMap(({ name, promise, breaksWhen }) => [
    [`${name}: promise`, promise] as const,
    ...breaksWhen.map((limit) => [`${name}: ${BREAKS_WHEN} ${limit.says}`, limit] as const),
  ]),
]

describe('the table of guarantees', () => {
  it('is that of docs/guarantees.md, cell by cell', () => {
    const rows = GUARANTEES.map(({ strategy, claims, breaksWhen }) => [
      strategy,
      ...claims.map(({ says }) => says),
      breaksWhen.map(({ says }) => says).join('; '),
    ])
    expect(tableOfDocs('strategy')).toEqual([['strategy', ...COLUMNS, BREAKS_WHEN], ...rows])
    const functions = FUNCTIONS.map(({ name, promise, breaksWhen }) => [
      name,
      promise.says,
      breaksWhen.map(({ says }) => says).join('; '),
    ])
    expect(tableOfDocs('function')).toEqual([[...FUNCTION_COLUMNS], ...functions])
  })

  it('names what shows each cell, or says why nothing does', () => {
    const unshown = CLAIMS.filter(
      ([, { says, tests, faults, simulated, models, notShown }]) =>
        says !== '–' && [tests, faults, simulated, models, notShown].every((one) => one === undefined),
    )
    expect(unshown.map(([item]) => item)).toEqual([])
  })

  it('names tests that exist', () => {
    expect(
      testsNotFound(CLAIMS.flatMap(([item, { tests }]) => (tests === undefined ? [] : [{ item, tests }]))),
    ).toEqual([])
  })

  it('names fault cells that exist', () => {
    const missing = CLAIMS.flatMap(([item, { faults = [] }]) =>
      faults.filter((glob) => cellsNamed(glob).length === 0).map((glob) => `${item}: ${glob}`),
    )
    expect(missing).toEqual([])
  })

  it('names cells of the model that exist', () => {
    const missing = CLAIMS.flatMap(([item, { models = [] }]) =>
      models.filter((name) => !MODEL_CELLS.some((cell) => cell.name === name)).map((name) => `${item}: ${name}`),
    )
    expect(missing).toEqual([])
  })

  it.each<[column: string, never: Outcome]>([
    ['message lost?', 'lost'],
    ['database effect > 1?', 'D'],
    ['external effect > 1?', 'D'],
  ])('says no of %s by no cell that may end as %s', (column, never) => {
    const contrary = CLAIMS.filter(([item, { says }]) => item.endsWith(column) && /^\W*no\b/.test(says)).flatMap(
      ([item, { faults = [] }]) =>
        faults
          .flatMap(cellsNamed)
          .filter(({ expects }) => expects.includes(never))
          .map(({ name }) => `${item}: ${name}`),
    )
    expect(contrary).toEqual([])
  })

  it('says no by no cell of the model in which a law is broken, and shows limits by those', () => {
    const wrong = CLAIMS.flatMap(([item, { says, models = [] }]) => {
      const expected = /^\W*no\b/.test(says) ? 'holds' : 'violated'
      return MODEL_CELLS.filter(({ name, expect: { kind } }) => models.includes(name) && kind !== expected).map(
        ({ name }) => `${item}: ${name}`,
      )
    })
    expect(wrong).toEqual([])
  })
})

function cellsNamed(glob: string): readonly (typeof FAULT_CELLS)[number][] {
  return FAULT_CELLS.filter(({ name }) => isNamed(name, glob))
}

/** The table that begins with this column: its head and its rows, each cell without the spaces around it. */
function tableOfDocs(begins: string): readonly (readonly string[])[] {
  const lines = readFileSync('docs/guarantees.md', 'utf8').split('\n')
  const first = lines.findIndex((line) => line.startsWith(`| ${begins} `))
  const length = lines.slice(first).findIndex((line) => !line.startsWith('|'))
  const [head, , ...rows] = lines.slice(first, first + length).map((line) => line.split('|').slice(1, -1))
  return [head ?? [], ...rows].map((row) => row.map((cell) => cell.trim()))
}
