import { describe, expect, it } from '@jest/globals'
import { crashFigures } from '../../../bench/contenders/crash/crash-figures.ts'

const none: ReadonlySet<number> = new Set()
const effectsOf = (...workers: readonly (readonly number[])[]) =>
  workers.flatMap((ids, worker) => ids.map((id) => ({ id, worker })))

describe('what a kill costs', () => {
  it('is what the killed worker had done, and another one does again', () => {
    const effects = effectsOf([0, 1, 2], [1, 2, 3], [4])
    expect(crashFigures({ effects, ids: 5, setAside: none })).toEqual({
      repeated: 2,
      'repeated without a kill': 0,
      'set aside': 0,
    })
  })

  it('is not what one worker repeats by itself, or one after another that was not killed', () => {
    const figures = crashFigures({ effects: effectsOf([0, 0], [1], [1]), ids: 2, setAside: none })
    expect(figures).toMatchObject({ repeated: 0, 'repeated without a kill': 2 })
  })

  it('is no loss where a dead letter asks about the message', () => {
    const figures = crashFigures({ effects: effectsOf([0]), ids: 2, setAside: new Set([1]) })
    expect(figures).toMatchObject({ 'set aside': 1 })
  })

  it('is a failure where a message has neither effect nor dead letter', () => {
    const crashed = { effects: effectsOf([0], [2]), ids: 3, setAside: none }
    expect(() => crashFigures(crashed)).toThrow('1 of 3 messages are lost, 1 first')
  })
})
