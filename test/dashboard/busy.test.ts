// What a person asks for while the dashboard has no room for it: requests are limited for each address.
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { serveDashboard, type ServedDashboard } from '../../dashboard/server/index.ts'
import { DashboardBrowser } from '../kit/browser.ts'
import { beforeAllOpen } from '../kit/opened.ts'
import { CONSUMER, MemoryBoard, writable } from '../unit/dashboard/memory-board.ts'
import { open } from './screens.ts'

jest.setTimeout(60_000)

let browser: DashboardBrowser
let memory: MemoryBoard
let board: ServedDashboard

beforeAllOpen(async (own) => {
  browser = own(await DashboardBrowser.open())
})
beforeEach(async () => {
  memory = new MemoryBoard()
  await memory.sendFailing('given-up', ['m1', 'm2'])
  const { journals } = writable()
  board = await serveDashboard({ consumers: [memory.entry], port: 0, pages: browser.pages, readOnly: false, journals })
})
afterEach(async () => {
  await browser.closePages()
  await board.close()
  await memory[Symbol.asyncDispose]()
})

/** Asks for the dearest until it is refused. */
async function useUp(page: Page): Promise<void> {
  await page.evaluate(`(async () => {
    for (;;) {
      const answers = await Promise.all(Array.from({ length: 4 }, () => fetch('api/replay/report?id=none')))
      if (answers.some(({ status }) => status === 429)) return
    }
  })()`)
}

describe('a dashboard that has no room for a request at this moment', () => {
  it('begins a look as soon as there is room', async () => {
    const page = await browser.page()
    await open(page, board.url, ['dead-letters'], { consumer: CONSUMER })
    await useUp(page)
    await page.getByRole('button', { name: 'Look at the dead letters' }).click()
    const sample = page.getByRole('table', { name: 'Sample of the dead letters' })
    await sample.waitFor()
    expect(await sample.locator('tbody tr').count()).toBe(2)
  })

  it('saves the report of a redrive, not the refusal as a file', async () => {
    const page = await browser.page()
    await open(page, board.url, ['dead-letters'], { consumer: CONSUMER })
    await page.getByRole('button', { name: 'Look at the dead letters' }).click()
    await page.getByRole('button', { name: 'Send 2 dead letters back …' }).click()
    await page.getByRole('textbox', { name: /^Reason/ }).fill('OPS-814')
    await page.getByLabel('To confirm, type how many: 2').fill('2')
    await page.getByRole('button', { name: 'Send back', exact: true }).click()
    await page.getByText(/^2 dead letters sent back\.$/).waitFor()
    await open(page, board.url, ['replays'], { consumer: CONSUMER })
    await page.getByRole('link', { name: /^redrive-/ }).click()
    const csv = page.getByRole('link', { name: 'csv' })
    await csv.waitFor()
    await useUp(page)
    const report = page.waitForEvent('download')
    await csv.click()
    expect((await report).suggestedFilename()).toMatch(/^redrive-\w+\.csv$/)
  })

  it('does not say that it asks again where a person has to', async () => {
    const page = await browser.page()
    await open(page, board.url, ['dead-letters'], { consumer: CONSUMER })
    await board.close()
    await page.getByRole('button', { name: 'Look at the dead letters' }).click()
    const failure = page.locator('.notice', { hasText: 'The server of this dashboard does not answer' }).first()
    await failure.waitFor()
    expect(await failure.textContent()).not.toContain('asks again')
  })
})
