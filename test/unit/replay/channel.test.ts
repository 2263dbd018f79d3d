import { expect, it } from '@jest/globals'
import { listenTo } from '../../kit/listen-to.ts'
import { adopted, World } from './world.ts'

it('a run of a replay is told on the diagnostics channel, with its end', async () => {
  const world = await adopted()
  const plan = await world.plan()
  const { told, end } = listenTo('consume_once:replay')
  await world.run(plan)
  end()
  const about = { consumer: plan.consumer, replay: plan.id }
  expect(told.map(([phase]) => phase)).toEqual(['start', 'end', 'asyncStart', 'asyncEnd'])
  expect(told[0]?.[1]).toEqual(about)
  expect(told.at(-1)?.[1]).toMatchObject({ ...about, result: { status: 'finished', totals: { handled: 5 } } })
})

it('a run that is refused is told with its error', async () => {
  const world = new World()
  world.publish(['a'])
  const plan = await world.plan()
  const { told, end } = listenTo('consume_once:replay')
  await expect(world.run(plan)).rejects.toMatchObject({ code: 'REPLAY_REFUSED' })
  end()
  expect(told.find(([phase]) => phase === 'error')?.[1]).toMatchObject({
    replay: plan.id,
    error: { code: 'REPLAY_REFUSED' },
  })
})

it('a plan, which changes nothing, is not told', async () => {
  const world = await adopted()
  const { told, end } = listenTo('consume_once:replay')
  await world.plan()
  end()
  expect(told).toEqual([])
})
