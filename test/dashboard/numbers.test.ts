// What is shown in a browser, on consumers on memory: numbers lead to what they count, and a store that is silent is told.
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { beforeAllOpen } from '../kit/opened.ts'
import type { Locator, Page } from 'playwright-core'
import { serveDashboard, type ServedDashboard } from '../../dashboard/server/index.ts'
import {
  defineConsumer,
  liveSignals,
  messageId,
  OutcomeUnknownError,
  TerminalError,
  type ConfiguredConsumer,
  type Running,
} from '../../src/index.ts'
import { MemoryBroker, memoryReplay, memoryStore, runMemory } from '../../src/memory/index.ts'
import { DashboardBrowser } from '../kit/browser.ts'
import { open } from './screens.ts'

jest.setTimeout(60_000)

const broker = new MemoryBroker()
const live = liveSignals()
const running: Running[] = []
let browser: DashboardBrowser
let board: ServedDashboard
/** While true, the store of a/sms never answers a list. */
let isSilent = false

function storeOf(group: string): ReturnType<typeof memoryStore> {
  const store = memoryStore()
  const { admin } = store
  if (group !== 'a' || admin === undefined) return store
  const list = admin.list.bind(admin)
  admin.list = (scope, query) => (isSilent ? new Promise(() => {}) : list(scope, query))
  return store
}

async function consumerWith(group: string, name: string, ids: readonly string[]): Promise<ConfiguredConsumer> {
  const topic = `${group}-${name}`
  const consumer = defineConsumer({
    name,
    id: messageId.header('id'),
    store: storeOf(group),
    onInDoubt: 'park',
    observe: live,
    handle: ({ message }) => {
      const id = String(message.headers['id'])
      if (id.startsWith('parked')) throw new OutcomeUnknownError('no answer of the provider')
      if (id.startsWith('given-up')) throw new TerminalError('no such number')
    },
  })
  running.push(await runMemory(broker, consumer, { topic, group }))
  for (const id of ids) broker.publish(topic, { value: Buffer.from('{}'), headers: { id } })
  await broker.drained(topic, group)
  return { consumer, subscription: { group, origins: [topic], replay: memoryReplay(broker) } }
}

beforeAllOpen(async (own) => {
  browser = own(await DashboardBrowser.open())
  own(() => Promise.all(running.map((one) => one.stop())))
  board = await serveDashboard({
    consumers: [
      await consumerWith('a', 'sms', ['ok-1']),
      await consumerWith('b', 'mail', ['parked-1', 'parked-2', 'given-up-1']),
      await consumerWith('b', 'sms', ['given-up-2', 'ok-2']),
    ],
    live,
    port: 0,
    timeoutMs: 1_000,
    pages: browser.pages,
  })
  own(board)
})
afterEach(async () => {
  await browser.closePages()
  const errors = browser.takeErrors()
  if (errors.length > 0) throw new Error(`errors in pages: ${errors.join('; ')}`)
})

function pill(page: Page, name: string): Locator {
  return page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name })
}

async function chosen(page: Page): Promise<string> {
  return page.getByRole('combobox', { name: 'Consumer' }).inputValue()
}

describe('a number of the dashboard leads to the messages that it counts', () => {
  it('in the menu, if one consumer has them all, whichever consumer was looked at', async () => {
    const page = await browser.page()
    for (const query of [{}, { consumer: 'a/sms' }]) {
      await open(page, board.url, ['overview'], query)
      await pill(page, 'Parked 2').click()
      await page.getByRole('table', { name: 'Records' }).locator('tbody tr').nth(1).waitFor()
      expect(await chosen(page)).toBe('b/mail')
    }
  })

  it('in the menu, if several have some: through a list of how many each has', async () => {
    const page = await browser.page()
    await open(page, board.url, ['records', 'parked'], { consumer: 'a/sms' })
    await pill(page, 'Given up 2').click()
    const rows = page.getByRole('table', { name: 'Given up, by consumer' }).locator('tbody tr')
    await rows.nth(2).waitFor()
    expect(await rows.allTextContents()).toEqual(['a/sms0', 'mail1', 'b/sms1'])
    await rows.nth(2).getByRole('link').click()
    await page.getByRole('table', { name: 'Records' }).locator('tbody tr').waitFor()
    expect(await chosen(page)).toBe('b/sms')
  })

  it('in alarms', async () => {
    const page = await browser.page()
    await open(page, board.url, ['overview'])
    const alarm = page.locator('.alarms li', { hasText: 'b/sms: 1 message is given up' })
    await alarm.getByRole('link').click()
    await page.getByRole('table', { name: 'Records' }).locator('tbody tr').waitFor()
    expect(await chosen(page)).toBe('b/sms')
  })

  it('among the latest deliveries, where two consumers have one name', async () => {
    const page = await browser.page()
    await open(page, board.url, ['overview'])
    const row = page.getByRole('table', { name: 'Latest deliveries' }).locator('tbody tr', { hasText: 'b-sms' })
    const to = await row.filter({ hasText: 'dead-lettered' }).getByRole('link').first().getAttribute('href')
    expect(new URLSearchParams(to?.split('?')[1]).get('consumer')).toBe('b/sms')
  })
})

describe('the bar', () => {
  it('says since when a store is silent, and that it answers again', async () => {
    const page = await browser.page()
    await open(page, board.url, ['overview'])
    const status = (hasText: string | RegExp): Locator => page.locator('.bar .status', { hasText })
    await status(/^live$/).waitFor()
    isSilent = true
    try {
      const text = (await status(/^no answer since \d\d:\d\d:\d\d$/).textContent()) ?? ''
      const since = Date.parse(`${new Date().toISOString().slice(0, 11)}${text.slice(-8)}Z`)
      expect(Date.now() - since).toBeGreaterThanOrEqual(1_000)
      expect(Date.now() - since).toBeLessThan(30_000)
      expect(await status('').getAttribute('title')).toBe('The store of a/sms does not answer.')
      // Its messages are not known: all consumers have at least so many.
      await pill(page, 'Parked 2+').waitFor()
    } finally {
      isSilent = false
    }
    await status(/^live$/).waitFor()
  })
})

describe('the time line of a parked message', () => {
  it('ends in another colour than its mark has, and says how it ended', async () => {
    const page = await browser.page()
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      await open(page, board.url, ['message'], { consumer: 'b/mail', id: 'parked-1' })
      const figure = page.getByRole('figure', { name: 'Time line of this message' })
      await figure.getByText('ended: parked').waitFor()
      const fillOf = (selector: string): Promise<string> =>
        page.evaluate(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).backgroundColor`)
      expect(await fillOf('.legend [style*="fill-parked"]')).not.toBe(await fillOf('.legend [style*="fill-mark"]'))
    }
  })
})
