import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'

const SECONDS_A_DAY = 86_400
const page = readFileSync('docs/size.md', 'utf8')
const performance = readFileSync('docs/performance.md', 'utf8')

function bytesOf(store: string): number {
  return Number(new RegExp(`^\\| ${store}: bytes each \\| +(\\d+) \\|`, 'm').exec(performance)?.[1])
}

function amount(value: number, unit: string): string {
  return `${value.toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })} ${unit}`
}

describe('docs/size.md', () => {
  const rows = page
    .split('\n')
    .filter((line) => /^\| +[\d,]+ \|/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))

  it('computes its table from the bytes that were measured', () => {
    expect(rows.length).toBeGreaterThan(3)
    for (const [, rate = '', days = '', ...told] of rows) {
      const records = Number(rate.replaceAll(',', '')) * Number(days) * SECONDS_A_DAY
      const gigabytes = (store: string): string => amount((records * bytesOf(store)) / 1e9, 'GB')
      expect(told.slice(0, 3)).toEqual([
        amount(records / 1e6, 'million'),
        gigabytes('redisLease'),
        gigabytes('postgresInbox'),
      ])
    }
  })
})
