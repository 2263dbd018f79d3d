import { describe, expect, it } from '@jest/globals'
import { Progress, type Work } from '../../../src/core/progress.ts'

const items = new Map<string, object>()

/** `place item step`, such as `p0 a 0`. */
function work(...texts: readonly string[]): Work[] {
  return texts.map((text) => {
    const [place = '', name = '', step] = text.split(' ')
    const item = items.get(name) ?? {}
    items.set(name, item)
    return { place, item, step: Number(step), position: name }
  })
}

describe('progress', () => {
  it('is missed in a place where nothing has ended or begun for long enough', () => {
    const progress = new Progress(100)
    expect(progress.look(work('p0 a 0', 'p0 b 0'), 0)).toEqual([])
    expect(progress.look(work('p0 a 0', 'p0 b 0'), 99)).toEqual([])
    expect(progress.look(work('p0 a 0', 'p0 b 0', 'p0 c 0'), 100)).toEqual([
      { place: 'p0', count: 3, oldest: 'a', forMs: 100 },
    ])
    expect(progress.stalls).toHaveLength(1)
  })

  it.each([
    ['one of its messages ends', ['p0 b 0']],
    ['a handler of it starts', ['p0 a 0', 'p0 b 1']],
    ['everything has ended', []],
  ])('is there again when %s', (_what, then) => {
    const progress = new Progress(100)
    progress.look(work('p0 a 0', 'p0 b 0'), 0)
    expect(progress.look(work('p0 a 0', 'p0 b 0'), 100)).toHaveLength(1)
    expect(progress.look(work(...then), 150)).toEqual([])
    expect(progress.look(work(...then), 249)).toEqual([])
  })

  it('of one place does not hide that another has none', () => {
    const progress = new Progress(100)
    for (const [at, name] of ['a', 'b', 'c', 'd'].entries()) progress.look(work('p0 x 0', `p1 ${name} 0`), at * 50)
    expect(progress.stalls).toMatchObject([{ place: 'p0' }])
  })

  it('is judged anew after nobody could make any', () => {
    const progress = new Progress(100)
    progress.look(work('p0 a 0'), 0)
    progress.excuse(100)
    expect(progress.look(work('p0 a 0'), 150)).toEqual([])
    expect(progress.look(work('p0 a 0'), 200)).toHaveLength(1)
  })

  it('that was missed before is missed still', () => {
    const progress = new Progress(100)
    for (const now of [0, 100]) progress.look(work('p0 a 0'), now)
    progress.excuse(120)
    expect(progress.stalls).toHaveLength(1)
    expect(progress.look(work('p0 a 0'), 130)).toMatchObject([{ place: 'p0', forMs: 130 }])
  })
})
