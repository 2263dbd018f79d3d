import { describe, expect, it } from '@jest/globals'
import { fromLines, type History, type HistoryEvent, toLines } from 'consume-once/testing'

const HISTORY: History = {
  events: [
    { at: 1, proc: 'producer', f: 'send', type: 'ok', place: 't/0@1', subject: 'a\n\u2028\ud800', print: 'p' },
    { at: 2, proc: 'A', f: 'commit', partition: 't/0', next: 2, via: 'e1', assignedVia: 'e1' },
  ],
  end: { isDrained: true, unsettled: ['t/0@7'], records: new Map([['a', 'done']]), at: 3 },
}

describe('a history as lines', () => {
  it('is read as it was written, one line for each event and one for the end', () => {
    const lines = [...toLines(HISTORY)]
    expect(lines.map((line) => line.includes('\n'))).toEqual([false, false, false])
    expect(fromLines([...lines, ''])).toEqual(HISTORY)
  })

  it('keeps numbers that JSON has not', () => {
    const odd = { at: 1, proc: 'A', f: 'tell', what: 'offset', offset: 2n ** 63n } as unknown as HistoryEvent
    const history = { ...HISTORY, events: [odd] }
    expect(fromLines(toLines(history))).toEqual(history)
  })

  it('does not write what would be read as another number', () => {
    const forEver: HistoryEvent = { at: 1, proc: 'A', f: 'mark', type: 'ok', subject: 'a', token: 't', until: Infinity }
    expect(() => [...toLines({ ...HISTORY, events: [forEver] })]).toThrow('a history cannot tell Infinity')
  })

  it('is not judged by a half: what was cut off, or goes on behind its end, is refused', () => {
    const lines = [...toLines(HISTORY)]
    expect(() => fromLines(lines.slice(0, 2))).toThrow('it was cut off')
    expect(() => fromLines([...lines, ...lines])).toThrow('more follows')
  })
})
