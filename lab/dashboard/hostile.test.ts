// Texts of strangers on every page: an ID, header names and values, a payload, the text of an error, a reason. Each is a text,
// and never becomes an element or a script: a dialog, an error of a script or of the policy fails the test.
import { expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { Rig } from '../../test/dashboard/rig.ts'
import { describePages } from '../../test/dashboard/with-browser.ts'
import { eventually } from '../../test/kit/eventually.ts'

jest.setTimeout(120_000)

const MARKUP = [
  '<img src=x onerror=alert(1)>',
  '<svg onload=alert(2)>',
  '</script><script>alert(3)</script>',
  '"><iframe srcdoc="<script>parent.alert(4)</script>">',
  'javascript:alert(5)',
  '{{7*7}}${7*7}\'"&',
].join(' ')

const ERROR = encodeURIComponent(MARKUP)

/** What the texts would be if they were not texts. The charts and the time line are drawings of the page itself. */
const MADE = 'img[src="x"], iframe, main script, svg[onload], [onerror], a[href^="javascript:"]'

async function attack(rig: Rig): Promise<void> {
  await rig.sendSms([
    {
      id: `failed ${MARKUP}`,
      fate: 'fails',
      text: MARKUP,
      error: encodeURIComponent(MARKUP),
      headers: { [`x-${MARKUP}`]: MARKUP },
    },
    { id: `done ${MARKUP}`, text: MARKUP, headers: { [MARKUP]: MARKUP } },
    { id: `parked ${MARKUP}`, fate: 'unknown', text: MARKUP },
    { id: 'refused', fate: 'fails', error: ERROR },
  ])
  await rig.sendEmails([{ id: 'mail', fate: 'fails', error: ERROR }])
  await eventually(async () => {
    const [sms, email] = [await rig.smsAdmin.stats(), await rig.emailAdmin.stats()]
    return sms['given-up'].count === 2 && sms.parked.count === 1 && email['given-up'].count === 1
  })
}

/** Elements that a text became, on a page that shows it. */
async function madeOn(page: Page): Promise<number> {
  await page.getByText(MARKUP.slice(0, 28)).first().waitFor()
  return page.locator(MADE).count()
}

describePages('texts of strangers', attack, (on) => {
  it('are texts on the page of a message: ID, error, headers and payload', async () => {
    const page = await on.browser.page()
    for (const fate of ['failed', 'done', 'parked']) {
      await on.open(page, [], {})
      await page.getByRole('searchbox').fill(`${fate} ${MARKUP}`)
      await page.keyboard.press('Enter')
      await page.getByText('What can be done').waitFor()
      expect(await madeOn(page)).toBe(0)
    }
    await on.open(page, ['message'], { consumer: on.rig.smsId, at: `${on.rig.topic}/0/0` })
    await page.getByText('As the broker has it').waitFor()
    expect(await madeOn(page)).toBe(0)
    expect(await page.getByText(MARKUP).count()).toBeGreaterThanOrEqual(3)
  })

  it('are texts in lists, dead letters, plans and the audit', async () => {
    const page = await on.browser.page()
    await on.open(page, ['records', 'given-up'], { consumer: on.rig.smsId })
    await page.locator('tbody tr').first().waitFor()
    expect(await madeOn(page)).toBe(0)
    await on.open(page, ['records', 'given-up'], { consumer: on.rig.emailId, text: MARKUP })
    await page.locator('tbody tr').first().waitFor()
    expect(await madeOn(page)).toBe(0)
    await on.open(page, ['dead-letters'], { consumer: on.rig.smsId, id: `failed ${MARKUP}` })
    await page.getByRole('table', { name: 'Sample of the dead letters' }).waitFor()
    expect(await madeOn(page)).toBe(0)

    await on.open(page, ['records', 'parked'], { consumer: on.rig.smsId, id: `parked ${MARKUP}` })
    await page.getByRole('checkbox', { name: /^Choose [\w-]{22}$/ }).check()
    await page.getByRole('button', { name: 'Mark as done …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: /^Reason/ }).fill(MARKUP)
    await dialog.getByRole('button', { name: 'Mark as done: 1 message' }).click()
    await page.getByText('Mark as done: 1 message decided.').first().waitFor()
    await on.open(page, ['audit'], { consumer: on.rig.smsId })
    await page.getByRole('row', { name: / done / }).waitFor()
    expect(await madeOn(page)).toBe(0)
  })

  it('are texts in the address of a page, too', async () => {
    const page = await on.browser.page()
    for (const [path, query] of [
      [['message'], { consumer: MARKUP, id: MARKUP }],
      [['message'], { id: MARKUP }],
      [['records', MARKUP], { consumer: on.rig.smsId, reason: MARKUP }],
      [['replays', MARKUP], { consumer: on.rig.smsId }],
      [['replays', 'plan'], { consumer: on.rig.smsId, from: MARKUP }],
      [[MARKUP], {}],
    ] as const) {
      await page.goto('about:blank')
      const words = new URLSearchParams(query as Record<string, string>).toString()
      await page.goto(`${on.board.url}#/${path.map(encodeURIComponent).join('/')}?${words}`)
      await page.locator('main h1, main .empty').first().waitFor()
      expect(await page.locator(MADE).count()).toBe(0)
    }
  })
})
