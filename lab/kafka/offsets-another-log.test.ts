import { once } from 'node:events'
import { describe, expect, it } from '@jest/globals'
import { defineConsumer, positionsOf, type GoOnFrom } from '../../src/index.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { names, onOffsets, type OnOffsets, type Started } from './offsets-group.ts'

const { open } = onOffsets()

describe('a topic that was deleted and created anew', () => {
  it('is held while running and by the next process, grows beyond the position, and is handled whole once a person says so', async () => {
    const on = await open()
    await on.send(names(1, 5))
    const first = await on.start()
    await on.untilEffects(5)
    await makeAgain(on)
    await on.send(['new 0'])
    await first.watching.until(() => heldIn(first) > 0)
    expect(first.running.health()).toMatchObject({ live: true, ready: false })
    expect(first.running.health().checks['source']).toContain(`${on.topic}/0 is held`)
    await on.send(['new 1', 'new 2', 'new 3', 'new 4', 'new 5', 'new 6'])
    await on.stop(first)
    const second = await on.start()
    await second.watching.until(() => heldIn(second) > 0)
    expect(second.running.health()).toMatchObject({ live: true, ready: false })
    expect(await on.effects()).toEqual(names(1, 5))
    await decide(on, 'beginning')
    await on.untilEffects(12)
    expect((await on.effects()).slice(5)).toEqual(['new 0', 'new 1', 'new 2', 'new 3', 'new 4', 'new 5', 'new 6'])
    await eventually(async () => second.running.health().ready)
  }, 60_000)

  it('is noticed though nobody ran until it had grown beyond the position, and its other topic goes on', async () => {
    const on = await open()
    const other = await on.cluster.topic()
    const topics = [on.topic, other]
    await on.send(names(1, 5))
    await on.ranUntil(5, { topics })
    await makeAgain(on)
    await on.send(names(1, 9).map((name) => `new ${name}`))
    const second = await on.start({ topics })
    await second.watching.until(() => second.watching.told('position-of-another-log') > 0)
    await on.cluster.send(other, ['elsewhere'])
    await on.untilEffects(6)
    expect((await on.effects()).slice(5)).toEqual(['elsewhere'])
    expect(second.running.health().ready).toBe(false)
    await decide(on, 7n)
    await on.untilEffects(8)
    expect((await on.effects()).slice(6)).toEqual(['new 008', 'new 009'])
  }, 60_000)

  it('is held where that happened, and it grew beyond what was fetched, while its partition was paused with messages under way', async () => {
    const on = await open()
    await on.send(names(1, 30))
    const madeAgain = new AbortController()
    const isMadeAgain = once(madeAgain.signal, 'abort')
    // Metadata that is old: no other look at the topic is in the way.
    const running = await on.start({
      before: () => isMadeAgain,
      maxWatermarkLag: 10,
      consumerConfig: { metadataMaxAge: 300_000 },
    })
    await running.watching.until(() => running.watching.told('partition-paused') > 0)
    await makeAgain(on)
    const anew = names(1, 50).map((name) => `new ${name}`)
    await on.send(anew)
    madeAgain.abort()
    await running.watching.until(() => running.watching.told('position-of-another-log') > 0)
    await eventually(async () => (await on.position()) === 30)
    expect(await on.effects()).toEqual(names(1, 30))
    await eventually(async () => (await on.heldWhy()) !== undefined)
    await decide(on, 'beginning')
    await on.untilEffects(80)
    expect((await on.effects()).slice(30)).toEqual(anew)
  }, 60_000)

  it('is told from the same topic by the last message handled: a restart goes on', async () => {
    const on = await open()
    await on.send(names(1, 5))
    await on.ranUntil(5)
    const second = await on.start()
    await on.send(['006'])
    await on.untilEffects(6)
    expect(second.starts).toEqual(['006 1'])
    expect(heldIn(second)).toBe(0)
    expect(second.watching.ended('duplicate')).toBe(0)
  })
})

async function decide({ place, topic, group }: OnOffsets, from: GoOnFrom): Promise<void> {
  const consumer = defineConsumer({ name: 'effects', store: await place.newOffsets(), handle: () => {} })
  const why = { by: 'test', reason: 'created anew' }
  expect(await positionsOf(consumer, { group }).release(`${topic}/0`, { ...why, goOnFrom: from })).toBe('released')
}

function heldIn({ watching }: Started): number {
  return ['position-beyond-end', 'position-of-another-log', 'position-held'].reduce(
    (sum, event) => sum + watching.told(event),
    0,
  )
}

async function makeAgain({ cluster, topic }: OnOffsets): Promise<void> {
  await cluster.admin.deleteTopics({ topics: [topic] })
  await eventually(async () => !(await cluster.admin.listTopics()).includes(topic))
  await eventually(async () =>
    cluster.admin
      .createTopics({ waitForLeaders: false, topics: [{ topic, numPartitions: 1 }] })
      .then(() => true)
      .catch(() => false),
  )
  await eventually(async () => (await cluster.admin.listTopics()).includes(topic))
}
