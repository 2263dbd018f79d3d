// Not alone: two operators on one plan or one redrive, and the live consumer on the same topic.
import { expect, it, jest } from '@jest/globals'
import { eventually } from '../../test/kit/eventually.ts'
import { Incident, sms } from '../../test/replay/incident.ts'
import { countedOf, expectAccounted, judgedOf, planned, WHY, wrongIn } from './judge.ts'

jest.setTimeout(120_000)

const COUNT = 100
const IDS = sms(COUNT).map(({ id }) => id)
const PAIRS = [
  ['kafka', 'postgres'],
  ['rabbitmq', 'redis'],
] as const

it.each(PAIRS)('two operators run one plan on %s and %s: only one of them runs it', async (broker, store) => {
  await using incident = await Incident.on(broker, store)
  await incident.send(sms(1, 'first'))
  await incident.live(incident.hasEffects(1))
  await incident.send(sms(COUNT))
  const words = ['replay', 'run', await planned(incident), '--rate', '40', ...WHY]
  const runs = await Promise.all([incident.run(words), incident.run(words)])
  const [winner, loser] = runs.toSorted((one, other) => Number(one.exitCode) - Number(other.exitCode))
  expect([winner?.exitCode, loser?.stderr]).toEqual([0, expect.stringContaining('another process')])
  const judged = await judgedOf(incident)
  expectAccounted(judged)
  expect(wrongIn(judged, IDS)).toEqual({ more: 0, fewer: 0 })
})

it.each(PAIRS)(
  'two operators redrive one place on %s and %s: no dead letter is sent back twice',
  async (broker, store) => {
    await using incident = await Incident.on(broker, store)
    await incident.send(sms(COUNT, 'm', 'globex'))
    await incident.live(async () => (await incident.deadLetters()) === COUNT, { bugFor: 'globex' })
    const words = ['redrive', 'sms', '--rate', '40', ...WHY]
    const runs = await Promise.all([incident.run(words), incident.run(words)])
    expect(runs.filter(({ exitCode, stderr }) => exitCode !== 0 && !stderr.includes('another process'))).toEqual([])
    // A look at a queue takes its messages for as long as it lasts.
    expect((await incident.run(words)).exitCode).toBe(0)
    await incident.live(incident.hasEffects(COUNT))
    const counts = await countedOf(incident)
    expect([counts.size, [...counts.values()].filter((count) => count > 1)]).toEqual([COUNT, []])
  },
)

it('the live consumer handles new messages of the topic, and another handles old ones again on purpose', async () => {
  await using incident = await Incident.on('kafka', 'postgres')
  await incident.send(sms(COUNT))
  await using live = await incident.start()
  await eventually(incident.hasEffects(COUNT))
  const words = ['replay', 'run', await planned(incident, ['--again']), '--rate', '40', ...WHY]
  const running = incident.run(words)
  const ended = running.then(() => true)
  let sent = 0
  do {
    await incident.send(sms(10, `new${sent++}-`))
    await eventually(incident.hasEffects(COUNT + sent * 10))
  } while (!(await Promise.race([ended, Promise.resolve(false)])))
  expect((await running).exitCode).toBe(0)
  await eventually(incident.hasEffects(COUNT * 2 + sent * 10))
  await live.stop()
  const judged = await judgedOf(incident)
  expectAccounted(judged)
  expect(wrongIn(judged, IDS, 2)).toEqual({ more: 0, fewer: 0 })
  expect([...judged.effects].filter(([id, count]) => id.startsWith('new') && count !== 1)).toEqual([])
  expect(sent).toBeGreaterThan(2)
})
