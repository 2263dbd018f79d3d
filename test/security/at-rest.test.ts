import { randomBytes } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import {
  adminOf,
  defineConsumer,
  messageId,
  runInline,
  TerminalError,
  type Consumer,
  type ConsumerOptions,
  type Message,
} from '../../src/index.ts'
import { uniqueName } from '../kit/namespace.ts'
import { CANARY, CANARY_ID, CANARY_PAYLOAD, careless } from './output-recorder.ts'
import { REAL_STORES, type RealStore } from '../stores/real-stores.ts'
import { sealedBy } from './seal.ts'
import { closedAfterEach } from '../kit/after-each.ts'

const closing = closedAfterEach()

const group = uniqueName('group')
const FROM = { group, origins: ['queue'] }
const WHY = { by: 'a person', reason: 'OPS-812' }

function messageOf(what: string): Message {
  const place = { destination: 'queue', origin: 'queue', position: '1' }
  const value = Buffer.from(JSON.stringify({ ...CANARY_PAYLOAD, what }))
  return { system: 'rabbitmq', ...place, key: Buffer.from(CANARY_ID), value, headers: { id: idOf(what) } }
}

function idOf(what: string): string {
  return `${CANARY_ID}-${what}`
}

/** Handles, declines or gives up, as the message says. */
async function run(
  { store }: RealStore,
  options: Partial<ConsumerOptions<unknown, unknown, never>>,
  ...whats: readonly string[]
): Promise<Consumer> {
  const consumer = defineConsumer({
    name: 'consumer',
    id: messageId.header('id'),
    store,
    maxAttempts: 1,
    ...options,
    handle: ({ payload }) => {
      const { what } = payload as { what: string }
      if (what === 'declined') throw Object.assign(careless(), { code: 'DECLINED' })
      if (what === 'given-up') throw new TerminalError(careless().message)
      return CANARY_PAYLOAD
    },
  } as ConsumerOptions<unknown, unknown, never>)
  await using running = runInline(consumer, { group })
  for (const what of whats) await running.handle(messageOf(what))
  return consumer
}

async function open(opening: () => Promise<RealStore>): Promise<RealStore> {
  const real = await opening()
  closing.push(() => real.close())
  return real
}

function leaksIn(lines: readonly string[]): readonly string[] {
  const forms = [CANARY, '7700900123'].flatMap((text) => [text, Buffer.from(text).toString('hex')])
  return lines.filter((line) => forms.some((form) => line.includes(form)))
}

const REMEMBERING = {
  rememberResult: true,
  rememberFailure: (error: unknown) => (error as { code?: unknown }).code === 'DECLINED',
}

describe.each(REAL_STORES)('what %s keeps', (_, opening) => {
  it('holds nothing of payload and ID, whatever became of a message and was decided about it [T113]', async () => {
    const real = await open(opening)
    const consumer = await run(real, {}, 'handled', 'handled-too', 'declined', 'given-up')
    const admin = adminOf(consumer, FROM)
    expect(await admin.reopen([idOf('given-up')], WHY)).toMatchObject([{ verdict: 'decided' }])
    expect(await admin.resolve([idOf('declined')], { ...WHY, as: 'done' })).toMatchObject([{ verdict: 'decided' }])
    expect(await admin.forget([idOf('handled-too')], WHY)).toMatchObject([{ verdict: 'decided' }])
    const lines = await real.dump()
    expect(lines.filter((line) => line.includes('OPS-812'))).toHaveLength(3)
    expect(leaksIn(lines)).toEqual([])
  })

  it('holds results and failures where that was asked for, and nothing of them where they are sealed [T131]', async () => {
    const plain = await open(opening)
    await run(plain, REMEMBERING, 'handled', 'declined')
    expect(leaksIn(await plain.dump())).toHaveLength(2)

    const sealed = await open(opening)
    const sealing = { ...REMEMBERING, sealResult: sealedBy(randomBytes(32)) }
    const consumer = await run(sealed, sealing, 'handled', 'declined')
    expect(leaksIn(await sealed.dump())).toEqual([])
    await using running = runInline(consumer, { group })
    expect(await running.handle(messageOf('handled'))).toMatchObject({ outcome: 'duplicate', result: CANARY_PAYLOAD })
    expect(await running.handle(messageOf('declined'))).toMatchObject({
      outcome: 'duplicate',
      failure: { code: 'DECLINED' },
    })
  })
})
