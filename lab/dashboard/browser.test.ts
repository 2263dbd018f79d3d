// Slow browser tests: a store that goes away and comes back, and a list of 10,000 records.
import { expect, it, jest } from '@jest/globals'
import type { Rig } from '../../test/dashboard/rig.ts'
import { describePages } from '../../test/dashboard/with-browser.ts'
import { eventually } from '../../test/kit/eventually.ts'

jest.setTimeout(120_000)

async function park(rig: Rig): Promise<void> {
  await rig.sendSms([
    { id: 'in-doubt-1', fate: 'unknown' },
    { id: 'in-doubt-2', fate: 'unknown' },
  ])
  await eventually(async () => (await rig.smsAdmin.stats()).parked.count === 2)
}

describePages('the dashboard in a browser', park, (on) => {
  it('says that a store is down, and heals by itself', async () => {
    const page = await on.browser.page()
    await on.open(page, ['records', 'parked'], { consumer: on.rig.smsId })
    const rows = page.locator('tbody tr')
    await rows.first().waitFor()
    on.rig.redisProxy.refuse()
    on.rig.redisProxy.cut()
    try {
      await page.getByText('Store or broker down').first().waitFor()
      // Data shown before stays readable.
      expect(await rows.count()).toBeGreaterThan(0)
      await on.open(page, ['overview'])
      await on.rig.sendSms([{ id: 'while-down' }])
      await page.getByText('sms-sender: its store has not answered').waitFor()
    } finally {
      on.rig.redisProxy.accept()
    }
    await page.getByText('sms-sender: its store has not answered').waitFor({ state: 'detached' })
    await on.open(page, ['message'], { consumer: on.rig.smsId, id: 'while-down' })
    await page.getByText('It went out').waitFor()
    expect(await page.getByText('Store or broker down').count()).toBe(0)
  })

  it('pauses a consumer with a reason, shows it, and resumes it', async () => {
    const page = await on.browser.page()
    await on.open(page, ['consumers'])
    const card = page.getByRole('region', { name: 'sms-sender' })
    await card.getByRole('button', { name: 'Pause …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('OPS-812')
    await dialog.getByRole('button', { name: 'Pause' }).click()
    await card.getByText('paused', { exact: true }).waitFor()
    await card.getByText(/source: paused by .+: OPS-812/).waitFor()
    await on.rig.sendSms([{ id: 'while-paused' }])
    await on.open(page, ['overview'])
    await page.getByText('sms-sender: not ready (paused)').waitFor()
    expect(await on.rig.smsAdmin.inspect(['while-paused'])).toMatchObject([{ state: 'absent' }])
    await on.open(page, ['consumers'])
    await card.getByRole('button', { name: 'Resume …' }).click()
    await dialog.getByLabel('Reason').fill('OPS-812 is over')
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await card.getByText('ready', { exact: true }).waitFor()
    await eventually(async () => (await on.rig.smsAdmin.inspect(['while-paused']))[0]?.state === 'done')
    await on.open(page, ['audit'], { consumer: on.rig.smsId })
    await page.getByRole('row', { name: / pause consumer OPS-812$/ }).waitFor()
    await page.getByRole('row', { name: / resume consumer OPS-812 is over$/ }).waitFor()
  })

  it('pages through 10,000 parked messages, and decides all that match in bounded steps', async () => {
    await on.rig.parkMany(10_000)
    const page = await on.browser.page()
    await on.open(page, ['records', 'parked'], { consumer: on.rig.smsId })
    const rows = page.locator('tbody tr')
    await rows.first().waitFor()
    // On a machine that is busy, counting ends after 2 s, and says so.
    await page
      .getByText(/10,000|\d,\d{3}\+/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Page 2').waitFor()
    await eventually(async () => (await rows.count()) >= 100)
    await page.getByLabel('all', { exact: true }).check()
    await page.getByRole('button', { name: 'Mark as done …' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('1,000 messages would change.').waitFor()
    await dialog.getByLabel('Reason').fill('the provider has all of them')
    const confirm = dialog.getByRole('button', { name: 'Mark as done: 1,000 messages' })
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByLabel('To confirm, type how many: 1000').fill('1000')
    await confirm.click()
    await page.getByText('Mark as done: 1,000 messages decided.').first().waitFor()
  })
})
