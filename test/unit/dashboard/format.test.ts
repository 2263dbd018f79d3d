import { describe, expect, it } from '@jest/globals'
import { count, duration, plural, relative } from '../../../dashboard/format.ts'
import { href, routeOf } from '../../../dashboard/ui/place.ts'

describe('times and numbers of the dashboard', () => {
  it('writes a duration with two digits that matter', () => {
    expect([0, 0.2, 12.4, 1_234, 61_000, 5_400_000, 1e9].map(duration)).toEqual([
      '0 ms',
      '< 1 ms',
      '12 ms',
      '1.2 s',
      '1 min',
      '1.5 h',
      '12 days',
    ])
  })

  it('writes what was and what will be relative to now', () => {
    expect(relative(0, 90_000)).toBe('1.5 min ago')
    expect(relative(90_000, 0)).toBe('in 1.5 min')
    expect(relative(500, 0)).toBe('now')
  })

  it('writes large counts short', () => {
    expect([1, 12_345, 2_500_000].map(count)).toEqual(['1', '12,345', '2.5 M'])
    expect([plural(1, 'message'), plural(2, 'message')]).toEqual(['1 message', '2 messages'])
  })
})

describe('an address in the dashboard', () => {
  it('gives back whatever was put into it', () => {
    const id = 'a/b?c=d&e#f %41 <script>'
    const { path, query } = routeOf(href(['replays', id], { consumer: 'group/name', id, empty: '' }))
    expect(path).toEqual(['replays', id])
    expect([...query]).toEqual([
      ['consumer', 'group/name'],
      ['id', id],
    ])
  })

  it('is read although it was cut or typed wrongly', () => {
    expect(routeOf('').path).toEqual([])
    expect(routeOf('#/records/%E0%A4%A').path).toEqual(['records', '%E0%A4%A'])
  })
})
