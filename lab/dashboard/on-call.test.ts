// A person on call who has an ID and the dashboard: why did this message not go out, and what is to be done? The answer is
// on the screen after the ID is typed, or at most two clicks later.
import { expect, it, jest } from '@jest/globals'
import type { Page } from 'playwright-core'
import type { Rig } from '../../test/dashboard/rig.ts'
import { look } from '../../test/dashboard/screens.ts'
import { describePages } from '../../test/dashboard/with-browser.ts'
import { eventually } from '../../test/kit/eventually.ts'

jest.setTimeout(120_000)

/** Kafka with an inbox in Postgres, RabbitMQ with leases in Redis, and a message of each fate. */
async function night(rig: Rig): Promise<void> {
  await rig.sendSms(Array.from({ length: 30 }, (_, at) => ({ id: `order-${at}` })))
  await rig.sendSms([
    { id: 'order-7' },
    { id: 'order-9', text: 'another text' },
    { id: 'order-refused', fate: 'fails' },
    { id: 'order-slow', fate: 'later' },
  ])
  await rig.sendNameless()
  await rig.sendEmails([
    { id: 'mail-1' },
    { id: 'mail-unknown', fate: 'unknown' },
    { id: 'mail-refused', fate: 'fails' },
    { id: 'mail-1' },
  ])
  await eventually(async () => {
    const [sms, email] = [await rig.smsAdmin.stats(), await rig.emailAdmin.stats()]
    return sms['given-up'].count === 1 && email.parked.count === 1 && email['given-up'].count === 1
  })
  const before = await rig.emailDeadLetters()
  await rig.withoutEmail(async () => {
    await rig.sendEmails([{ id: 'mail-expired' }], '50')
    await eventually(async () => (await rig.emailDeadLetters()) === before + 1)
  })
}

/** Those of the texts that do not come. */
async function missing(page: Page, ...texts: readonly (string | RegExp)[]): Promise<readonly string[]> {
  const seen = await Promise.allSettled(texts.map((text) => page.getByText(text).first().waitFor()))
  return texts.filter((_, at) => seen[at]?.status !== 'fulfilled').map(String)
}

describePages(
  'a person on call, with the ID of a message',
  night,
  (on) => {
    /** From the first page: types the ID. */
    const ask = async (id: string): Promise<Page> => {
      const page = await on.browser.page()
      await on.open(page, [])
      await page.getByRole('searchbox').fill(id)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: id }).waitFor()
      return page
    }
    it('sees that it went out, and that its duplicate was stopped', async () => {
      const page = await ask('order-7')
      expect(await missing(page, /^It went out: its effect is marked as done/, 'Nothing needs to be done')).toEqual([])
      await look(page, 'on-call-done')
    })

    it('sees that another message has its ID, and which text each of them has', async () => {
      const page = await ask('order-9')
      expect(
        await missing(
          page,
          /^Conflict: another message came/,
          /let its producer publish it again under an ID of its own/,
        ),
      ).toEqual([])
      expect(await page.getByRole('button', { name: 'Forget' }).count()).toBe(0)
      await look(page, 'on-call-conflict')
      await page
        .getByRole('link', { name: /^See it: the message at/ })
        .last()
        .click()
      expect(await missing(page, 'As the broker has it', '"text":"another text"')).toEqual([])
      await page.goBack()
      await page.getByRole('link', { name: 'Look at its dead letters' }).click()
      await page
        .getByRole('table', { name: 'Sample of the dead letters' })
        .getByRole('cell', { name: 'conflict' })
        .first()
        .waitFor()
    })

    it('sees that its handler refused it, finds its dead letter, and can send only that back', async () => {
      const page = await ask('order-refused')
      expect(
        await missing(
          page,
          /^It did not go out: it was given up/,
          'TerminalError: no such number',
          /a redrive fails again unless/,
        ),
      ).toEqual([])
      expect(await page.getByRole('button', { name: 'Run again' }).count()).toBe(0)
      await look(page, 'on-call-given-up')
      await page.getByRole('link', { name: 'Look for its dead letter' }).click()
      await page.getByRole('button', { name: 'Send 1 dead letter back …' }).waitFor()
      expect(await missing(page, 'Only those of message order-refused', 'What would become of 1 dead letter')).toEqual(
        [],
      )
      await look(page, 'on-call-dead-letter')
    })

    it('sees that it is tried again, when, and why it failed', async () => {
      const page = await ask('order-slow')
      expect(
        await missing(
          page,
          /^It did not go out yet: \d of 3 attempts (is|are) spent\. It runs again/,
          /the provider answers 503/,
        ),
      ).toEqual([])
      await look(page, 'on-call-retry')
    })

    it('sees that it may have gone out, without knowing whose it is, and can decide', async () => {
      const page = await ask('mail-unknown')
      expect(
        await missing(page, /^It may have gone out: it was parked/, 'Find out whether its effect happened'),
      ).toEqual([])
      await page.getByRole('button', { name: 'Mark as done' }).waitFor()
      await page.getByRole('button', { name: 'Run again' }).waitFor()
      await look(page, 'on-call-parked')
    })

    it('finds what was too old for its queue in the dead letters, with the reason', async () => {
      const page = await ask('mail-expired')
      expect(await missing(page, 'No consumer has a record of it', /a queue puts there what was too old/)).toEqual([])
      await look(page, 'on-call-expired')
      await page.getByRole('link', { name: 'Look into the dead letters of email-sender' }).click()
      await page.getByRole('button', { name: 'Look at the dead letters' }).click()
      await page
        .getByRole('table', { name: 'Sample of the dead letters' })
        .getByRole('cell', { name: 'expired' })
        .waitFor()
      await look(page, 'on-call-expired-letter')
    })

    it('sees from the first page that one has no usable ID, and why', async () => {
      const page = await on.browser.page()
      await on.open(page, [])
      await page.getByLabel('only what went wrong').check()
      const row = page.getByRole('row', { name: /no usable ID/ }).first()
      await row.getByRole('link').click()
      expect(await missing(page, 'It has no usable ID')).toEqual([])
      await look(page, 'on-call-no-id')
    })

    it('sees that a consumer is paused, and that its message waits', async () => {
      const page = await on.browser.page()
      await on.open(page, ['consumers'])
      const card = page.getByRole('region', { name: 'sms-sender' })
      await card.getByRole('button', { name: 'Pause …' }).click()
      await page.getByRole('dialog').getByLabel('Reason').fill('OPS-812')
      await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
      await card.getByText('paused', { exact: true }).waitFor()
      await on.rig.sendSms([{ id: 'order-waits' }])
      const asked = await ask('order-waits')
      expect(
        await missing(asked, 'No consumer has a record of it', /See whether a consumer is behind or paused/),
      ).toEqual([])
      await asked.getByRole('link', { name: 'Look at the consumers' }).click()
      expect(await missing(asked, /source: paused by .+: OPS-812/)).toEqual([])
      await look(asked, 'on-call-paused')
    })
  },
  { smsOn: 'postgres', settings: { maxAttempts: 3, backoff: { initialMs: 60_000, maxMs: 120_000 } } },
)
