import { describe, expect, test } from '@jest/globals'
import { PassingMap } from '../../../src/foundation/passing-map.ts'

describe('a map of entries that pass', () => {
  test('has what was added, and not what was deleted', () => {
    const map = new PassingMap<string, number>()
    map.add('a', 1)
    map.add('b', 2)
    map.delete('a')
    map.delete('of nobody')
    expect([map.get('a'), map.get('b')]).toEqual([undefined, 2])
  })

  test('keeps an entry that stays while tens of thousands pass', () => {
    const map = new PassingMap<number, string>()
    map.add(-1, 'stays')
    for (let passed = 0; passed < 50_000; passed++) {
      map.add(passed, 'passes')
      if (passed >= 3_000) map.delete(passed - 3_000)
    }
    expect(map.get(-1)).toBe('stays')
    expect(map.get(46_999)).toBeUndefined()
    expect(map.get(47_000)).toBe('passes')
    expect([...map]).toHaveLength(3_001)
  })

  test.each([0, 4_096, 8_192, 20_000])('replaces an entry after %d others', (others) => {
    const map = new PassingMap<number, string>()
    map.add(-1, 'first')
    for (let other = 0; other < others; other++) map.add(other, 'other')
    map.replace(-1, 'second')
    expect(map.get(-1)).toBe('second')
    expect([...map].filter(([key]) => key === -1)).toEqual([[-1, 'second']])
    map.delete(-1)
    expect(map.get(-1)).toBeUndefined()
  })

  test('may lose entries while it is gone through', () => {
    const map = new PassingMap<number, number>()
    for (let at = 0; at < 10_000; at++) map.add(at, at)
    let seen = 0
    for (const [key] of map) {
      seen++
      map.delete(key)
    }
    expect([seen, [...map]]).toEqual([10_000, []])
  })
})
