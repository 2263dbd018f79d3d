// Actions of a person in a browser, checked to the end: the record, the handler and the audit.
import { expect, it, jest } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import type { Rig } from '../../test/dashboard/rig.ts'
import { describePages } from '../../test/dashboard/with-browser.ts'
import { eventually } from '../../test/kit/eventually.ts'
import type { Admin } from '../../src/index.ts'

jest.setTimeout(120_000)

const REPLAYED = 12
const refused = ['event-1', 'event-2'] as const
const late = Array.from({ length: REPLAYED }, (_, at) => `late-${at}`)

/** Everything fails at first; then the cause is mended, and a person decides. */
async function failFirst(rig: Rig): Promise<void> {
  await rig.sendSms([
    { id: 'fine' },
    { id: 'to-reopen', fate: 'fails' },
    { id: 'to-redrive', fate: 'fails' },
    { id: 'to-rerun', fate: 'unknown' },
  ])
  await rig.sendEmails([{ id: 'mail', fate: 'fails' }])
  await rig.sendSms(late.map((id) => ({ id, fate: 'fails' as const })))
  await eventually(async () => {
    const [sms, email] = [await rig.smsAdmin.stats(), await rig.emailAdmin.stats()]
    return sms['given-up'].count === REPLAYED + 2 && sms.parked.count === 1 && email['given-up'].count === 1
  })
  await rig.refuse(refused)
  rig.mend()
}

describePages('a person at the dashboard', failFirst, (on) => {
  const messagePage = async (id: string): Promise<Page> => {
    const page = await on.browser.page()
    await on.open(page, ['message'], { consumer: on.rig.smsId, id })
    return page
  }
  const becomesDone = (id: string, admin: Admin = on.rig.smsAdmin): Promise<void> =>
    eventually(async () => (await admin.inspect([id]))[0]?.state === 'done')

  it('reopens what was given up, and it runs at its next delivery', async () => {
    const page = await messagePage('to-reopen')
    await page.getByText('It did not go out: it was given up').waitFor()
    await decideOn(page, 'Reopen', 'fixed in 2.4.1')
    await page.getByText('fixed in 2.4.1').first().waitFor()
    await on.rig.sendSms([{ id: 'to-reopen', fate: 'fails' }])
    await becomesDone('to-reopen')
    await page.reload()
    await page.getByText('It went out').waitFor()
    expect(on.rig.runsOf('to-reopen')).toBe(2)
  })

  it('lets a parked message run again', async () => {
    const page = await messagePage('to-rerun')
    await page.getByText('It may have gone out: it was parked').waitFor()
    await decideOn(page, 'Run again', 'the provider knows nothing')
    await on.rig.sendSms([{ id: 'to-rerun', fate: 'unknown' }])
    await becomesDone('to-rerun')
    expect(on.rig.runsOf('to-rerun')).toBe(2)
  })

  it('forgets what is done, and its effect happens again', async () => {
    const page = await messagePage('fine')
    await decideOn(page, 'Forget', 'lost by the provider')
    await on.rig.sendSms([{ id: 'fine' }])
    await becomesDone('fine')
    expect(on.rig.runsOf('fine')).toBe(2)
    await on.open(page, ['audit'], { consumer: on.rig.smsId })
    const row = page.getByRole('row', { name: /forget/ })
    await row.getByText('lost by the provider').waitFor()
  })

  it('sends a dead letter of a queue back, and it is handled', async () => {
    const page = await on.browser.page()
    await on.open(page, ['dead-letters'], { consumer: on.rig.emailId })
    await page.getByRole('button', { name: 'Look at the dead letters' }).click()
    await page.getByRole('button', { name: 'Send 1 dead letter back …' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('button', { name: 'Send back' }).isDisabled()).toBe(true)
    await send(dialog, 'Send back', 'mended', '1')
    await page.getByText('1 dead letter sent back.').first().waitFor()
    await becomesDone('mail', on.rig.emailAdmin)
    expect(on.rig.runsOf('mail')).toBe(2)
  })

  it('publishes what the broker of an outbox has refused, and it is handled', async () => {
    const page = await on.browser.page()
    await on.open(page, ['outbox'], { consumer: on.rig.emailId })
    const row = page.getByRole('table', { name: 'By destination' }).getByRole('row', { name: on.rig.topic })
    await row.waitFor()
    await page.getByRole('button', { name: 'Choose all' }).click()
    await page.getByText('2 messages chosen').waitFor()
    await page.getByRole('button', { name: 'Publish now …' }).click()
    await send(page.getByRole('dialog'), 'Publish now: 2 messages', 'the topic is there now', '2')
    await page.getByText('A relay publishes 2 messages now.').first().waitFor()
    await Promise.all(refused.map((id) => becomesDone(id)))
    await page.getByText('Nothing waits').waitFor()
    expect(refused.map((id) => on.rig.runsOf(id))).toEqual([1, 1])
    await on.open(page, ['audit'], { consumer: on.rig.emailId })
    const noted = page.getByRole('row', { name: new RegExp(`redrive.*${refused[0]}`) })
    await noted.getByText('the topic is there now').waitFor()
  })

  it('pauses a replay, resumes it, and aborts it', async () => {
    const page = await on.browser.page()
    await on.open(page, ['replays', 'plan'], { consumer: on.rig.smsId })
    await page.getByLabel('Handle what was given up, too').check()
    await page.getByText('More options').click()
    await page.getByLabel('Only where').fill('$message.payload#/id^=late-')
    await page.getByLabel('Count the different values of').fill('$message.payload#/id')
    await page.getByLabel('From offset').fill('1')
    await page.getByRole('button', { name: 'Make the plan' }).click()
    await page.getByRole('heading', { name: `${REPLAYED} messages would be handled` }).waitFor()
    await page.getByText(`${REPLAYED} different $message.payload#/id`).waitFor()
    await page.getByLabel('Messages a second').fill('1')
    await send(page.locator('main'), `Start the replay: ${REPLAYED} messages`, 'OPS-812', String(REPLAYED))
    await page.getByRole('table', { name: 'Replays of sms-sender' }).getByRole('link').first().click()
    await page.getByText('running', { exact: true }).waitFor()
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Pause …' }).click()
    await send(dialog, 'Pause', 'the provider is slow')
    await page.getByText('paused', { exact: true }).waitFor()

    const goOn = page.getByRole('form', { name: 'Go on' })
    const button = await goOn.getByRole('button').textContent()
    const left = /(?<count>\d+) message/.exec(button ?? '')?.groups?.['count'] ?? ''
    await goOn.getByLabel('Messages a second').fill('1')
    await send(goOn, button ?? '', 'OPS-812, the provider is ready', left)
    await page.getByText('running', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Abort …' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Abort …' }).click()
    await send(dialog, 'Abort for good', 'wrong range')
    await page.getByText('aborted', { exact: true }).waitFor()
    expect(await goOn.count()).toBe(0)
    // No message goes out after the abort, and those that did are the ones that the page counts.
    const runs = (): number => late.reduce((sum, id) => sum + on.rig.runsOf(id), 0)
    const atAbort = runs()
    const handled = page
      .getByRole('row', { name: /^handled/ })
      .locator('td')
      .last()
    expect(await handled.textContent()).toBe(String(atAbort - REPLAYED))
    expect(atAbort).toBeLessThan(2 * REPLAYED)
    const { count: givenUp } = (await on.rig.smsAdmin.stats())['given-up']
    expect(givenUp).toBeGreaterThan(0)
    // The run has ended in its process: nothing is left that could handle another one.
    const states =
      "fetch('api/jobs').then((answer) => answer.json()).then(({ jobs }) => jobs.map(({ state }) => state))"
    await eventually(async () => !(await page.evaluate<string[]>(states)).includes('running'))
    await on.rig.sendSms([{ id: 'after-the-abort' }])
    await becomesDone('after-the-abort')
    expect(runs()).toBe(atAbort)
    expect((await on.rig.smsAdmin.stats())['given-up'].count).toBe(givenUp)

    await on.open(page, ['audit'], { consumer: on.rig.smsId })
    for (const row of [/ abort replay .+ wrong range/, / resume replay .+ the provider is ready/, / pause replay /]) {
      await page.getByRole('row', { name: row }).waitFor()
    }
  })

  it('sends the dead letters of a topic back: those that were not sent before are handled, and none is handled twice', async () => {
    const page = await on.browser.page()
    const before = new Map(['fine', 'to-reopen', 'to-rerun', ...late].map((id) => [id, on.rig.runsOf(id)]))
    const stateOf = async (id: string): Promise<string | undefined> => (await on.rig.smsAdmin.inspect([id]))[0]?.state
    const left: string[] = []
    for (const id of late) if ((await stateOf(id)) !== 'done') left.push(id)
    await on.open(page, ['dead-letters'], { consumer: on.rig.smsId })
    await page.getByRole('button', { name: 'Look at the dead letters' }).click()
    const open = page.getByRole('button', { name: /^Send \d+ dead letters? back/ })
    const count = /\d+/.exec((await open.textContent()) ?? '')?.[0] ?? ''
    expect(Number(count)).toBe(left.length + 1)
    await open.click()
    await send(page.getByRole('dialog'), 'Send back', 'mended in 2.4.1', count)
    await page.getByText(`${count} dead letters sent back.`).first().waitFor()
    for (const id of ['to-redrive', ...left]) await becomesDone(id)
    expect(on.rig.runsOf('to-redrive')).toBe(2)
    for (const [id, runs] of before) expect([id, on.rig.runsOf(id)]).toEqual([id, left.includes(id) ? runs + 1 : runs])
  })
})

/** Fills a form and sends it by its button, which is off until it is complete. */
async function send(form: Locator, button: string, reason: string, confirm?: string): Promise<void> {
  await form.getByRole('textbox', { name: /^Reason/ }).fill(reason)
  if (confirm !== undefined) await form.getByLabel(`To confirm, type how many: ${confirm}`).fill(confirm)
  await form.getByRole('button', { name: button, exact: true }).click()
}

/** Decides about the message of the page. */
async function decideOn(page: Page, button: string, reason: string): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  await send(page.getByRole('dialog'), `${button}: 1 message`, reason)
  await page.getByText(`${button}: 1 message decided.`).first().waitFor()
}
