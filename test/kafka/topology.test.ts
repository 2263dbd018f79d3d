import { afterEach, describe, expect, it } from '@jest/globals'
import { openedOnce } from '../kit/opened.ts'
import { uniqueName } from '../kit/namespace.ts'
import { Cluster } from './kit.ts'

let cluster: Cluster

openedOnce(Cluster, (made) => (cluster = made))
afterEach(() => cluster.closeSources())

async function partitionsOf(topic: string): Promise<number> {
  const { topics } = await cluster.admin.fetchTopicMetadata({ topics: [topic] })
  return topics[0]?.partitions.length ?? 0
}

describe("setup: 'auto'", () => {
  it('creates a missing dead-letter topic for each topic, once, and tells it', async () => {
    const [one, two, groupId] = [await cluster.topic(3), await cluster.topic(), uniqueName('group')]
    const first = await cluster.open({ topics: [one, two], group: groupId })
    expect(first.intake.told('dead-letter-topic')).toEqual([
      `${one}.dead-letter was created`,
      `${two}.dead-letter was created`,
    ])
    expect(await partitionsOf(`${one}.dead-letter`)).toBe(1)
    const second = await cluster.open({ topics: [one, two], group: groupId })
    expect(second.intake.told('dead-letter-topic')).toEqual([])
  })

  it('creates nothing for a topic to be consumed that does not exist', async () => {
    const [there, missing, groupId] = [await cluster.topic(), uniqueName('missing'), uniqueName('group')]
    const { intake } = await cluster.open({
      topics: [there, missing],
      group: groupId,
      retry: { topics: [{ delayMs: 1 }] },
    })
    expect(intake.told('dead-letter-topic')).toEqual([`${there}.dead-letter was created`])
    expect((await cluster.admin.listTopics()).filter((topic) => topic.startsWith(missing))).toEqual([])
  })
})

describe("setup: 'check'", () => {
  it('refuses to start, and names all that are missing', async () => {
    const [one, two, groupId] = [await cluster.topic(), await cluster.topic(), uniqueName('group')]
    const opening = cluster.open({ topics: [one, two], group: groupId, setup: 'check' })
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      problems: [one, two].map((topic) => expect.stringContaining(`${topic}.dead-letter does not exist; create it`)),
    })
    expect(await cluster.admin.listTopics()).not.toContain(`${one}.dead-letter`)
  })

  it('asks for none of a topic to be consumed that does not exist itself', async () => {
    const [topic, missing, dead] = [await cluster.topic(), uniqueName('missing'), await cluster.topic()]
    const nameOf = (source: string): string => (source === topic ? dead : `${source}.dead-letter`)
    const options = { topics: [topic, missing], deadLetter: { topic: nameOf }, setup: 'check' } as const
    const { intake } = await cluster.open({ ...options, group: uniqueName('group') })
    expect(intake.told('topic-missing')).toHaveLength(1)
  })

  it('starts where all are there', async () => {
    const [topic, dead] = [await cluster.topic(), await cluster.topic()]
    const options = { topics: [topic], deadLetter: { topic: dead }, setup: 'check' } as const
    const { intake } = await cluster.open({ ...options, group: uniqueName('group') })
    expect(intake.told('dead-letter-topic')).toEqual([])
  })
})

describe("setup: 'off'", () => {
  it('looks at nothing, and starts', async () => {
    const [topic, groupId] = [await cluster.topic(), uniqueName('group')]
    const { intake } = await cluster.open({ topics: [topic], group: groupId, setup: 'off' })
    expect(intake.told('dead-letter-topic')).toEqual([])
    expect(await cluster.admin.listTopics()).not.toContain(`${topic}.dead-letter`)
  })
})

describe('a dead-letter topic', () => {
  it('that is smaller than its source is told', async () => {
    const [topic, dead] = [await cluster.topic(), await cluster.topic(1, { 'max.message.bytes': '1000' })]
    const options = { topics: [topic], group: uniqueName('group'), deadLetter: { topic: () => dead } }
    const { intake } = await cluster.open(options)
    expect(intake.told('dead-letter-topic')).toEqual([expect.stringContaining(`max.message.bytes of ${dead} is 1000`)])
  })

  it('that is compacted is refused: it would keep one dead letter of each key', async () => {
    const [topic, dead] = [await cluster.topic(), await cluster.topic(1, { 'cleanup.policy': 'compact' })]
    const opening = cluster.open({ topics: [topic], group: uniqueName('group'), deadLetter: { topic: dead } })
    await expect(opening).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(`got ${dead}, which is compacted`),
    })
  })
})
