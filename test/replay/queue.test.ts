// A queue has no positions: a run takes its messages, acknowledges what is done, and hands back the rest.
import { describe, expect, it, jest } from '@jest/globals'
import type { ReplayPlan, RunResult } from '../../src/replay/index.ts'
import { WITHIN_MS } from '../kit/cli-process.ts'
import { backends } from '../kit/backends.ts'
import { eventually } from '../kit/eventually.ts'
import { Incident, sms } from './incident.ts'

jest.setTimeout(WITHIN_MS)

const describeRabbit = backends.has('rabbitmq') && backends.has('postgres') ? describe : describe.skip
const WHY = ['--reason', 'OPS-812', '--yes']

/** Seven effects, and six dead letters. */
async function dead(): Promise<Incident> {
  const incident = await Incident.on('rabbitmq', 'postgres')
  await incident.send([...sms(5), ...sms(6, 'g', 'globex'), ...sms(2, 'i', 'initech')])
  await incident.live(incident.hasEffectsAndDeadLetters(7, 6), { bugFor: 'globex' })
  await untilDead(incident, 6)
  return incident
}

/** A queue has back what a reader held some time after that has gone. */
async function untilDead(incident: Incident, count: number): Promise<void> {
  await eventually(async () => (await incident.rabbit?.ready(`${incident.place}.dead-letter`)) === count)
}

describeRabbit('a queue', () => {
  it('is planned: its messages are counted, and every one is handed back', async () => {
    await using incident = await dead()
    const from = `${incident.from}.dead-letter`
    const { plan } = await incident.json<{ plan: ReplayPlan }>(['replay', 'plan', 'sms', '--from', from])
    expect([plan.total, plan.toHandle, plan.buckets['given-up'].count]).toEqual([6, 6, 6])
    expect(plan.warnings.join('\n')).toContain('redelivered')
    await untilDead(incident, 6)
  })

  it('is run: its messages are handled once, over a pause, and what fails again is left', async () => {
    await using incident = await dead()
    const plan = incident.cli.path('plan.json')
    const planned = await incident.run([
      'replay',
      'plan',
      'sms',
      '--from',
      `${incident.from}.dead-letter`,
      '--out',
      plan,
    ])
    expect(planned.stderr).toContain('Run it: consume-once replay run ')
    await untilDead(incident, 6)
    const bug = { bugOf: 'g5' }
    const canary = ['--canary', '2', '--concurrency', '1']
    const first = await incident.json<RunResult>(['replay', 'run', plan, ...canary, ...WHY], bug)
    expect([first.status, first.totals.handled + first.totals.failed]).toEqual(['paused', 2])
    // What failed went back to the queue.
    await untilDead(incident, 6 - first.totals.handled)
    const second = await incident.json<RunResult>(['replay', 'resume', first.id, ...WHY], bug)
    expect(second).toMatchObject({ status: 'finished', totals: { handled: 5, failed: 1 } })
    expect((await incident.effects()).toSorted()).toEqual(
      [...sms(5), ...sms(5, 'g'), ...sms(2, 'i')].map(({ id }) => id).toSorted(),
    )
    await untilDead(incident, 1)
    const report = await incident.run(['replay', 'report', first.id, '--format', 'csv'])
    expect(report.stdout.trim().split('\n')).toHaveLength(7)
  })

  it('gives back what was done before: that a record can be read does not mean that it is durable', async () => {
    await using incident = await dead()
    const plan = incident.cli.path('plan.json')
    const from = `${incident.from}.dead-letter`
    const ids = incident.cli.file('ids.txt', 'g0\ng1\n')
    await incident.run(['resolve', 'sms', '-', '--done', ...WHY], {}, { stdin: 'g0\ng1\n' })
    const planned = await incident.run(['replay', 'plan', 'sms', '--from', from, '--ids-from', ids, '--out', plan])
    expect(planned.stdout).toContain(', 0 to handle')
    expect(planned.stderr).not.toContain('Run it')
    await untilDead(incident, 6)
    const run = await incident.json<RunResult>(['replay', 'run', plan, ...WHY])
    expect(run).toMatchObject({ status: 'finished', totals: { handled: 0, 'done-before': 2, skipped: 4 } })
    await untilDead(incident, 6)
  })
})
