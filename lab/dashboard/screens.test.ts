// Each screen of the dashboard: can be used by everybody, and on a telephone.
import { expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { Rig } from '../../test/dashboard/rig.ts'
import { HOSTILE, look, picture, prepare } from '../../test/dashboard/screens.ts'
import { describePages } from '../../test/dashboard/with-browser.ts'
import { violationsOf } from '../../test/kit/browser.ts'
import { eventually } from '../../test/kit/eventually.ts'

jest.setTimeout(300_000)

type Screen = readonly [path: readonly string[], query: Readonly<Record<string, string>>]

function screensOf({ smsId, emailId }: Rig): readonly Screen[] {
  const sms = { consumer: smsId }
  return [
    [['overview'], {}],
    [['consumers'], {}],
    [['message'], { ...sms, id: HOSTILE }],
    [['message'], { id: 'nobody' }],
    [['message'], { ...sms, id: 'wrong-number' }],
    [['search'], { text: 'wrong-number' }],
    [['records', 'parked'], sms],
    [['records', 'in-doubt'], sms],
    [['records', 'given-up'], { consumer: emailId }],
    [['records', 'processing'], sms],
    [['dead-letters'], sms],
    [['dead-letters'], { ...sms, id: 'wrong-number' }],
    [['records', 'parked'], { ...sms, id: 'wrong-number' }],
    [['outbox'], sms],
    [['outbox'], { consumer: emailId }],
    [['replays'], sms],
    [['replays', 'plan'], sms],
    [['audit'], sms],
    [['doctor'], sms],
    [['settings'], sms],
  ]
}

function nameOf([path, query]: Screen): string {
  const about = query['id'] === undefined || query['id'] === HOSTILE ? [] : [query['id']]
  return [...path, ...about].join('-')
}

describePages('each screen of the dashboard', prepare, (on) => {
  const openLoaded = async (page: Page, [path, query]: Screen): Promise<void> => {
    await on.open(page, path, query)
    await eventually(async () => (await page.getByText('Loading …').count()) === 0)
  }

  it('is accessible, in light and in dark colours', async () => {
    const page = await on.browser.page()
    const found: string[] = []
    for (const screen of screensOf(on.rig)) {
      const [path] = screen
      await openLoaded(page, screen)
      const inLight = await violationsOf(page)
      await look(page, `${nameOf(screen)}-light`)
      await page.emulateMedia({ colorScheme: 'dark' })
      await page.locator('[data-theme="dark"]').waitFor()
      const inDark = await violationsOf(page, 'colours')
      await look(page, `${nameOf(screen)}-dark`)
      for (const violation of [...inLight, ...inDark]) found.push(`${path.join('/')}: ${violation}`)
      if (path[0] === 'consumers') {
        await page.getByRole('table', { name: 'Partitions of sms-sender' }).waitFor()
        await picture(page, 'consumers-dark')
      }
      await page.emulateMedia({ colorScheme: 'light' })
    }
    expect(found).toEqual([])
  })

  it('has accessible dialogs and plans, in light and in dark colours', async () => {
    const page = await on.browser.page()
    await openLoaded(page, [['message'], { consumer: on.rig.smsId, id: 'in-doubt-1' }])
    await page.getByRole('button', { name: 'Mark as done' }).click()
    await page.getByText('1 message would change.').waitFor()
    const found = [...(await violationsOf(page))]
    await openLoaded(page, [['outbox'], { consumer: on.rig.emailId }])
    await page.getByRole('button', { name: 'Choose all' }).click()
    await page.getByRole('button', { name: 'Publish now …' }).click()
    await page.getByRole('dialog', { name: 'Publish now' }).waitFor()
    found.push(...(await violationsOf(page)))
    await look(page, 'outbox-dialog')
    await openLoaded(page, [['search'], { text: 'wrong-number' }])
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await page.getByRole('table', { name: 'Messages that were found' }).waitFor()
    found.push(...(await violationsOf(page)))
    await look(page, 'search-found')
    await openLoaded(page, [['dead-letters'], { consumer: on.rig.smsId }])
    await page.getByText('Only some of them').first().click()
    await page.getByRole('button', { name: 'Look at these' }).click()
    await page.getByRole('table', { name: 'Sample of the dead letters' }).waitFor()
    found.push(...(await violationsOf(page)))
    await look(page, 'dead-letters-found')
    await openLoaded(page, [['records', 'given-up'], { consumer: on.rig.smsId }])
    await page.getByRole('button', { name: 'Look up their dead letters' }).click()
    await page.getByRole('columnheader', { name: 'Idempotency key' }).waitFor()
    found.push(...(await violationsOf(page)))
    await look(page, 'records-with-letters')
    await openLoaded(page, [['replays', 'plan'], { consumer: on.rig.smsId }])
    await page.getByText('More options').click()
    await page.getByRole('button', { name: 'Make the plan' }).click()
    await page.getByRole('table', { name: 'What the range holds' }).waitFor()
    found.push(...(await violationsOf(page)))
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.locator('[data-theme="dark"]').waitFor()
    found.push(...(await violationsOf(page, 'colours')))
    expect(found).toEqual([])
  })

  it('fits a window of 390 pixels', async () => {
    const page = await on.browser.page({ width: 390, height: 844 })
    const wider: string[] = []
    for (const screen of screensOf(on.rig)) {
      await openLoaded(page, screen)
      const isWider = await page.evaluate('document.documentElement.scrollWidth > document.documentElement.clientWidth')
      if (isWider === true) wider.push(nameOf(screen))
      await look(page, `${nameOf(screen)}-telephone`)
    }
    expect(wider).toEqual([])
  })
})
