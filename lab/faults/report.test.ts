import { describe, expect, it } from '@jest/globals'
import type { FaultId } from './cell.ts'
import { mergedRecords, proofPart, type RecordedFamilies } from './report.ts'

function recorded(commit: string, ...families: FaultId[]): RecordedFamilies {
  const rows = { kafka: [[`${families.join(' ')} at ${commit}`]], rabbitmq: [] }
  const figures = { seconds: 1, cells: 2, failed: 0, lost: 1, counted: [['inbox', 2, 1, 0, 0, 0, 0, 0]] }
  return { families, ranOn: '2026-11-26', commit, rows, ...figures }
}

describe('families of faults that are recorded anew', () => {
  it('replace those of before, and leave the others as they were', () => {
    const before = [recorded('old', 'F1', 'F2'), recorded('old', 'F3')]
    const merged = mergedRecords(before, [recorded('new', 'F3'), recorded('new', 'F10')])
    expect(merged.map(({ families, commit }) => [families.join(' '), commit])).toEqual([
      ['F1 F2', 'old'],
      ['F3', 'new'],
      ['F10', 'new'],
    ])
  })

  it('may replace families that were recorded together only with all of them', () => {
    const before = [recorded('old', 'F1', 'F2')]
    expect(() => mergedRecords(before, [recorded('new', 'F2')])).toThrow(/F2 is recorded together/)
    expect(mergedRecords(before, [recorded('new', 'F1'), recorded('new', 'F2')])).toHaveLength(2)
  })

  it('are counted together, and each with the commit that it ran on', () => {
    const { summary, tables, limits } = proofPart([recorded('old', 'F1', 'F2'), recorded('new', 'F3')], {})
    expect(summary).toMatch(/^4 cells: .* All show what they must; 2 messages lost\./)
    expect(limits[0]).toMatch(/^Families whose cells are not in these figures: F4, F5, .*, F24\.$/)
    expect(tables.at(-2)?.rows[0]).toEqual(['inbox', 4, 2, 0, 0, 0, 0, 0])
    expect(tables.at(-1)?.rows).toEqual([
      ['F1 to F2', 2, '2026-11-26', 'old'],
      ['F3', 2, '2026-11-26', 'new'],
    ])
  })
})
