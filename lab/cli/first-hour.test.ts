// docs/first-hour.md, followed step by step on real servers.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, it, jest } from '@jest/globals'
import { connect } from 'amqplib'
import { Redis } from 'ioredis'
import { pagesFolder } from '../../test/kit/dashboard.ts'
import { eventually } from '../../test/kit/eventually.ts'
import { InitProject, type Program } from '../../test/kit/init/project.ts'
import { addressesOfAll } from '../../test/kit/servers/addresses.ts'
import { freePort } from '../../test/kit/servers/ports.ts'
import { firstHour } from './first-hour-page.ts'

jest.setTimeout(400_000)

const PAGE = firstHour()
const SMS = 'SMS to +15550100'

it('the first hour sees what its page says', async () => {
  const own = `hour-${randomBytes(4).toString('hex')}`
  const { RABBITMQ_URL = '', REDIS_URL = '' } = await addressesOfAll()
  const port = await freePort()
  const packages = ['amqplib', 'ioredis', 'prom-client', 'tsx', 'typescript']
  await using project = new InitProject('ts', packages, { RABBITMQ_URL, REDIS_URL, PORT: String(port) })
  const url = `http://127.0.0.1:${port}`
  const [end, first, failure] = PAGE.shown

  try {
    // 1. Try to break it. Times differ, and so does what is delivered again.
    project.install()
    const demo = await project.cli('demo')
    expect(demo.code).toBe(0)
    for (const line of end.split('\n')) expect(demo.printed).toContain(line.replace(/1\.530.*/, ''))

    // 2. Run a worker.
    expect(await project.cli('init')).toMatchObject({ code: 0 })
    expect(project.files).toEqual(['consume-once.config.ts', 'send-twice.ts', 'sms.ts', 'worker.ts'])
    project.replace("'sms'", `'${own}'`)
    project.replace('{ redis }', `{ redis, prefix: '${own}' }`)
    let worker = project.start('worker.ts')
    await ready(url)
    expect(await project.run('send-twice.ts')).toMatchObject({ code: 0 })
    await worker.prints(3, /./)
    expect(worker.printed.replace('joined', 'duplicate').trim()).toBe(first)
    expect(await project.run('send-twice.ts')).toMatchObject({ code: 0 })
    await worker.prints(5, /./)
    expect(worker.lines.filter((line) => line === SMS)).toHaveLength(1)
    expect(await worker.stop()).toBe(0)

    // 3. Test it.
    project.write('provider.ts', PAGE.provider)
    project.write('sms.test.ts', PAGE.test)
    project.write('sms.ts', handled(project.read('sms.ts')))
    expect(await project.run('sms.test.ts')).toMatchObject({ code: 0 })
    const park = project.read('sms.ts')
    project.write('sms.ts', park.replace(/^.*onInDoubt: 'park'.*\n/m, ''))
    const failed = await project.run('sms.test.ts')
    expect(failed.code).toBe(1)
    expect(failed.printed).toContain(failure)
    project.write('sms.ts', park)

    // 4. Kill it, and decide.
    worker = project.start('worker.ts', { ANSWER_MS: '60000' })
    await ready(url)
    project.replace("'s-1'", "'s-2'")
    expect(await project.run('send-twice.ts')).toMatchObject({ code: 0 })
    await eventually(() => worker.lines.includes(SMS), 60_000)
    await worker.stop('SIGKILL')
    worker = project.start('worker.ts')
    await ready(url)
    await eventually(() => worker.lines.some((line) => line.startsWith('parked in-doubt ')), 120_000)
    expect(worker.lines).not.toContain(SMS)
    expect(await metrics(url)).toMatch(/^consume_once_parked_messages\{[^}]*reason="in-doubt"[^}]*\} 1$/m)
    await dashboardOf(project, url)
    expect(await project.cli('why', 's-2')).toMatchObject({ code: 0, printed: expect.stringContaining('parked') })
    const decision = ['resolve', 'sms-sender', 's-2', '--done', '--reason', 'the provider has it', '--yes']
    expect(await project.cli(...decision)).toMatchObject({ code: 0 })
    expect(await project.run('send-twice.ts')).toMatchObject({ code: 0 })
    await worker.prints(1, /^duplicate$/)
    expect(worker.lines).not.toContain(SMS)

    // 5. What calls a person.
    await eventually(async () => /parked_messages\{[^}]*reason="in-doubt"[^}]*\} 0$/m.test(await metrics(url)), 120_000)
    expect(readFileSync('observability/prometheus-alerts.yml', 'utf8')).toContain(PAGE.alert)
    const doctor = await project.cli('doctor')
    expect([0, 1]).toContain(doctor.code)
    expect(doctor.printed).toMatch(/^(?:broken|holds|weaker) +redis\.append-only-file /m)
    expect(await worker.stop()).toBe(0)
  } finally {
    await cleaned(own, RABBITMQ_URL, REDIS_URL)
  }
})

/** What `init` wrote, with the two changes that the page names. */
function handled(source: string): string {
  const imported = `${PAGE.added}\n${source}`
  return imported.replace(/^ {2}handle: [\s\S]*?^ {2}\},\n/m, `  ${PAGE.handler}\n`)
}

async function ready(url: string): Promise<void> {
  await eventually(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200, 60_000)
}

async function metrics(url: string): Promise<string> {
  return (await fetch(`${url}/metrics`)).text()
}

/** The command prints an address, at which people may write, and see what the worker does. */
async function dashboardOf(project: InitProject, worker: string): Promise<void> {
  const port = await freePort()
  const words = ['--write', '--instance', worker, '--port', String(port), '--pages', pagesFolder()]
  const board: Program = project.startCli('dashboard', ...words)
  await board.prints(1, /^http:\/\/127\.0\.0\.1:\d+\/$/)
  const session = await fetch(`http://127.0.0.1:${port}/api/session`)
  expect(await session.json()).toMatchObject({ readOnly: false })
  const live = await (await fetch(`http://127.0.0.1:${port}/api/live`)).text()
  expect(live).toContain('"parked":1')
  await board.stop('SIGINT')
}

async function cleaned(own: string, rabbitUrl: string, redisUrl: string): Promise<void> {
  const connection = await connect(rabbitUrl)
  const channel = await connection.createChannel()
  for (const queue of [own, `${own}.dead-letter`]) await channel.deleteQueue(queue)
  await connection.close()
  const redis = new Redis(redisUrl)
  const keys = await redis.keys(`${own}:*`)
  if (keys.length > 0) await redis.unlink(keys)
  redis.disconnect()
}
