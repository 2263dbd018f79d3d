// The dashboard as a person uses it: in a browser, on live consumers of Kafka with Redis and of RabbitMQ with Postgres.
import { expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import { eventually } from '../kit/eventually.ts'
import { HOSTILE, open, picture, prepare } from './screens.ts'
import { describePages } from './with-browser.ts'

jest.setTimeout(120_000)

describePages('the dashboard in a browser', prepare, (on) => {
  it('shows alarms first, and what happens as it happens', async () => {
    const page = await on.browser.page()
    await on.open(page, [])
    await page.getByText('sms-sender: 3 messages are parked').waitFor()
    await page.getByText('staging').waitFor()
    const stopped = page.locator('.tile', { hasText: 'Duplicates stopped' }).locator('dd').first()
    await page.getByText('duplicate stopped').first().waitFor()
    const before = Number(await stopped.textContent())
    expect(before).toBeGreaterThanOrEqual(1)
    // No reload: the page asks again by itself.
    await on.rig.sendSms([{ id: 'notification-1' }, { id: 'notification-2' }])
    await eventually(async () => Number(await stopped.textContent()) === before + 2)
    await picture(page, 'overview')
    // What waits elsewhere.
    await page.getByText('email-sender: 2 outgoing messages parked').waitFor()
    const outbox = page.locator('.tile', { hasText: 'In the outbox' })
    await outbox.getByText('2 parked').waitFor()
    await page.locator('.tile', { hasText: 'Wait for a limit' }).getByText('of 1 process with a limit').waitFor()
    await outbox.getByRole('link', { name: 'Look at it' }).click()
    await page.getByRole('table', { name: 'Refused by the broker' }).getByText('mail-1-sent').waitFor()
    await on.open(page, ['consumers'])
    const limits = page.getByRole('table', { name: 'Who waits for a limit' })
    await limits.getByText('email-sender').waitFor()
    await limits.getByText('nobody waits').waitFor()
  })

  it('finds a message by its ID, and tells on a time line what happened to it', async () => {
    const page = await on.browser.page({ height: 1010 })
    await on.open(page, [])
    await page.getByRole('searchbox', { name: 'Message ID' }).fill('notification-0')
    await page.keyboard.press('Enter')
    await page.getByText('It went out: its effect is marked as done').waitFor()
    await page.getByText(/: a duplicate\. The handler did not run/).waitFor()
    await page.getByText('Time line as a table').click()
    const rows = page.getByRole('table', { name: 'Deliveries of this message and their steps' }).locator('tbody tr')
    expect(await rows.count()).toBe(2)
    await page.getByText('Time line as a table').click()

    await on.open(page, ['message'], { consumer: on.rig.smsId, id: 'in-doubt-1' })
    await page.getByText('It may have gone out: it was parked').waitFor()
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    await picture(page, 'message')

    await on.open(page, ['message'], { consumer: on.rig.emailId, id: 'mail-2' })
    await page.getByText('It did not go out: it was given up').waitFor()
    await page.getByText('no such number').first().waitFor()
  })

  it('finds a message by its place, and shows hostile text as text', async () => {
    const page = await on.browser.page()
    await on.open(page, ['message'], { consumer: on.rig.smsId, id: HOSTILE })
    await page.getByText('It may have gone out: it was parked').waitFor()

    const story = (await page.getByText('Delivered from').first().textContent()) ?? ''
    const at = /from (?<place>[\w.-]+\/\d+\/\d+)/.exec(story)?.groups?.['place'] ?? ''
    await on.open(page, ['message'], { consumer: on.rig.smsId })
    await page.getByLabel('Find by').selectOption({ label: 'Topic/partition/offset' })
    await page.getByRole('textbox', { name: 'Topic/partition/offset' }).fill(at)
    await page.getByRole('button', { name: 'Find', exact: true }).click()
    await page.getByText('As the broker has it').waitFor()

    // The field above every page takes an ID or a place, also of another consumer.
    await on.open(page, ['overview'], { consumer: on.rig.emailId })
    await page.getByRole('searchbox').fill(at)
    await page.keyboard.press('Enter')
    await page.getByText('As the broker has it').waitFor()
    await page.getByText(HOSTILE).first().waitFor()
    expect(await page.locator('img[src="x"]').count()).toBe(0)
  })

  it('finds a message by its idempotency key, with the place of its dead letter, and by a field of its payload', async () => {
    const page = await on.browser.page()
    const [record] = await on.rig.smsAdmin.inspect(['wrong-number'])
    await on.open(page, [])
    await page.getByRole('searchbox').fill(`${record?.idempotencyKey}`)
    await page.keyboard.press('Enter')
    await page.getByText('It did not go out: it was given up').waitFor()
    await page.getByTitle(`${record?.idempotencyKey}`).first().waitFor()
    const letter = page.getByRole('link', { name: new RegExp(`^${on.rig.topic}\\.dead-letter/\\d+/\\d+$`) })
    await letter.click()
    await page.getByText('As the broker has it').waitFor()

    await page.getByRole('searchbox').fill('/id=wrong-number')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor()
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    const found = page.getByRole('table', { name: 'Messages that were found' })
    await found.getByText(`${on.rig.topic}.dead-letter/`).waitFor()
    expect(await found.locator('tbody tr').count()).toBe(1)
    expect(await page.getByText('were not searched').count()).toBe(0)
    await found.locator('tbody th').getByRole('link').click()
    await page.getByText('It did not go out: it was given up').waitFor()
    await on.open(page, ['audit'], { consumer: on.rig.smsId })
    await page.getByText('$message.payload#/id').first().waitFor()

    // Both brokers, and the topics.
    await on.open(page, ['search'], { text: 'mail-2' })
    await page.getByLabel('The Kafka topics, too').check()
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await found.getByText(`rabbitmq:${on.rig.queue}.dead-letter`).waitFor()
    await page.getByText(`kafka:${on.rig.topic}: `).waitFor()
  })

  it('finds the record of an ID that is typed, and says where else to look', async () => {
    const page = await on.browser.page()
    await on.open(page, ['message'], { consumer: on.rig.emailId })
    await page.getByRole('textbox', { name: 'Message ID' }).fill('in-doubt-1')
    await page.keyboard.press('Enter')
    await page.getByText('Another consumer has a message with this ID').waitFor()
    await page.getByRole('link', { name: 'sms-sender', exact: true }).click()
    await page.getByText('It may have gone out: it was parked').waitFor()
    const { key = '' } = (await on.rig.smsAdmin.inspect(['in-doubt-1']))[0] ?? {}
    await page.getByRole('article', { name: `Message ${key}` }).waitFor()
    expect(await page.getByRole('article').count()).toBe(1)

    // In a list, too; if its record is in another one, the way there.
    await on.open(page, ['records', 'parked'], { consumer: on.rig.smsId })
    await page.getByRole('searchbox', { name: 'Message ID', exact: true }).fill('in-doubt-1')
    await page.keyboard.press('Enter')
    const rows = page.getByRole('table', { name: 'Records' }).locator('tbody tr')
    await eventually(async () => (await rows.count()) === 1)
    expect(await rows.getByRole('link').getAttribute('title')).toBe(key)
    await page.getByRole('searchbox', { name: 'Message ID', exact: true }).fill('wrong-number')
    await page.keyboard.press('Enter')
    await page.getByText('wrong-number is not in the list Parked').waitFor()
    await page.getByRole('link', { name: 'Go to that list' }).click()
    await page.getByRole('heading', { level: 1, name: 'Given up' }).waitFor()
    await eventually(async () => (await rows.count()) === 1)
  })

  it('decides a parked message by keyboard alone: choose, preview, reason, confirm', async () => {
    const page = await on.browser.page()
    await on.open(page, ['records', 'parked'], { consumer: on.rig.smsId })
    const rows = page.locator('tbody tr')
    await rows.first().waitFor()
    expect(await rows.count()).toBe(3)
    await picture(page, 'parked')
    await tabTo(page, 'tr')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await page.getByText('1 message chosen').waitFor()
    const key = (await page.locator('tr.chosen a').getAttribute('title')) ?? ''
    await tabTo(page, 'button', 'Mark as done …')
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1 message would change.').waitFor()
    // Esc closes it and changes nothing. The focus is where it was as soon as the dialog is gone: the next key comes at once.
    await page.evaluate(FOCUS_AFTER_DIALOG)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await page.evaluate('window.focusAfterDialog')).toBe('Mark as done …')
    await page.keyboard.press('Enter')
    await dialog.getByText('1 message would change.').waitFor()
    await tabTo(page, 'input')
    await page.keyboard.type('the provider has it: <b>ref 12</b>')
    await page.keyboard.press('Enter')
    await page.getByText('Mark as done: 1 message decided.').first().waitFor()
    await eventually(async () => (await rows.count()) === 2)
    const [record] = await on.rig.smsAdmin.inspect([{ key }])
    expect(record?.state).toBe('done')

    await on.open(page, ['audit'], { consumer: on.rig.smsId })
    await page.getByText('the provider has it: <b>ref 12</b>').waitFor()
    await page.getByRole('search').getByLabel('Decision').selectOption('forget')
    await page.getByText('No such decision').waitFor()
    await page.getByRole('search').getByLabel('Decision').selectOption('done')
    await page.getByText('the provider has it: <b>ref 12</b>').waitFor()
  })

  it('looks at dead letters, plans a replay, runs it, and shows it to its end', async () => {
    const page = await on.browser.page()
    await on.open(page, ['dead-letters'], { consumer: on.rig.smsId })
    await page.getByRole('button', { name: 'Look at the dead letters' }).click()
    await page.getByRole('table', { name: 'Sample of the dead letters' }).waitFor()

    await on.open(page, ['replays', 'plan'], { consumer: on.rig.smsId })
    await page.getByLabel('Read from').fill(`kafka:${on.rig.topic}`)
    await page.getByLabel('Handle what was given up, too').check()
    await page.getByRole('button', { name: 'Make the plan' }).click()
    await page.getByRole('heading', { name: '1 message would be handled' }).waitFor()
    await picture(page, 'plan')
    await page.getByRole('textbox', { name: /^Reason/ }).fill('OPS-812')
    await page.getByLabel('To confirm, type how many: 1').fill('1')
    await page.getByRole('button', { name: 'Start the replay' }).click()
    await page.getByRole('table', { name: 'Replays of sms-sender' }).getByRole('link').first().click()
    await page.getByText('finished', { exact: true }).waitFor()
    await page.getByText('OPS-812').waitFor()
    const report = page.waitForEvent('download')
    await page.getByRole('link', { name: 'csv' }).click()
    expect((await report).suggestedFilename()).toMatch(/csv$/)
  })

  it('looks at dead letters by reason, time and field, and tells what each would do and the command for it', async () => {
    const page = await on.browser.page()
    await on.open(page, ['dead-letters'], { consumer: on.rig.smsId })
    await page.getByText('Only some of them').first().click()
    const form = page.getByRole('form', { name: 'Only some of them' })
    await form.getByLabel('Why they were set aside').selectOption('handler-failed')
    await form.getByLabel('Only where').fill('/id=wrong-number')
    await form.getByRole('button', { name: 'Look at these' }).click()
    await page.getByText('set aside as handler-failed').waitFor()
    const sample = page.getByRole('table', { name: 'Sample of the dead letters' })
    expect(await sample.locator('tbody tr').count()).toBe(1)
    await sample.getByText(`${on.rig.group}/sms-sender`).waitFor()
    await page
      .getByText("npx consume-once redrive sms-sender --reason-is handler-failed --where '/id=wrong-number' --dry-run")
      .waitFor()
    await page.getByRole('button', { name: 'Look at all of them' }).click()
    await eventually(async () => (await sample.locator('tbody tr').count()) > 1)
  })

  it('tells in a list where the dead letters lie, and the IDs of a consumer that shows them', async () => {
    const page = await on.browser.page()
    await on.open(page, ['records', 'given-up'], { consumer: on.rig.emailId })
    await page.getByRole('button', { name: 'Look up their dead letters' }).click()
    const rows = page.getByRole('table', { name: 'Records' }).locator('tbody tr')
    await rows.getByRole('link', { name: 'mail-2', exact: true }).waitFor()
    await rows.getByText(`rabbitmq:${on.rig.queue}.dead-letter`).waitFor()
    const [record] = await on.rig.emailAdmin.inspect(['mail-2'])
    await rows.getByTitle(`${record?.idempotencyKey}`).waitFor()
    expect(await rows.count()).toBe(1)
  })

  it('sends dead letters back, and lists the redrive with its report', async () => {
    const page = await on.browser.page()
    // What was sent back must not come again while the page looks for what is left.
    on.rig.mend()
    await on.rig.withoutEmail(async () => {
      await on.rig.sendEmails([{ id: 'too-late' }], '1')
      await eventually(async () => (await on.rig.emailDeadLetters()) === 2)
    })
    await on.open(page, ['dead-letters'], { consumer: on.rig.emailId })
    await page.getByText('Only some of them').first().click()
    const form = page.getByRole('form', { name: 'Only some of them' })
    await form.getByLabel('Why they were set aside').selectOption('handler-failed')
    await form.getByRole('button', { name: 'Look at these' }).click()
    const send = page.getByRole('button', { name: /^Send \d+ dead letters? back …$/ })
    const number = /\d+/.exec((await send.textContent()) ?? '')?.[0] ?? ''
    await send.click()
    await page.getByRole('textbox', { name: /^Reason/ }).fill('OPS-813')
    await page.getByLabel(`To confirm, type how many: ${number}`).fill(number)
    await page.getByRole('button', { name: 'Send back', exact: true }).click()
    await page
      .getByText(/^\d+ dead letters? sent back\.$/)
      .first()
      .waitFor()
    await page.getByText(/^1 dead letter sent back by redrive-\w+\.$/).waitFor()
    await page.getByText('None of this selection is left').waitFor()
    await page.getByText('1 dead letter of this consumer looked at, none matches').waitFor()
    await page.getByRole('button', { name: 'Look at all of them' }).click()
    await page.getByRole('table', { name: 'Sample of the dead letters' }).getByText('expired').waitFor()
    expect(await page.getByText(/sent back by redrive/).count()).toBe(0)

    await on.open(page, ['replays'], { consumer: on.rig.emailId })
    await page.getByRole('cell', { name: 'redrive', exact: true }).waitFor()
    await page.getByRole('link', { name: /^redrive-/ }).click()
    await page.getByRole('heading', { name: /^Redrive redrive-/ }).waitFor()
    await page.getByText('finished', { exact: true }).waitFor()
    await page.getByText('OPS-813').waitFor()
    await page.getByText('sent back to where it came from').waitFor()
    await page.getByText(/^npx consume-once replay status redrive-\w+$/).waitFor()
    const report = page.waitForEvent('download')
    await page.getByRole('link', { name: 'csv' }).click()
    expect((await report).suggestedFilename()).toMatch(/^redrive-\w+\.csv$/)

    // All consumers, of both stores, and a time range of them.
    await on.open(page, ['audit'])
    const decided = page.getByRole('table', { name: 'Decisions, the newest first' }).locator('tbody tr')
    await decided.filter({ hasText: 'OPS-812' }).filter({ hasText: 'sms-sender' }).first().waitFor()
    await decided.filter({ hasText: 'OPS-813' }).filter({ hasText: 'email-sender' }).first().waitFor()
    const search = page.getByRole('search').filter({ hasText: 'Decision' })
    await search.getByLabel('Before').fill('2020-01-01T00:00:00')
    await search.getByRole('button', { name: 'Show' }).click()
    await page.getByText('No such decision').waitFor()
    await search.getByLabel('Before').fill('')
    await search.getByLabel('Since').fill('2020-01-01T00:00:00')
    await search.getByRole('button', { name: 'Show' }).click()
    await decided.first().waitFor()
    await page.getByRole('combobox', { name: 'Consumer' }).selectOption(on.rig.emailId)
    await eventually(async () => (await decided.filter({ hasText: 'OPS-812' }).count()) === 0)
    await page.getByRole('link', { name: /^redrive-/ }).click()
    await page.getByRole('heading', { name: /^Redrive redrive-/ }).waitFor()
  })

  it('has no button that changes something while it is read-only', async () => {
    const readOnly = await on.rig.serve(on.browser.pages, { readOnly: true })
    const page = await on.browser.page()
    await open(page, readOnly.url, ['records', 'parked'], { consumer: on.rig.smsId })
    await page.locator('tbody tr').first().waitFor()
    await page.getByText('read-only', { exact: true }).waitFor()
    expect(await page.getByRole('checkbox').count()).toBe(0)
    expect(await page.getByRole('button', { name: /Mark as done|Run again|Reopen/ }).count()).toBe(0)
    await open(page, readOnly.url, ['message'], { consumer: on.rig.smsId, id: 'in-doubt-1' })
    await page.getByText('What can be done').waitFor()
    expect(await page.getByRole('button', { name: /Mark as done|Run again|Forget/ }).count()).toBe(0)
  })
})

const MOST_TABS = 80

/** Where the focus is in the turn in which the dialog goes. */
const FOCUS_AFTER_DIALOG = `void (window.focusAfterDialog = new Promise((resolve) => {
  const observer = new MutationObserver(() => {
    if (document.querySelector('dialog') !== null) return
    observer.disconnect()
    resolve(document.activeElement.textContent)
  })
  observer.observe(document.body, { childList: true, subtree: true })
}))`

/** Presses Tab until the focus is on such an element. */
async function tabTo(page: Page, tag: string, text?: string): Promise<void> {
  for (let tab = 0; tab < MOST_TABS; tab++) {
    await page.keyboard.press('Tab')
    const [at, says] = await page.evaluate<[string, string]>(
      '[document.activeElement.tagName.toLowerCase(), document.activeElement.textContent]',
    )
    if (at === tag && (text === undefined || says === text)) return
  }
  throw new Error(`no ${tag} ${text ?? ''} within ${MOST_TABS} tabs`)
}
