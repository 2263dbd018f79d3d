import { expect, it } from '@jest/globals'
import { ReadAhead } from '../../../adapters/kafka/replay/read-ahead.ts'

it('is full by number, and by bytes; who waits for room is woken when all is taken, or when it is closed', async () => {
  const few = new ReadAhead<number>(2)
  few.put(1, 10)
  expect(few.isFull).toBe(false)
  few.put(2, 10)
  expect(few.isFull).toBe(true)
  const room = few.room()
  expect(few.takeAll()).toEqual([1, 2])
  await room
  expect(few.isFull).toBe(false)

  const large = new ReadAhead<number>(1_000)
  large.put(1, 17 * 1024 * 1024)
  expect(large.isFull).toBe(true)
  const never = large.room()
  large.close()
  await never
  expect(large.takeAll()).toEqual([])
})

it('tells whether there was news', async () => {
  const ahead = new ReadAhead<number>(2)
  expect(await ahead.news(1)).toBe(false)
  const news = ahead.news(60_000)
  ahead.put(1, 1)
  expect(await news).toBe(true)
})
