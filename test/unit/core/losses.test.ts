import { expect, it } from '@jest/globals'
import { Losses } from '../../../src/core/losses.ts'

it('counts what is lost in a row, and says no more of it after twenty', () => {
  const losses = new Losses()
  const counted = Array.from({ length: 22 }, () => losses.add(['a']))
  expect(counted).toEqual([...Array.from({ length: 20 }, (_, index) => index + 1), undefined, undefined])
})

it('tells the most of those that were lost together', () => {
  const losses = new Losses()
  losses.add(['a'])
  expect(losses.add(['a', 'b'])).toBe(2)
  expect(losses.add(['b', 'c'])).toBe(2)
  expect(losses.add(['c'])).toBe(2)
})

it('begins anew with what was marked', () => {
  const losses = new Losses()
  losses.add(['a', 'b'])
  losses.forget(['a', 'never lost'])
  expect(losses.add(['a'])).toBe(1)
  expect(losses.add(['b'])).toBe(2)
})

it('forgets the oldest of ten thousand keys', () => {
  const losses = new Losses()
  losses.add(['first', 'second'])
  losses.add(['first'])
  losses.add(Array.from({ length: 9_999 }, (_, index) => `other ${index}`))
  expect(losses.add(['first'])).toBe(3)
  expect(losses.add(['second'])).toBe(1)
})
