import { afterEach, expect, it } from '@jest/globals'
import { closeSources, joinedSource } from './joined-source.ts'

afterEach(closeSources)

// A fetch loop of kafkajs whose partitions are all paused sleeps for `maxWaitTimeInMs`, and a stop waits for it.
it('a source that closes has no paused partition when its consumer stops (K28)', async () => {
  const { source, consumer } = await joinedSource(5)
  await source.stopIntake()
  expect([...consumer.pausedNow]).toEqual(['t/0'])
  const pausedAtStop: string[][] = []
  const stop = consumer.stop.bind(consumer)
  consumer.stop = () => {
    pausedAtStop.push([...consumer.pausedNow])
    return stop()
  }
  await source.close()
  expect(pausedAtStop).toEqual([[]])
})

it('nor has one that steps aside', async () => {
  const { source, consumer } = await joinedSource(5)
  source.pause()
  expect([...consumer.pausedNow]).toEqual(['t/0'])
  source.leave?.('its store is down')
  expect([...consumer.pausedNow]).toEqual([])
})
