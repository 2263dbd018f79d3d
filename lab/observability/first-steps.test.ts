import { describe, expect, it, jest } from '@jest/globals'
import { eventually } from '../../test/kit/eventually.ts'
import { WITHIN_MS, type CliRun } from '../../test/kit/cli-process.ts'
import { Incident } from '../../test/replay/incident.ts'
import { commandsOf, type Walked } from './commands-of.ts'

jest.setTimeout(WITHIN_MS)

/** What all the commands show together. */
async function shownBy(incident: Incident, alert: Walked): Promise<string> {
  const runs: CliRun[] = []
  for (const words of commandsOf(alert)) runs.push(await incident.run(words))
  return runs.map(({ stdout, stderr }) => `${stdout}${stderr}`).join('\n')
}

describe.each(['kafka', 'rabbitmq'] as const)('the first step of ConsumeOnceDeadLetters on %s', (broker) => {
  it('shows dead letters that have no record, and those that have one', async () => {
    await using incident = await Incident.on(broker, 'redis', { partitions: 1 })
    await incident.send([{ id: 'fine' }, { id: 'broken', tenant: 'globex' }])
    await incident.cluster?.send(incident.place, [{ value: '{"id":"s3cret"}' }])
    await incident.rabbit?.send(incident.place, ['{"id":"s3cret"}'])
    await incident.send([{ id: 'fine', tenant: 'another' }])
    await incident.live(async () => (await incident.effects()).length === 1 && (await incident.deadLetters()) === 3, {
      bugFor: 'globex',
    })
    const shown = await shownBy(incident, 'ConsumeOnceDeadLetters')
    for (const reason of ['no-id', 'conflict', 'handler-failed'])
      expect(shown).toMatch(new RegExp(`\\b${reason}:? +1\\b`))
    expect(shown).not.toContain('s3cret')
  })
})

describe('the first step of ConsumeOnceLaneStuck', () => {
  it('lists what runs under a lease', async () => {
    await using incident = await Incident.on('kafka', 'redis', { partitions: 1 })
    await incident.send([{ id: 'slow' }])
    const running = await incident.start({ slowMs: 10_000 })
    let shown = ''
    await eventually(
      async () => (shown = await shownBy(incident, 'ConsumeOnceLaneStuck')).includes(' processing '),
      20_000,
    )
    expect(shown).toContain('processing: A process has it now.')
    await running.stop({ deadlineMs: 0 })
  })

  it('says where an inbox shows it, and that shows the message', async () => {
    await using incident = await Incident.on('kafka', 'postgres', { partitions: 1 })
    await incident.send([{ id: 'done' }])
    await incident.live(incident.hasEffects(1))
    await incident.send([{ id: 'slow' }])
    const running = await incident.start({ slowMs: 10_000 })
    const shown = await shownBy(incident, 'ConsumeOnceLaneStuck')
    expect(shown).toContain('--at topic/partition/offset')
    expect(shown).toContain('pg_stat_activity')
    const [committed] =
      (await incident.cluster?.admin.fetchOffsets({ groupId: incident.group, topics: [incident.place] })) ?? []
    const { stdout } = await incident.run([
      'inspect',
      'sms',
      '--at',
      `${incident.place}/0/${committed?.partitions[0]?.offset}`,
    ])
    expect(stdout).toContain(`${incident.place}/0/1: `)
    await running.stop({ deadlineMs: 0 })
  })
})
