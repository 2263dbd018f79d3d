// The page to play with, in a browser: it shows what the engine and its checker say.
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, jest } from '@jest/globals'
import { beforeAllOpen } from '../../test/kit/opened.ts'
import { chromium, type Browser, type Page } from 'playwright-core'
import { bundlePage } from '../../site/proof/build/bundle.ts'
import { CONTENDERS, type Contender } from '../../site/proof/engine/contenders.ts'
import { judgedOutcome } from '../../site/proof/engine/outcome.ts'
import { play } from '../../site/proof/engine/play.ts'
import { fromLink } from '../../site/proof/page/link.ts'
import { violationsOf } from '../../test/kit/browser.ts'
import { needChromium } from '../../test/kit/servers/programs.ts'
import { check } from '../../testing/index.ts'

jest.setTimeout(120_000)

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

const text = (page: Page): Promise<string> => page.locator('#text').innerText()

/** The page has played all six consumers. */
const compared = (page: Page): Promise<void> =>
  page
    .locator('#compared tr')
    .nth(CONTENDERS.length - 1)
    .waitFor()

/** What the simulator's checker says, in Node, of the situation of a link. */
async function judged(hash: string, contender: Contender): Promise<readonly string[]> {
  const { seed, isQuiet, faults } = fromLink(hash)
  const { history, rules } = await play(seed, contender, turn, { isQuiet, interventions: faults })
  const { lost, doubled } = judgedOutcome(check(history, rules))
  return [String(lost.size), String(doubled.size)]
}

/** Lost and doubled as the page shows them. */
async function countsOf(page: Page, contender: Contender): Promise<readonly string[]> {
  const cells = await page.locator(`[data-contender="${contender}"] td`).allInnerTexts()
  return cells.slice(0, 2).map((cell) => /^\d+/.exec(cell)?.[0] ?? cell)
}

const hashOf = (page: Page): string => new URL(page.url()).hash

/** Presses a button that adds a fault, and waits until the page shows that fault. */
async function add(page: Page, name: string): Promise<void> {
  const before = await page.locator('#faults .added').count()
  await page.getByRole('button', { name, exact: true }).click()
  await page.locator('#faults .added').nth(before).waitFor()
}

/** The comparison is drawn when all six have been played. */
async function expectCounts(page: Page, contender: Contender): Promise<void> {
  const [lost, doubled] = await judged(hashOf(page), contender)
  const read = `[...document.querySelectorAll('[data-contender="${contender}"] td')].slice(0, 2)
    .map((cell) => parseInt(cell.textContent, 10)).join()`
  await page.waitForFunction(`${read} === '${lost},${doubled}'`)
}

describe('the page to play with', () => {
  const folder = mkdtempSync(join(tmpdir(), 'consume-once-proof-'))
  let browser: Browser

  beforeAllOpen(async (own) => {
    own(() => rmSync(folder, { recursive: true, force: true }))
    for (const file of ['index.html', 'proof.css']) copyFileSync(`site/proof/page/${file}`, join(folder, file))
    writeFileSync(join(folder, 'proof.js'), await bundlePage())
    browser = own(await chromium.launch({ executablePath: await needChromium(), chromiumSandbox: false }))
  })

  async function open(hash = '', options: { width?: number; theme?: 'light' | 'dark' } = {}): Promise<Page> {
    const context = await browser.newContext({
      viewport: { width: options.width ?? 1280, height: 900 },
      colorScheme: options.theme ?? 'light',
      reducedMotion: 'reduce',
    })
    const page = await context.newPage()
    await page.goto(`${pathToFileURL(join(folder, 'index.html')).href}${hash}`)
    await compared(page)
    return page
  }

  it('shows the guarantees at first sight: two kills, and what they do to six consumers', async () => {
    const page = await open()
    for (const contender of CONTENDERS) {
      expect([contender, await countsOf(page, contender)]).toEqual([contender, await judged('', contender)])
    }
    expect(await page.locator('#compared').innerText()).toContain('each message once')
    await page.context().close()
  })

  it('compares the six consumers as the checker judges them', async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const page = await open(`#seed=${seed}`)
      for (const contender of CONTENDERS) {
        const expected = await judged(`#seed=${seed}`, contender)
        expect([seed, contender, ...(await countsOf(page, contender))]).toEqual([seed, contender, ...expected])
      }
      await page.context().close()
    }
  })

  it.each([
    ['Kill worker a1', /^You kill worker a1\./],
    ['Freeze worker a1', /^You freeze worker a1 for \d+ ms/],
    ['Cut off worker a1', /^By your hand: The broker assigns the partitions anew/],
    ['Rebalance', /^By your hand: The broker assigns the partitions anew/],
    ['Send again: m0', /^You let the producer send m0 again\.$/],
  ])(
    '%s: adds a fault at this step, for all six consumers, in the link, until it is taken back',
    async (name, said) => {
      const page = await open('#seed=119&consumer=raw&quiet=1&step=3')
      const before = hashOf(page)
      const untouched = await page.locator('#compared').innerText()
      await add(page, name)
      expect(await text(page)).toMatch(said)
      for (const contender of CONTENDERS) {
        await expectCounts(page, contender)
      }

      const again = await open(hashOf(page))
      expect(await text(again)).toBe(await text(page))
      expect(await again.locator('#faults').innerText()).toBe(await page.locator('#faults').innerText())
      expect(await again.locator('#lines').innerText()).toBe(await page.locator('#lines').innerText())
      await again.context().close()

      await page.getByRole('button', { name: /^Take back/ }).click()
      await page.getByText(/^None yet/).waitFor()
      await page.waitForFunction(`document.querySelector('#compared').innerText === ${JSON.stringify(untouched)}`)
      expect(hashOf(page).replace(/step=\d+/, '')).toBe(before.replace(/step=\d+/, ''))
      await page.context().close()
    },
  )

  it('adds a closed connection where the broker is a queue, which has no partitions', async () => {
    const page = await open('#seed=76&consumer=lease&quiet=1&step=3')
    expect(await page.getByRole('button', { name: 'Rebalance', exact: true }).isDisabled()).toBe(true)
    await add(page, 'Cut off worker a1')
    expect(await text(page)).toMatch(/^By your hand: The broker closes a channel/)
    await page.context().close()
  })

  it('adds several faults, each at its own step, and says which do not happen with a consumer', async () => {
    const page = await open('#seed=119&consumer=lease&quiet=1&step=3')
    await add(page, 'Send again: m0')
    await page.getByRole('button', { name: 'Step', exact: true }).click()
    await add(page, 'Kill worker a1')
    expect(fromLink(hashOf(page)).faults.map(({ kind }) => kind)).toEqual(['repeat', 'kill'])
    const other = await open('#seed=119&consumer=raw&quiet=1&add=kill@m0.aside.1')
    await other.getByText('does not happen with this consumer').waitFor()
    await page.context().close()
    await other.context().close()
  })

  it('lets nobody disturb a schedule that is over', async () => {
    const page = await open('#seed=119&consumer=lease&quiet=1&step=9999')
    expect(await text(page)).toMatch(/^The end\./)
    expect(await page.locator('#world button:enabled').count()).toBe(0)
    await page.context().close()
  })

  it('finds a schedule in which the raw consumer has an effect twice, and shows that step', async () => {
    const page = await open('#seed=1&consumer=raw')
    await page.getByRole('button', { name: 'Find a bad schedule' }).click()
    await page.getByText(/^Seed \d+: \d+ lost, \d+ doubled\.$/).waitFor()
    expect(await text(page)).toMatch(/for the second time/)
    await page.context().close()
  })

  it('finds no such schedule for the inbox', async () => {
    const page = await open('#seed=1&consumer=inbox')
    await page.getByRole('button', { name: 'Find a bad schedule' }).click()
    await page.getByText(/^No lost/).waitFor()
    expect(await page.locator('#found').innerText()).toBe('No lost and no doubled message in seeds 2 to 501.')
    await page.context().close()
  })

  it('begins with each of its situations', async () => {
    const page = await open('#seed=3')
    for (const start of await page.locator('#starts button').all()) {
      const before = hashOf(page)
      await start.click()
      await page.waitForFunction(`location.hash !== ${JSON.stringify(before)}`)
      expect(hashOf(page)).toMatch(/^#seed=119&consumer=raw&step=0&quiet=1/)
    }
    await page.context().close()
  })

  it('steps by button, by key and by a letter of a life line, and plays', async () => {
    const page = await open('#seed=3&consumer=lease')
    const first = await text(page)
    await page.getByRole('button', { name: 'Step', exact: true }).click()
    const second = await text(page)
    expect(second).not.toBe(first)
    await page.getByRole('heading', { level: 1 }).click()
    await page.keyboard.press('ArrowLeft')
    expect(await text(page)).toBe(first)
    await page.locator('#lines button').last().click()
    expect(await text(page)).not.toBe(first)
    await page.getByLabel('Speed').selectOption('fast')
    await page.getByRole('button', { name: 'Play' }).click()
    await page.getByText(/^The end\./).waitFor()
    await page.context().close()
  })

  it('adds a fault by keyboard alone, and keeps the focus on the worker', async () => {
    const page = await open('#seed=119&consumer=lease&quiet=1&step=6')
    await page.locator('[data-worker="a2"] button').first().focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('#faults .added').waitFor()
    expect(await text(page)).toMatch(/^You freeze worker a2/)
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Freeze worker a2')
    await page.context().close()
  })

  it('shows another consumer on the same faults when its name is chosen', async () => {
    const page = await open('#seed=3&consumer=raw&step=5')
    await page.getByRole('button', { name: 'consume-once: inbox' }).click()
    await page.waitForURL(/consumer=inbox/)
    await page.locator('#lines button').last().click()
    expect(await page.locator('#in-effects .bad').count()).toBe(0)
    await page.context().close()
  })

  it('moves nothing by itself for people who want less motion', async () => {
    const page = await open('#seed=119&consumer=lease&quiet=1&step=6')
    expect(await page.evaluate('document.getAnimations().length')).toBe(0)
    const names = await page.evaluate(`getComputedStyle(document.querySelector('.concerned')).animationName`)
    expect(names).toBe('none')
    await page.context().close()
  })

  it.each(['light', 'dark'] as const)('is accessible, in %s colours', async (theme) => {
    for (const hash of ['', '#seed=7&consumer=lease&step=60&add=cut:a1@500,repeat:m1@600,freeze:a1@700']) {
      const page = await open(hash, { theme })
      await picture(page, hash === '' ? theme : `${theme}-busy`)
      expect(await violationsOf(page)).toEqual([])
      await page.context().close()
    }
  })

  it('is no wider than a telephone', async () => {
    const page = await open('#seed=119&consumer=lease&quiet=1&step=24&add=kill@m0.started.1,kill@m1.effect.1', {
      width: 390,
    })
    await picture(page, 'phone')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    expect(await violationsOf(page)).toEqual([])
    await page.context().close()
  })
})

/** For people to look at: `SITE_PICTURES=folder npm run lab -- lab/site`. */
async function picture(page: Page, look: string): Promise<void> {
  const folder = process.env['SITE_PICTURES']
  if (folder !== undefined) await page.screenshot({ path: join(folder, `proof-${look}.png`), fullPage: true })
}
